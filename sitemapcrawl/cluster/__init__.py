"""One crawl on many machines: what waits, what is under way, what was listed and what is left of the limits is in Redis.

``store`` and its script are all that happens there. ``scheduling`` are the parts of scrapy-redis, made to fit; ``spiders``
has the spider that works together with others. ``docs/cluster.md`` says how it looks from outside, and what is guaranteed.
"""
