-- What workers share, changed in one step each: Redis runs a script without anything in between.
--
-- KEYS[1] is the prefix of all keys, ARGV[1] names the operation. The keys are made of the prefix here, so this is for one
-- Redis (with replicas as one likes), not for a Redis Cluster that spreads keys over machines.
--
--   :start_urls    list of URLs that nobody has begun yet; ARGV of claim names another one if need be
--   :workers       sorted set, worker -> until when (ms) it counts as alive
--   :tokens        hash, worker -> token of the process that has the name
--   :held:WORKER   hash, "CALL KEY" -> the document that the worker works on
--   :ready         list of calls of which a document may be claimed, each once
--   :totals        hash, sums over everything that ever was: calls (also the last number given), read, failed
--   :call:N        hash, limits and counters of the call, that is: of one start
--   :waiting:N     list of documents to be fetched
--   :seen:N        hash, fingerprint of a sitemap that was requested -> fingerprint of the document that served it, or ""
--   :listed:N      hash, fingerprint of a sitemap that was listed -> its entry
--   :skipped:N     hash, fingerprint of a document that redirects led to -> the documents that were not read because of it
--
-- A document is {depth, attempt, fingerprint, key, start, pages, errors, deaths}: what earlier attempts took of the limits is
-- kept for the next, which delivers it once more; deaths are the workers that were not heard of again while they read it. One
-- that is held is {..., pages, errors, begun, places, served} with what this attempt took, and fingerprints: where redirects have
-- led, and where it is served. The end of a call is work as well, a document without a key: who claims it delivers what is known
-- at the end only.

local MOST_BLANKS = 1000  -- lines of the list that are passed over in one step
local MOST_BYTES = 32772  -- of a start that are kept: as many as make it too long for a URL, however it is encoded

local prefix = KEYS[1]
local pack, unpack_value = cmsgpack.pack, cmsgpack.unpack

local function now()
    local time = redis.call("TIME")
    return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function call_key(id) return prefix .. ":call:" .. id end
local function waiting_key(id) return prefix .. ":waiting:" .. id end
local function seen_key(id) return prefix .. ":seen:" .. id end
local function skipped_key(id) return prefix .. ":skipped:" .. id end
local function listed_key(id) return prefix .. ":listed:" .. id end
local function held_key(worker) return prefix .. ":held:" .. worker end
local ready_key, workers_key, tokens_key = prefix .. ":ready", prefix .. ":workers", prefix .. ":tokens"
local totals_key = prefix .. ":totals"

local function number(id, field) return tonumber(redis.call("HGET", call_key(id), field) or 0) end
local function add_to(id, field, count) return redis.call("HINCRBY", call_key(id), field, count) end

-- Calls

local function make_ready(id)
    local key = call_key(id)
    local call = redis.call("HMGET", key, "ready", "max_concurrency", "active")
    local most = tonumber(call[2] or 0)
    if call[1] == "1" or (most > 0 and tonumber(call[3] or 0) >= most) then return end
    if redis.call("LLEN", waiting_key(id)) == 0 then return end
    redis.call("HSET", key, "ready", 1)
    redis.call("RPUSH", ready_key, id)
end

-- One document of the call is not to be waited for any more. The last one leaves the end of the call to be done.
local function settle(id)
    if add_to(id, "outstanding", -1) == 0 then
        redis.call("RPUSH", waiting_key(id), pack({0, 1, "", "", 0, 0, 0, 0}))
        add_to(id, "outstanding", 1)
    end
    make_ready(id)
end

local function delete_call(id)
    redis.call("DEL", call_key(id), waiting_key(id), seen_key(id), listed_key(id), skipped_key(id))
end

-- The document is not read, since server, the fingerprint of another, is served at place.
local function skip(id, server, place, document)
    local value = redis.call("HGET", skipped_key(id), server)
    local skipped = value and unpack_value(value) or {}
    skipped[#skipped + 1] = {document[1], document[2], document[3], document[4], document[5], 0, 0, document[8], {}, place}
    redis.call("HSET", skipped_key(id), server, pack(skipped))
end

-- A document is done, or left out. Redirects may have led earlier attempts at it to places where this one was not served: what
-- was not read because of it waits again, as another attempt, since some of what is there may have been delivered.
local function free_places(id, held)
    for _, place in ipairs(held[12]) do
        if place ~= held[13] and redis.call("HGET", seen_key(id), place) == held[3] then
            redis.call("HSET", seen_key(id), place, "")
            redis.call("HSET", skipped_key(id), "attempt:" .. place, held[2] + 1)
            local value, kept = redis.call("HGET", skipped_key(id), held[3]), {}
            for _, document in ipairs(value and unpack_value(value) or {}) do
                if document[10] == place then
                    document[2] = math.max(document[2], held[2] + 1)
                    redis.call("RPUSH", waiting_key(id), pack(document))
                    add_to(id, "outstanding", 1)
                else
                    kept[#kept + 1] = document
                end
            end
            redis.call("HSET", skipped_key(id), held[3], pack(kept))
        end
    end
end

-- Workers

-- Give back what a worker held. A document that was begun comes with the next number of attempt: some of it may have been
-- delivered. What its pages and errors took of the limits stays with it. Were it free, others might take it, and of the next
-- attempt nothing might be left to show that the pages of this one do not count.
--
-- why: "left" by the worker, "lost" by it, or it is "dead". One that it may have died of comes behind the others.
local function give_back(worker, field, why)
    local held = unpack_value(redis.call("HGET", held_key(worker), field))
    redis.call("HDEL", held_key(worker), field)
    local id = string.match(field, "^%d+")
    if redis.call("EXISTS", call_key(id)) == 0 then return end
    local depth, attempt, fingerprint, key, start = held[1], held[2], held[3], held[4], held[5]
    local deaths, pages, errors, begun = held[8], math.max(held[6], held[9]), math.max(held[7], held[10]), held[11]
    add_to(id, "active", -1)
    if number(id, "stopped") == 1 and pages == 0 and start == 0 and key ~= "" then
        held[13] = ""
        free_places(id, held)
        settle(id)  -- the pages are as many as allowed, and none of them is missing
        return
    end
    if begun == 1 or why ~= "left" then attempt = attempt + 1 end
    if begun == 1 and why == "dead" then deaths = deaths + 1 end
    redis.call(deaths > 0 and "RPUSH" or "LPUSH", waiting_key(id), pack({depth, attempt, fingerprint, key, start, pages, errors, deaths, held[12]}))
    make_ready(id)
end

local function give_back_all(worker, why)
    for _, field in ipairs(redis.call("HKEYS", held_key(worker))) do give_back(worker, field, why) end
    redis.call("DEL", held_key(worker))
    redis.call("ZREM", workers_key, worker)
    redis.call("HDEL", tokens_key, worker)
end

-- Give back what a worker holds and does not know of: the answer in which it was told of it was lost, or it could not be asked
-- for what came next. values: of what it knows of, the call and key, and the attempt. Returns what it has of each call, and
-- whether it has one of which workers have died.
local function give_back_unknown(worker, values)
    local known, counts, deadly = {}, {}, false
    for index = 1, #values, 2 do known[values[index]] = tonumber(values[index + 1]) end
    local held = redis.call("HGETALL", held_key(worker))
    for index = 1, #held, 2 do
        local document = unpack_value(held[index + 1])
        if known[held[index]] == document[2] then
            local id = string.match(held[index], "^%d+")
            counts[id] = (counts[id] or 0) + 1
            deadly = deadly or document[8] > 0
        else
            give_back(worker, held[index], "lost")
        end
    end
    return counts, deadly
end

local operations = {}

-- worker, token, lease (ms)
function operations.join(worker, token, lease)
    give_back_all(worker, "dead")  -- one of this name was here: it is not any more, or finds out that it is not
    redis.call("HSET", tokens_key, worker, token)
    redis.call("ZADD", workers_key, now() + lease, worker)
end

-- The worker is alive. Of those that are not, what they held is given back.
function operations.beat(worker, token, lease)
    local known = redis.call("HGET", tokens_key, worker)
    if known and known ~= token then return "replaced" end
    local found = known and "alive" or "given up"
    local time, workers = now(), redis.call("ZCARD", workers_key)
    local silent = redis.call("ZRANGEBYSCORE", workers_key, "-inf", time)
    redis.call("HDEL", tokens_key, "")  -- a write that needs no memory: where Redis is full, it lets those after it pass
    redis.call("HSET", tokens_key, worker, token)
    redis.call("ZADD", workers_key, time + lease, worker)
    for _, other in ipairs(silent) do
        if other ~= worker and #silent < workers then
            give_back_all(other, "dead")
        else  -- nothing was heard of anybody: that was Redis, or the clock
            redis.call("ZADD", workers_key, time + lease, other)
        end
    end
    return found
end

-- worker, token; what the worker is at, as for claim
function operations.leave(worker, token, ...)
    if redis.call("HGET", tokens_key, worker) ~= token then return end
    give_back_unknown(worker, {...})
    give_back_all(worker, "left")
end

-- Documents

local function hold(worker, id, url, document)
    local depth, attempt, fingerprint, key, start = document[1], document[2], document[3], document[4], document[5]
    local held = {depth, attempt, fingerprint, key, start, document[6], document[7], document[8], 0, 0, 0, document[9] or {}, ""}
    redis.call("HSET", held_key(worker), id .. " " .. key, pack(held))
    add_to(id, "active", 1)
    return {id, url, key, depth, attempt, start, document[8]}
end

-- The next document of a call that the worker may have more of: counts says how many it has of each. Of those of which workers
-- have died it has one at a time, and deadly says that it does: one that kills every worker must not have the same ones given up
-- that happen to be beside it.
local function claim_ready(worker, workers, counts, deadly)
    local tries = math.min(redis.call("LLEN", ready_key), 32)
    while tries > 0 do
        tries = tries - 1
        local id = redis.call("LPOP", ready_key)
        if not id then return end
        local call = redis.call("HMGET", call_key(id), "url", "max_concurrency")
        if call[1] then
            redis.call("HSET", call_key(id), "ready", 0)
            local most = tonumber(call[2])
            -- Documents are read one at a time, so one worker must not take all that a call may have under way.
            local share = math.ceil(most / math.max(1, workers))
            local waiting = (most == 0 or (counts[id] or 0) < share) and redis.call("LINDEX", waiting_key(id), 0)
            local document = waiting and unpack_value(waiting)
            if document and not (deadly and document[8] > 0) then
                redis.call("LPOP", waiting_key(id))
                local server = redis.call("HGET", seen_key(id), document[3])
                if document[4] == "" or not server or server == "" or server == document[3] then
                    local attempt = redis.call("HGET", skipped_key(id), "attempt:" .. document[3])
                    document[2] = math.max(document[2], tonumber(attempt or 0))
                    local claimed = hold(worker, id, call[1], document)
                    counts[id] = (counts[id] or 0) + 1
                    make_ready(id)
                    return claimed
                end
                skip(id, server, document[3], document)  -- a redirect led there meanwhile
                settle(id)
                tries = tries + 1
            end
            make_ready(id)
        end
    end
end

local function claim_start(worker, starts, limits)
    for _ = 1, MOST_BLANKS do
        local url = redis.call("LPOP", starts)
        if not url then return end
        url = string.sub(url, 1, MOST_BYTES)
        if not string.match(url, "^%s*$") and not string.match(url, "^%s*#") then
            local id = tostring(redis.call("HINCRBY", totals_key, "calls", 1))
            redis.call(
                "HSET", call_key(id), "url", url, "outstanding", 1, "max_sitemaps", limits[1], "max_urls", limits[2],
                "max_validation_errors", limits[3], "max_concurrency", limits[4]
            )
            return hold(worker, id, url, {0, 1, "", url, 1, 0, 0, 0})
        end
    end
end

-- worker, token, key of the starts, how many documents; the limits of calls that begin; what the worker is at, and what else
-- it holds is given back. What has begun goes before what has not, so that few calls are open. Returns how many calls are open,
-- the type of what the key of the starts holds, and the documents.
function operations.claim(worker, token, starts, count, max_sitemaps, max_urls, max_validation_errors, max_concurrency, ...)
    if redis.call("HGET", tokens_key, worker) ~= token then return {-1} end
    local counts, deadly = give_back_unknown(worker, {...})
    local workers = redis.call("ZCARD", workers_key)
    local kind = redis.call("TYPE", starts).ok
    local claimed = {0, kind}
    local limits = {max_sitemaps, max_urls, max_validation_errors, max_concurrency}
    for _ = 1, tonumber(count) do
        local document = claim_ready(worker, workers, counts, deadly)
        if not document and kind == "list" then document = claim_start(worker, starts, limits) end
        if not document then break end
        deadly = deadly or document[7] > 0
        claimed[#claimed + 1] = document
    end
    local totals = redis.call("HMGET", totals_key, "calls", "read", "failed")
    claimed[1] = tonumber(totals[1] or 0) - tonumber(totals[2] or 0) - tonumber(totals[3] or 0)
    return claimed
end

-- The document as it is held, or nothing: it was given to another worker meanwhile.
local function held_by(worker, id, key, attempt)
    local value = redis.call("HGET", held_key(worker), id .. " " .. key)
    local held = value and unpack_value(value)
    if held and held[2] == tonumber(attempt) then return held end
end

local function update(worker, id, held)
    redis.call("HSET", held_key(worker), id .. " " .. held[4], pack(held))
end

-- fingerprint of the document as it was requested, and as it was served; its depth
function operations.serve(held, worker, id, fingerprint, served, depth)
    held[1], held[3], held[11] = tonumber(depth), fingerprint, 1
    redis.call("HSETNX", seen_key(id), fingerprint, "")
    local server = redis.call("HGET", seen_key(id), served)
    local is_free = not server or server == "" or server == fingerprint
    if is_free then
        held[13] = served
        if served ~= fingerprint then held[12][#held[12] + 1] = served end
        redis.call("HSET", seen_key(id), served, fingerprint)
    else
        skip(id, server, served, held)
    end
    update(worker, id, held)
    return is_free and 1 or 0
end

-- Something is about to be delivered that no other operation tells of.
function operations.begin(held, worker, id)
    held[11] = 1
    update(worker, id, held)
    return 1
end

-- Take count units of a limit, first those that earlier attempts took; returns how many there are, and whether these were
-- the last.
local function take(held, worker, id, position, counter, limit, count)
    count = tonumber(count)
    local most = number(id, limit)
    local kept = math.max(0, held[position] - held[position + 3])
    local left = most > 0 and kept + math.max(0, most - number(id, counter)) or math.huge
    local granted = math.min(count, left)
    if granted > 0 then
        if granted > kept then add_to(id, counter, granted - kept) end
        held[position + 3] = held[position + 3] + granted
        held[11] = 1
        update(worker, id, held)
    end
    return {granted, granted == left and 1 or 0}
end

-- An attempt that is done takes the place of those before it. What these took besides is free, unless there is nothing to
-- take their place.
local function free(held, id, position, counter)
    local taken = held[position + 3]
    if 0 < taken and taken < held[position] then add_to(id, counter, taken - held[position]) end
end

function operations.pages(held, worker, id, count)
    return take(held, worker, id, 6, "pages", "max_urls", count)
end

function operations.errors(held, worker, id, count)
    local taken = take(held, worker, id, 7, "errors", "max_validation_errors", count)
    if taken[1] < tonumber(count) then redis.call("HSET", call_key(id), "reached:max_validation_errors", number(id, "max_validation_errors")) end
    return taken
end

-- Sitemaps that a document lists: its URL, whether they are too deep, and of each fingerprint, whether it is wanted, key
-- ("" if it is the loc), loc, lastmod, and the point in time that this is. It may be done twice with the same result.
function operations.add(held, worker, id, sitemap, too_deep, ...)
    local values = {...}
    local most, requests = number(id, "max_sitemaps"), number(id, "requests")
    local stopped = number(id, "stopped") == 1
    local listed = redis.call("HLEN", listed_key(id))
    local not_listed, left_out, deep, added = 0, 0, 0, 0
    for index = 1, #values, 6 do
        local fingerprint, wanted, key = values[index], values[index + 1], values[index + 2]
        local loc, lastmod, moment = values[index + 3], values[index + 4], tonumber(values[index + 5])
        local known = redis.call("HGET", listed_key(id), fingerprint)
        if known then
            local entry = unpack_value(known)  -- position, loc, lastmod, its point in time, sitemap
            local later = entry[3] == "" or (moment and tonumber(entry[4]) and moment > tonumber(entry[4]))
            if lastmod ~= "" and later then
                entry[3], entry[4] = lastmod, values[index + 5]
                redis.call("HSET", listed_key(id), fingerprint, pack(entry))
            end
        elseif most > 0 and listed >= most then
            not_listed = not_listed + 1
        else
            redis.call("HSET", listed_key(id), fingerprint, pack({listed, loc, lastmod, values[index + 5], sitemap}))
            listed = listed + 1
        end
        if wanted == "1" and not stopped and redis.call("HEXISTS", seen_key(id), fingerprint) == 0 then
            if too_deep == "1" then
                deep = deep + 1
            elseif most > 0 and requests >= most then
                left_out = left_out + 1
            else
                redis.call("HSET", seen_key(id), fingerprint, "")
                if key == "" then key = loc end
                redis.call("RPUSH", waiting_key(id), pack({held[1] + 1, 1, fingerprint, key, 0, 0, 0, 0}))
                requests, added = requests + 1, added + 1
            end
        end
    end
    if added > 0 then
        add_to(id, "requests", added)
        add_to(id, "outstanding", added)
        make_ready(id)
    end
    if not_listed > 0 or left_out > 0 then redis.call("HSET", call_key(id), "reached:max_sitemaps", most) end
    return {not_listed, left_out, deep, added}
end

-- The pages are as many as allowed. more: whether the document has more of them. Returns how many documents are left out.
function operations.stop(held, worker, id, more)
    redis.call("HSET", call_key(id), "stopped", 1)
    local kept, left_out = {}, 0
    for _, waiting in ipairs(redis.call("LRANGE", waiting_key(id), 0, -1)) do
        local document = unpack_value(waiting)
        if document[5] == 1 or document[6] > 0 then
            kept[#kept + 1] = waiting  -- a start is to be read, and the pages of an earlier attempt are to come again
        else
            left_out = left_out + 1
        end
    end
    redis.call("DEL", waiting_key(id))
    for _, waiting in ipairs(kept) do redis.call("RPUSH", waiting_key(id), waiting) end
    add_to(id, "outstanding", -left_out)
    local others = number(id, "outstanding") - 1
    if more == "1" or left_out > 0 or others > 0 then redis.call("HSET", call_key(id), "reached:max_urls", number(id, "max_urls")) end
    return left_out
end

-- The document is done: whether its start was read (1), could not be (0), or it is none ("").
function operations.done(held, worker, id, read)
    redis.call("HDEL", held_key(worker), id .. " " .. held[4])
    if held[4] == "" then
        redis.call("HINCRBY", totals_key, redis.call("HGET", call_key(id), "read") == "1" and "read" or "failed", 1)
        delete_call(id)
        return 1
    end
    if read ~= "" then redis.call("HSET", call_key(id), "read", read) end
    free_places(id, held)
    free(held, id, 6, "pages")
    free(held, id, 7, "errors")
    add_to(id, "active", -1)
    settle(id)
    return 1
end

-- Reading the document has failed in a way that nobody knows of: as if the worker had died of it.
function operations.fail(held, worker, id)
    held[11] = 1
    update(worker, id, held)
    give_back(worker, id .. " " .. held[4], "dead")
    return 1
end

local name = ARGV[1]
if name == "join" or name == "beat" or name == "leave" or name == "claim" then
    return operations[name](unpack(ARGV, 2))
end
local worker, id, key, attempt = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local held = held_by(worker, id, key, attempt)
if not held then return false end
return operations[name](held, worker, id, unpack(ARGV, 6))
