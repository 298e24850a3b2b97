"""The tolerant reader of XML: text → elements, each with the offset of its start tag, and what is not well-formed.

It refuses nothing, and every repair is a rule that can be stated in a sentence: a stray ``<`` is text, an end tag closes
the element of its name that is open further out, a tag without its ``>`` ends before the next ``<``, and so on. It never
expands what a document type declares, and takes time in proportion to the text, whatever the text is. Offsets become
lines and columns next door, in :mod:`.lines`; bytes became text in ``encodings``.

The standards: XML 1.0 (fifth edition), https://www.w3.org/TR/2008/REC-xml-20081126/, and Namespaces in XML 1.0
(third edition), https://www.w3.org/TR/2009/REC-xml-names-20091208/.
"""

from __future__ import annotations

import re
from html.entities import html5
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from .lines import Lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["XMLNS_NAMESPACE", "XML_NAMESPACE", "Attribute", "Element", "Fault", "Lines", "Markup", "forbidden_characters"]

XML_NAMESPACE: Final = "http://www.w3.org/XML/1998/namespace"
XMLNS_NAMESPACE: Final = "http://www.w3.org/2000/xmlns/"

# XML 1.0, productions [3] S, [4] NameStartChar, [4a] NameChar, and what [2] Char leaves out.
_S = r"[ \t\r\n]"
_NAME_START = (
    r":A-Z_a-z\xC0-\xD6\xD8-\xF6\xF8-\u02FF\u0370-\u037D\u037F-\u1FFF\u200C\u200D\u2070-\u218F\u2C00-\u2FEF"
    r"\u3001-\uD7FF\uF900-\uFDCF\uFDF0-\uFFFD\U00010000-\U000EFFFF"
)
_NAME_PATTERN = rf"[{_NAME_START}][{_NAME_START}\-.0-9\xB7\u0300-\u036F\u203F\u2040]*+"
_NAME = re.compile(_NAME_PATTERN)
_LOCAL_START = re.compile(rf"(?!:)[{_NAME_START}]")
_FORBIDDEN = re.compile(r"[\x00-\x08\x0B\x0C\x0E-\x1F\uD800-\uDFFF\uFFFE\uFFFF]")
_SPACE = re.compile(rf"{_S}*+")

# What machines write: text and the tag after it, together with the text and the end tag of an element without children.
# Each group is possessive, so a failure costs one look at the characters; all that is odd fails, and is read with care.
_ASCII_NAME = r"[A-Za-z_][A-Za-z0-9_.:\-]*+"
_COMMON = re.compile(
    rf"""([^<]*+)<(?:
        ({_ASCII_NAME})                                                           # 2: the name of a start tag
        ((?:{_S}++{_ASCII_NAME}{_S}*+={_S}*+(?:"[^"<]*+"|'[^'<]*+'))*+){_S}*+     # 3: its attributes
        (?:(/)>|>(?:([^<]*+)</\2>)?)                                              # 4: its slash, or 5: all its text
        |/({_ASCII_NAME}){_S}*+>                                                  # 6: the name of an end tag
    )""",
    re.VERBOSE,
)
_ATTRIBUTE = re.compile(rf"""({_ASCII_NAME}){_S}*+={_S}*+["']((?<=")[^"]*+|[^']*+)["']""")  # within 3 alone
_SECTION, _LEAF = 3, 5

_REFERENCE = re.compile(rf"&(?:({_NAME_PATTERN});|#([^\s;&<]*+);)?+")
_XML_ENTITIES: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_HTML_ENTITIES: Final = {name[:-1]: value for name, value in html5.items() if name.endswith(";")} | _XML_ENTITIES
_MAX_DIGITS = 7  # of U+10FFFF in decimal; int() itself refuses some thousands of digits

_LINE_END = re.compile(r"\r\n?")
_VALUE_SPACE = re.compile(r"\r\n|[\t\n\r]")
_HYPHENS = re.compile(r"--+|-\Z")
_UNQUOTED = re.compile(r"(?:(?!/>)[^ \t\r\n<>])*+")
_UNCLOSED = re.compile(r"(?:(?!/>)[^<>])*+")
_UNNAMED = re.compile(r"[^ \t\r\n=<>/\"']++|[=\"']")
_REST_OF_TAG = re.compile(r"[^<>]*+")
_TAG_END = re.compile(rf"/{_S}*+>")

_DECLARATION = re.compile(
    rf"""<\?xml{_S}+version{_S}*={_S}*(?:"1\.[0-9]+"|'1\.[0-9]+')
    (?:{_S}+encoding{_S}*={_S}*(?:"[A-Za-z][A-Za-z0-9._\-]*"|'[A-Za-z][A-Za-z0-9._\-]*'))?
    (?P<alone>{_S}+standalone{_S}*={_S}*(?:"(?:yes|no)"|'(?:yes|no)'))?{_S}*\?>""",
    re.VERBOSE,
)
_PUBLIC_ID = r" \r\nA-Za-z0-9\-()+,./:=?;!*\#@$_%"
_DOCTYPE = re.compile(
    rf"""<!DOCTYPE{_S}++(?:{_NAME_PATTERN})
    (?P<external>{_S}++(?:SYSTEM|PUBLIC{_S}++(?:"[{_PUBLIC_ID}']*+"|'[{_PUBLIC_ID}]*+'))
        {_S}++(?:"[^"]*+"|'[^']*+'))?+{_S}*+([\[>])""",
    re.VERBOSE,
)
_DOCTYPE_HEAD = re.compile(r"""(?:[^"'\[<>]|"[^"<]*+"|'[^'<]*+')*+[\[>]""")
_SUBSET_PART = re.compile(
    rf"""{_S}++|(?P<reference>%{_NAME_PATTERN};)|<!ENTITY{_S}++(?P<parameter>%{_S}++)?+(?P<entity>{_NAME_PATTERN}){_S}++(?P<value>(?:[^"'<>]|"[^"]*+"|'[^']*+')*+)>
    |<!(?:ELEMENT|ATTLIST|NOTATION){_S}(?:[^"'<>]|"[^"]*+"|'[^']*+')*+>""",
    re.VERBOSE,
)
_ENTITY_VALUE = re.compile(
    rf"""(?:"(?:[^%&"]|&\#?\w[\w.\-:]*;)*+"|'(?:[^%&']|&\#?\w[\w.\-:]*;)*+'
    |(?:SYSTEM|PUBLIC{_S}++(?:"[^"]*+"|'[^']*+')){_S}++(?:"[^"]*+"|'[^']*+')(?:{_S}++NDATA{_S}++{_NAME_PATTERN})?+){_S}*+""",
    re.VERBOSE,
)
_NO_SUBSET_PART = re.compile(r"<[^<>\]]*+>?|[^<\]]++")
_MAX_MALFORMED = 100  # in an internal subset; each may have cost a look at all that follows

_DEEPEST: Final = 400_000  # levels; a start tag below them opens nothing, or 50 MB of "<a>" would take 4 GB

_NO_VALUES: Final[Mapping[str, str]] = MappingProxyType({})
_NO_DECLARATIONS: Final[Mapping[str, str | None]] = MappingProxyType({})


class Fault(NamedTuple):
    """Something that is not well-formed: the id of the rule, where, a sentence about it, and the value or what helps."""

    rule: str
    offset: int
    message: str
    value: str | None = None


class Attribute(NamedTuple):
    """An attribute as it is written; ``offset`` is that of its name. ``xmlns`` attributes are attributes too."""

    prefix: str | None
    name: str
    value: str
    namespace: str | None
    offset: int


class Element:
    """An element: where its start tag begins, its name, its attributes, its children and its text.

    ``namespace`` is None for an element in no namespace and for one whose prefix is not declared. ``text`` is what
    stands directly in it: references resolved, CDATA sections included, comments left out, white space kept.
    ``declares`` holds the namespaces that its start tag declares, by prefix ("" for the default one; None undeclares it).
    """

    __slots__ = ("_attributes", "_values", "children", "declares", "name", "namespace", "offset", "prefix", "text")

    def __init__(
        self,
        offset: int,
        prefix: str | None,
        name: str,
        namespace: str | None,
        text: str = "",
        attributes: str | tuple[Attribute, ...] = (),
        values: Mapping[str, str] = _NO_VALUES,
        declares: Mapping[str, str | None] = _NO_DECLARATIONS,
    ) -> None:
        self.offset = offset
        self.prefix = prefix
        self.name = name
        self.namespace = namespace
        self.text = text
        self.children: list[Element] = []
        self.declares = declares
        self._attributes = attributes  # as written, while nobody has asked for more than values; then without prefixes
        self._values = values

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes in their order; of one that is there twice, the first."""
        if isinstance(self._attributes, str):
            start = self.offset + 1 + len(self.name) + (len(self.prefix) + 1 if self.prefix else 0)
            self._attributes = tuple(
                Attribute(None, match[1], self._values[match[1]], None, start + match.start())
                for match in _ATTRIBUTE.finditer(self._attributes)
            )
        return self._attributes

    @property
    def tag(self) -> str:
        """The name as lxml writes it, ``{namespace}name``; one with an undeclared prefix as it stands there."""
        if self.namespace is not None:
            return f"{{{self.namespace}}}{self.name}"
        return self.name if self.prefix is None else f"{self.prefix}:{self.name}"

    def __iter__(self) -> Iterator[Element]:
        return iter(self.children)

    def __len__(self) -> int:
        return len(self.children)

    def __bool__(self) -> bool:
        return True

    def get(self, name: str) -> str | None:
        """Return the value of the attribute *name* (one without prefix), or None if there is none."""
        return self._values.get(name)

    def __repr__(self) -> str:
        return f"<Element {self.name} at {self.offset}>"


class _Tag(NamedTuple):
    """A start tag that was read with care."""

    element: Element
    qname: str
    is_empty: bool
    end: int
    undo: _Undo | None


class _Undo(NamedTuple):
    """What the end of an element that declares namespaces restores."""

    names: dict[str, tuple[str | None, str, str | None]]
    bindings: list[tuple[str, str | None, bool]]


class Markup:
    """A document of XML, read from beginning to end, once, whatever is wrong with it.

    *text* is the document, decoded and without byte order mark. With *html_entities*, the entities of HTML (with
    their semicolon) mean what HTML says; otherwise they count as text, as any reference does that XML does not know.
    *report* is called with each :class:`Fault` as it is met, which is not quite the order of the text (forbidden
    characters come last, or without *report_characters* are left to :func:`forbidden_characters`); without it, faults
    are repaired all the same, and nothing is spent on telling.

    >>> document = Markup("<a><b>1</b><b>2 & 3</b>", html_entities=False, report=lambda fault: print(fault.rule))
    >>> document.root, [element.text for element in document.elements()], document.complete
    xml-ampersand
    xml-incomplete
    (<Element a at 0>, ['1', '2 & 3'], False)
    """

    def __init__(
        self,
        text: str,
        *,
        html_entities: bool,
        report: Callable[[Fault], None] | None = None,
        report_characters: bool = True,
    ) -> None:
        self.text = text
        self.complete = False
        """Whether the root was closed; known when the elements have been read."""
        self.unclosed: list[Element] = []
        """The elements that were open at the end, from the root inwards, with the children that were complete."""
        self._report = report
        self._report_characters = report_characters
        self._entities: Mapping[str, str] = _HTML_ENTITIES if html_entities else _XML_ENTITIES
        self._declared: set[str] = set()
        self._may_be_declared = False  # elsewhere: an external subset or parameter entities were not read
        self._bindings: dict[str, str | None] = {"": None, "xml": XML_NAMESPACE}
        self._names: dict[str, tuple[str | None, str, str | None]] = {}
        self._undeclared: set[str] = set()
        self._missing_quotes: set[str] = set()
        self._doctype_count = 0
        self._is_standalone = False
        self._is_incomplete = False
        self._has_cr = "\r" in text
        self._has_cdata_end = report is not None and "]]>" in text
        self._is_open = False
        self._is_read = False
        self._root: _Tag | None = None

    # -- the document ------------------------------------------------------------------------------------------------

    @property
    def root(self) -> Element | None:
        """The root, of which only the start tag has been read; None if the document has no root element."""
        return self.open()

    def open(self) -> Element | None:
        """Read up to the end of the root's start tag, and return the root."""
        if not self._is_open:
            self._is_open = True
            self._root = self._prolog()
            if self._root is None:
                self._fault("xml-empty", 0, "The document has no root element")
                self._characters(len(self.text))
        return self._root.element if self._root else None

    def elements(self, depth: int = 1) -> Iterator[Element]:
        """Read on, and yield each element *depth* levels below the root when its end has been read.

        An element comes with all it holds and is in nobody's ``children``, so that memory holds one of them at a time.
        The text and other children of the elements above it are passed over. What was not closed is not yielded.
        """
        # The hot loop: it keeps its state in local variables and is one piece, since a call costs as much as a tag.
        if depth < 1:
            raise ValueError(f"depth is {depth!r}, expected at least 1")
        self.open()
        if self._root is None or self._is_read:
            return
        self._is_read = True
        element, qname, is_empty, pos, undo = self._root
        if is_empty:
            self.complete = True
            self._epilogue(pos)
            return

        text, report, clean = self.text, self._report, self._clean
        match_common, find_attributes = _COMMON.match, _ATTRIBUTE.findall
        names, is_special = self._names, self._has_cr or self._has_cdata_end
        plain: set[str] = set()  # attribute names that are no affair of namespaces
        stack: list[tuple[Element, str, list[str] | None, _Undo | None]] = []
        open_count = {qname: 1}
        level = 1  # of the children of *element*, the innermost open one
        parts: list[str] | None = None  # its text; None where that is passed over
        tag: _Tag | None
        end: str | None

        while True:
            match = match_common(text, pos)
            if match is not None:
                chunk, name, section, _, content, end = match.groups()
                if chunk:
                    if parts is not None:
                        parts.append(clean(chunk, pos) if is_special or "&" in chunk else chunk)
                    elif report is not None and (is_special or "&" in chunk):
                        clean(chunk, pos)
                if end is None:
                    offset = match.end(1)
                    values = _NO_VALUES
                    if section:
                        pairs = find_attributes(section)
                        values = dict(pairs)
                        if not plain.issuperset(values):
                            plain.update([key for key in values if ":" not in key and key != "xmlns"])
                        if len(values) < len(pairs) or not plain.issuperset(values):
                            match = None
                        elif "&" in section:
                            if section.count("&") == section.count("&amp;"):
                                values = {key: value.replace("&amp;", "&") for key, value in pairs}
                            else:
                                match = None
                        if match and ("\n" in section or "\t" in section or "\r" in section):
                            for value in values.values():
                                if "\n" in value or "\t" in value or "\r" in value:
                                    match = None
                    if match:
                        try:
                            prefix, local, namespace = names[name]
                        except KeyError:
                            prefix, local, namespace = self._resolve(name, offset)
                        if content and (is_special or "&" in content):
                            content = clean(content, match.start(_LEAF))
                        child = Element(offset, prefix, local, namespace, content or "", section, values)
                        child_undo = None
                        is_empty = match.lastindex != _SECTION
                        pos = match.end()
                    else:
                        tag = self._tag(offset)
                        if tag is None:
                            break
                        child, name, is_empty, pos, child_undo = tag
                        names = self._names
                else:
                    offset = match.end(1)
                    pos = match.end()
            else:
                offset = text.find("<", pos)
                if offset < 0:
                    offset = len(text)
                if offset > pos:
                    chunk = clean(text[pos:offset], pos)
                    if parts is not None:
                        parts.append(chunk)
                following = text[offset + 1 : offset + 2]
                if not following:
                    break
                if following == "!" and text.startswith("[CDATA[", offset + 2):
                    pos = text.find("]]>", offset + 9)
                    if pos < 0:
                        break
                    if parts is not None:
                        chunk = text[offset + 9 : pos]
                        parts.append(_LINE_END.sub("\n", chunk) if self._has_cr else chunk)
                    pos += 3
                    continue
                if following in "!?":
                    pos = self._declaration_or_instruction(offset)
                    if pos < 0:
                        break
                    continue
                if following == "/":
                    end, pos = self._end_tag(offset)
                    if pos < 0:
                        break
                    if end is None:
                        continue
                elif _NAME.match(following):
                    tag = self._tag(offset)
                    if tag is None:
                        break
                    child, name, is_empty, pos, child_undo = tag
                    names = self._names
                    end = None
                else:
                    self._fault("xml-less-than", offset, "A '<' in text begins no tag; it is written '&lt;'")
                    if parts is not None:
                        parts.append("<")
                    pos = offset + 1
                    continue

            if end is None:
                if is_empty:
                    if child_undo is not None:
                        self._restore(child_undo)
                        names = self._names
                    if level > depth:
                        element.children.append(child)
                    elif level == depth:
                        yield child
                elif level < _DEEPEST:
                    stack.append((element, qname, parts, undo))
                    element, qname, undo = child, name, child_undo
                    parts = [] if level >= depth else None
                    open_count[qname] = open_count.get(qname, 0) + 1
                    level += 1
                continue

            if end != qname:
                is_open = end in open_count
                if report is not None:
                    self._mismatch(end, qname, offset, is_open=is_open)
                if not is_open:
                    continue
            while True:
                closed, closed_name = element, qname
                if parts:
                    closed.text = "".join(parts)
                if undo is not None:
                    self._restore(undo)
                    names = self._names
                if open_count[closed_name] == 1:
                    del open_count[closed_name]
                else:
                    open_count[closed_name] -= 1
                if not stack:
                    self.complete = True
                    self._epilogue(pos)
                    return
                element, qname, parts, undo = stack.pop()
                level -= 1
                if level > depth:
                    element.children.append(closed)
                elif level == depth:
                    yield closed
                if closed_name == end:
                    break

        self.unclosed = [*(outer[0] for outer in stack), element]
        self._incomplete()
        self._characters(len(text))

    def _prolog(self) -> _Tag | None:
        """Read what stands before the root, and the root's start tag."""
        text = self.text
        pos = 0
        outside = -1
        while True:
            start = _skip_space(text, pos)
            pos = text.find("<", start)
            if start != pos and start < len(text) and outside < 0:
                outside = start
            following = text[pos + 1 : pos + 2]
            if pos < 0 or not following:
                return None
            if following == "!" and text.startswith("[CDATA[", pos + 2):
                outside = pos if outside < 0 else outside
                pos = text.find("]]>", pos) + 3
                if pos < 3:
                    return None
            elif following in "!?":
                pos = self._declaration_or_instruction(pos, in_prolog=True)
                if pos < 0:
                    return None
            elif following == "/":
                offset = pos
                end, pos = self._end_tag(offset)
                if pos < 0:
                    return None
                if end is not None:
                    self._mismatch(end, None, offset, is_open=False)
            elif _NAME.match(following):
                if outside >= 0:
                    self._fault("xml-outside-root", outside, "Text stands before the root element")
                return self._tag(pos)
            else:
                outside = pos if outside < 0 else outside
                pos += 1

    def _epilogue(self, pos: int) -> None:
        """Look at what follows the root, up to the first thing that may not."""
        text = self.text
        while True:
            pos = _skip_space(text, pos)
            if pos == len(text):
                break
            if not text.startswith(("<!--", "<?"), pos):
                self._fault("xml-outside-root", pos, "Something other than comments and instructions follows the root element")
                break
            pos = self._declaration_or_instruction(pos)
            if pos < 0:
                self._incomplete()
                pos = len(text)
                break
        self._characters(pos)

    # -- tags --------------------------------------------------------------------------------------------------------

    def _tag(self, start: int) -> _Tag | None:
        """Read the start tag at *start* with care; None if the document ends in it."""
        text = self.text
        match = _NAME.match(text, start + 1)
        assert match is not None
        qname = match[0]
        pos = match.end()
        size = len(text)
        found: dict[str, tuple[str, int]] = {}
        is_empty = False
        while True:
            offset = _skip_space(text, pos)
            if offset == size:
                return None
            has_space = offset > pos
            pos = offset
            char = text[pos]
            if char == ">":
                pos += 1
                break
            if char == "/" and (match := _TAG_END.match(text, pos)):
                pos = match.end()
                is_empty = True
                if text[pos - 2] != "/":
                    self._fault("xml-markup", offset, f"The tag <{_short(qname)}> has white space between '/' and '>'", qname)
                break
            if char == "<":
                self._fault("xml-markup", offset, f"The tag <{_short(qname)}> lacks its '>'", qname)
                break
            if char == "/":
                self._fault("xml-markup", pos, f"The tag <{_short(qname)}> has a '/' that does not end it", "/")
                pos += 1
                continue
            is_name = True
            match = _NAME.match(text, pos)
            if match is None:
                is_name = False
                match = _UNNAMED.match(text, pos)
                assert match is not None
                if not _FORBIDDEN.match(char):
                    self._fault("xml-markup", pos, f"{match[0][:50]!r} is no attribute of the tag <{_short(qname)}>", match[0])
                if char in "=\"'":
                    pos += 1
                    continue
            name = match[0]
            problem = None if has_space or not is_name else "has no white space before it"
            pos = _skip_space(text, match.end())
            if pos == size:
                return None
            value = ""
            if text[pos] != "=":
                pos = match.end()
                problem = "has no value"
            else:
                pos = _skip_space(text, pos + 1)
                if pos == size:
                    return None
                value_start = pos
                quote = text[pos]
                if quote in "\"'":
                    close = self._closing_quote(quote, pos + 1)
                    if close is None:
                        return None
                    if close > 0:
                        value_start, value_end, pos = pos + 1, close, close + 1
                    else:
                        match = _UNCLOSED.match(text, pos + 1)
                        assert match is not None
                        value_start, value_end, pos = pos + 1, match.end(), match.end()
                        problem = "lacks its closing quotation mark"
                else:
                    match = _UNQUOTED.match(text, pos)
                    assert match is not None
                    value_end = pos = match.end()
                    problem = "has no quotation marks around its value" if value_end > value_start else "has no value"
                value = self._value(text[value_start:value_end], value_start)
            if not is_name:
                continue
            if problem:
                self._fault("xml-attribute", offset, f"The attribute {_short(name)} {problem}", name)
            if name in found:
                self._repeated(name, offset)
            else:
                found[name] = value, offset
        return self._started(start, qname, is_empty, pos, found)

    def _closing_quote(self, quote: str, start: int) -> int | None:
        """Return where the quoted value from *start* ends; 0 if its end is missing, None if the document ends in it."""
        text = self.text
        close = -1 if quote in self._missing_quotes else text.find(quote, start)
        if close < 0:
            self._missing_quotes.add(quote)
            return None if text.find("<", start) < 0 else 0
        # A mark that is missing makes the next value's opening one the closing one: after it stands that value.
        if text[close + 1 : close + 2] not in ("", " ", "\t", "\r", "\n", ">", "/") and text.find("<", start, close) >= 0:
            return 0
        return close

    def _started(self, start: int, qname: str, is_empty: bool, end: int, found: dict[str, tuple[str, int]]) -> _Tag:
        """Make an element of a start tag's parts, and put into force what namespaces it declares."""
        declares: dict[str, str | None] = {}
        for name, (value, offset) in found.items():
            if name == "xmlns" or (name.startswith("xmlns:") and len(name) > 6):
                self._declare(name[6:], value, offset, declares)
        undo = None
        if declares:
            undo = _Undo(self._names, [(key, self._bindings.get(key), key in self._bindings) for key in declares])
            self._bindings.update(declares)
            self._names = {}
        prefix, local, namespace = self._names.get(qname) or self._resolve(qname, start)

        attributes = []
        expanded: set[tuple[str, str]] = set()
        for name, (value, offset) in found.items():
            if ":" not in name:
                space = XMLNS_NAMESPACE if name == "xmlns" else None
                attributes.append(Attribute(None, name, value, space, offset))
                continue
            attribute_prefix, attribute_local, space = self._resolve(name, start, is_attribute=True)
            if space is not None:
                if (space, attribute_local) in expanded:
                    self._repeated(name, offset)
                    continue
                expanded.add((space, attribute_local))
            attributes.append(Attribute(attribute_prefix, attribute_local, value, space, offset))
        values = {name: value for name, (value, _) in found.items()} if found else _NO_VALUES
        element = Element(start, prefix, local, namespace, "", tuple(attributes), values, declares or _NO_DECLARATIONS)
        return _Tag(element, qname, is_empty, end, undo)

    def _declare(self, prefix: str, value: str, offset: int, declares: dict[str, str | None]) -> None:
        """Add to *declares* that *prefix* stands for *value*, if that may be declared (Namespaces in XML, section 3)."""
        problem = None
        if prefix == "xmlns" or value == XMLNS_NAMESPACE:
            problem = "may not be declared"
        elif (prefix == "xml") != (value == XML_NAMESPACE):
            problem = f"may not stand for {value[:100]!r}"
        elif prefix and not value:
            problem = "stands for no namespace"
        elif prefix and not (":" not in prefix and _LOCAL_START.match(prefix)):
            problem = "is no name"
        if problem is None or prefix not in ("xml", "xmlns"):
            declares[prefix] = value or None
        if problem:
            what = f"The namespace prefix {_short(prefix)}" if prefix else "The default namespace"
            self._fault("xml-markup", offset, f"{what} {problem}", prefix)

    def _restore(self, undo: _Undo) -> None:
        """Take back what namespaces an element declared, at its end."""
        self._names = undo.names
        for prefix, namespace, was_bound in undo.bindings:
            if was_bound:
                self._bindings[prefix] = namespace
            else:
                del self._bindings[prefix]

    def _resolve(self, qname: str, start: int, *, is_attribute: bool = False) -> tuple[str | None, str, str | None]:
        """Return prefix, local name and namespace of a name in the tag at *start*; remember those of elements."""
        prefix, colon, local = qname.partition(":")
        resolved: tuple[str | None, str, str | None]
        if not colon:
            resolved = None, qname, self._bindings[""]
        elif not prefix or not local:
            self._fault("xml-markup", start, f"The name {_short(qname)} has nothing before or after its colon", qname)
            return None, qname, None
        else:
            namespace = self._bindings.get(prefix)
            if is_attribute and prefix == "xmlns":
                namespace = XMLNS_NAMESPACE
            elif prefix not in self._bindings and prefix not in self._undeclared:
                self._undeclared.add(prefix)
                self._fault("xml-prefix", start, f"The namespace prefix {_short(prefix)} is not declared", prefix)
            resolved = prefix, local, namespace
            if (":" in local or not _LOCAL_START.match(local)) and not (is_attribute and prefix == "xmlns"):
                self._fault("xml-markup", start, f"The name {_short(qname)} is no name with a prefix", qname)
                return resolved
        if not is_attribute:
            self._names[qname] = resolved
        return resolved

    def _end_tag(self, start: int) -> tuple[str | None, int]:
        """Read the end tag at *start* with care: its name if it has one, and where it ends; -1 if the document does."""
        text = self.text
        pos = _skip_space(text, start + 2)
        match = _NAME.match(text, pos)
        name = None
        stumble = start + 2
        if match is not None:
            name = match[0]
            stumble = pos = _skip_space(text, match.end())
        rest = _REST_OF_TAG.match(text, pos)
        assert rest is not None
        pos = rest.end()
        if pos == len(text):
            return None, -1
        if text[pos] == "<":
            self._fault("xml-markup", stumble if rest[0] else pos, f"The end tag </{_short(name or '')}> lacks its '>'", name)
            return name, pos
        if name is None or rest[0]:
            self._fault("xml-markup", stumble, f"The end tag {text[start : start + 50]!r} is more or less than a name", name)
        elif text[start + 2] != name[0]:
            self._fault("xml-markup", start + 2, f"The end tag of <{_short(name)}> has white space before its name", name)
        return name, pos + 1

    # -- declarations, instructions, comments ------------------------------------------------------------------------

    def _declaration_or_instruction(self, start: int, *, in_prolog: bool = False) -> int:
        """Pass over what begins with ``<!`` or ``<?`` at *start* and is no CDATA section; -1 if the document ends in it."""
        text = self.text
        if text.startswith("<!--", start):
            return self._comment(start)
        if text.startswith("<?", start):
            return self._instruction(start)
        if text.startswith("<!DOCTYPE", start):
            self._doctype_count += 1
            if not in_prolog or self._doctype_count > 1:
                self._fault("xml-markup", start, "A document type declaration may stand before the root alone, and once")
            return self._doctype(start, is_in_place=in_prolog and self._doctype_count == 1)
        match = _REST_OF_TAG.match(text, start + 1)
        assert match is not None
        end = match.end()
        if end == len(text):
            return -1
        self._fault("xml-markup", start, f"{text[start : min(end, start + 50)]!r} may not stand here")
        return end + 1 if text[end] == ">" else end

    def _comment(self, start: int) -> int:
        end = self.text.find("-->", start + 4)
        if end < 0:
            return -1
        if self._report is not None:
            for match in _HYPHENS.finditer(self.text, start + 4, end):
                self._fault("xml-comment", match.start(), "'--' stands within a comment")
        return end + 3

    def _instruction(self, start: int) -> int:
        text = self.text
        match = _NAME.match(text, start + 2)
        if match is not None and match[0] == "xml":
            return self._declaration(start)
        end = text.find("?>", start + 2)
        if end < 0:
            return -1
        if match is None or (match.end() < end and text[match.end()] not in " \t\r\n"):
            self._fault("xml-markup", start, f"The instruction {text[start : min(end + 2, start + 50)]!r} has no name of its own")
        elif match[0].lower() == "xml":
            self._fault("xml-declaration", start, f"The XML declaration begins with <?{match[0]}, expected <?xml", match[0])
        elif ":" in match[0]:
            self._fault("xml-markup", start, f"The name of the instruction {_short(match[0])} has a colon", match[0])
        return end + 2

    def _declaration(self, start: int) -> int:
        text = self.text
        following = text.find("<", start + 1)
        limit = len(text) if following < 0 else following
        end = text.find("?>", start, limit)
        if start > 0:
            self._fault("xml-declaration", start, "The XML declaration does not stand at the very beginning")
        if end >= 0:
            match = _DECLARATION.fullmatch(text, start, end + 2)
            if match is not None:
                self._is_standalone = "yes" in (match["alone"] or "")
            elif start == 0:
                self._fault("xml-declaration", start, f"The XML declaration is malformed: {text[start : min(end + 2, 200)]!r}")
            return end + 2
        # Not closed as it has to be: most often the second question mark is missing.
        end = text.find(">", start, limit)
        if end < 0 and following < 0:
            return -1
        if start == 0:
            self._fault("xml-declaration", start, f"The XML declaration lacks its '?>': {text[start : min(limit, 200)]!r}")
        return end + 1 if end >= 0 else following

    def _doctype(self, start: int, *, is_in_place: bool) -> int:
        """Pass over a document type declaration, and note which entities it declares."""
        text = self.text
        match = _DOCTYPE.match(text, start)
        is_sound = match is not None
        if match is None:
            match = _DOCTYPE_HEAD.match(text, start + 2)
        elif match["external"]:
            self._may_be_declared = not self._is_standalone
        if match is None:
            match = _REST_OF_TAG.match(text, start + 2)
            assert match is not None
            end = match.end()
            if end == len(text):
                return -1
            end += text[end] == ">"
        elif match[0].endswith("["):
            end, is_subset_sound = self._internal_subset(match.end())
            is_sound = is_sound and is_subset_sound
            if end < 0:
                return -1
        else:
            end = match.end()
        if not is_sound and is_in_place:
            shown = text[start : min(end, start + 50)]
            self._fault("xml-markup", start, f"The document type declaration is malformed: {shown!r}")
        return end

    def _internal_subset(self, pos: int) -> tuple[int, bool]:
        """Read on from behind the ``[``: where the declaration ends (-1: nowhere), and whether all was well-formed."""
        text = self.text
        malformed_count = 0
        while True:
            match = _SUBSET_PART.match(text, pos)
            if match is not None:
                pos = match.end()
                if match["entity"]:
                    if not match["parameter"]:
                        self._declared.add(match["entity"])
                    malformed_count += ":" in match["entity"] or not _is_entity_value(match["value"])
                elif match["reference"]:
                    self._may_be_declared = not self._is_standalone
                continue
            if text.startswith(("<!--", "<?"), pos):
                pos = self._declaration_or_instruction(pos)
                if pos < 0:
                    return -1, False
                continue
            if pos == len(text):
                return -1, False
            if text[pos] == "]":
                pos = _skip_space(text, pos + 1)
                has_end = text.startswith(">", pos)
                return pos + has_end, has_end and not malformed_count
            malformed_count += 1
            if text[pos] == "<" and (not text.startswith("!", pos + 1) or malformed_count > _MAX_MALFORMED):
                return pos, False
            match = _NO_SUBSET_PART.match(text, pos)
            assert match is not None
            pos = match.end()

    # -- values ------------------------------------------------------------------------------------------------------

    def _clean(self, chunk: str, offset: int) -> str:
        """Return the value of text as it is written at *offset*, and report what is wrong with it."""
        if self._has_cdata_end:
            found = chunk.find("]]>")
            while found >= 0:
                self._fault("xml-cdata-end", offset + found, "']]>' stands in text; it is written ']]&gt;'")
                found = chunk.find("]]>", found + 3)
        if "&" not in chunk:
            return _LINE_END.sub("\n", chunk) if self._has_cr else chunk
        if chunk.count("&") > chunk.count("&amp;"):
            if self._report is not None:
                self._check_references(chunk, offset)
            if self._has_cr:
                chunk = _LINE_END.sub("\n", chunk)
            return _REFERENCE.sub(self._referent, chunk)
        if self._has_cr:
            chunk = _LINE_END.sub("\n", chunk)
        return chunk.replace("&amp;", "&")

    def _value(self, raw: str, offset: int) -> str:
        """Return the value of an attribute that is written as *raw* at *offset*, and report what is wrong with it."""
        if self._report is not None:
            found = raw.find("<")
            while found >= 0:
                self._fault("xml-less-than", offset + found, "A '<' stands in an attribute's value; it is written '&lt;'")
                found = raw.find("<", found + 1)
            if "&" in raw:
                self._check_references(raw, offset)
        value = _VALUE_SPACE.sub(" ", raw)
        return _REFERENCE.sub(self._referent, value) if "&" in value else value

    def _referent(self, match: re.Match[str]) -> str:
        """Return what a reference stands for: a character, or itself if it stands for none."""
        name, number = match.groups()
        if name is not None:
            return self._entities.get(name, match[0])
        return (_character(number) if number else None) or match[0]

    def _check_references(self, chunk: str, offset: int) -> None:
        for match in _REFERENCE.finditer(chunk):
            name, number = match.groups()
            at = offset + match.start()
            if name is not None:
                if name not in _XML_ENTITIES and name not in self._declared and not self._may_be_declared:
                    self._fault("xml-entity", at, f"The entity {_short(match[0])} is not declared", match[0])
            elif number is None:
                around = chunk[match.start() : match.start() + 20]
                self._fault("xml-ampersand", at, f"The '&' of {around!r} begins no reference; it is written '&amp;'", around)
            elif _character(number) is None:
                message = f"The reference {_short(match[0])} names no character that XML allows"
                self._fault("xml-character-reference", at, message, match[0])

    def _characters(self, end: int) -> None:
        """Report the forbidden characters, wherever they stand before *end*."""
        if self._report is not None and self._report_characters:
            for fault in forbidden_characters(self.text, end):
                self._report(fault)

    # -- faults ------------------------------------------------------------------------------------------------------

    def _fault(self, rule: str, offset: int, message: str, value: str | None = None) -> None:
        if self._report is not None:
            self._report(Fault(rule, offset, message, value[:200] if value else value))

    def _mismatch(self, name: str, innermost: str | None, offset: int, *, is_open: bool) -> None:
        if is_open:
            message = f"The end tag </{_short(name)}> stands where <{_short(innermost or '')}> is open; it ends both"
        else:
            message = f"The end tag </{_short(name)}> ends nothing that is open"
        self._fault("xml-tag-mismatch", offset, message, name)

    def _repeated(self, name: str, offset: int) -> None:
        self._fault("xml-attribute-repeated", offset, f"The tag has the attribute {_short(name)} already", name)

    def _incomplete(self) -> None:
        if not self._is_incomplete:
            self._is_incomplete = True
            self._fault("xml-incomplete", len(self.text), "The document ends before its root element does")


def forbidden_characters(text: str, end: int) -> Iterator[Fault]:
    """Yield a fault for each character of *text* before *end* that XML does not allow, in order."""
    for match in _FORBIDDEN.finditer(text, 0, end):
        code = f"U+{ord(match[0]):04X}"
        yield Fault("xml-character", match.start(), f"The character {code} may not stand in XML", code)


def _skip_space(text: str, pos: int) -> int:
    match = _SPACE.match(text, pos)
    assert match is not None
    return match.end()


def _short(name: str) -> str:
    return name if len(name) <= 100 else name[:99] + "…"


def _is_entity_value(value: str) -> bool:
    """Whether *value* is what may follow the name in the declaration of an entity."""
    if not _ENTITY_VALUE.fullmatch(value):
        return False
    return all(match[2] is None or _character(match[2]) for match in _REFERENCE.finditer(value))


def _character(number: str) -> str | None:
    """Return the character of a reference, from what stands between ``#`` and ``;``; None if XML does not allow it."""
    base, digits = (16, number[1:]) if number.startswith("x") else (10, number)
    if not digits.isascii() or not digits.isalnum():
        return None
    digits = digits.lstrip("0")
    if not digits or len(digits) > _MAX_DIGITS:
        return None
    try:
        code = int(digits, base)
    except ValueError:
        return None
    if code > 0x10FFFF:
        return None
    character = chr(code)
    return None if _FORBIDDEN.match(character) else character
