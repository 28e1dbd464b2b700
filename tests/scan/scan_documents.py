"""Random documents: well-formed ones by construction, and the same with bytes changed."""

from __future__ import annotations

from hypothesis import strategies as st

_NAMES = st.sampled_from(
    ["a", "b", "item", "name", "p:a", "q:b", "p:item", "é", "a-b.c_1", "averylongelementname_of_27", "x" * 17]
)
_CHARACTERS = st.sampled_from(
    [*"ab <>&'\"]-?\n\r\t", "é", "€", "😀", "]]", "--", "&amp;", "\r\n", " " * 33, "text of some length; "]
)
_BYTES = st.sampled_from([*b"<>/=&;'\"!?-[]: ax\n\r", 0, 1, 0x80, 0xC3, 0xED, 0xFF])
_TOKENS = st.sampled_from([b"]]>", b"--", b"<![CDATA[", b"<!--", b"&#x0;", b"</a>", b"<a", b"xmlns:z=''"])


def _escaped(text: str, quote: str = "") -> str:
    text = text.replace("&amp;", "\0").replace("&", "&amp;").replace("<", "&lt;").replace("\0", "&#38;")
    return text.replace(quote, "&#34;" if quote == '"' else "&apos;") if quote else text.replace("]]>", "]]&gt;")


_TEXT = st.lists(_CHARACTERS, min_size=1, max_size=6).map("".join)
_SPACE = st.sampled_from(["", " ", "\n", "\t ", "\r\n"])


@st.composite
def _attribute(draw: st.DrawFn) -> tuple[str, str]:
    name = draw(_NAMES)
    quote = draw(st.sampled_from("\"'"))
    around = draw(_SPACE)
    return name, f"{name}{around}={around}{quote}{_escaped(draw(_TEXT), quote)}{quote}"


def _comment(text: str) -> str:
    return f"<!--{text.replace('-', '~')}-->"


def _cdata(text: str) -> str:
    return f"<![CDATA[{text.replace(']]>', ']] >')}]]>"


def _instruction(text: str) -> str:
    return f"<?go {text.replace('?>', '? >')}?>"


_LEAF = _TEXT.map(_escaped) | _TEXT.map(_comment) | _TEXT.map(_cdata) | _TEXT.map(_instruction) | st.just("<?go?>")
_DECLARED = st.sampled_from(["", " xmlns='u'", " xmlns=''", " xmlns:p='u'", ' xmlns:q="v&amp;w"', " xmlns:q='u'"])


@st.composite
def _element(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    name = draw(_NAMES)
    attributes: dict[str, str] = {}
    for attribute, written in draw(st.lists(_attribute(), max_size=3)):
        attributes.setdefault(attribute, written)
    head = name + draw(_DECLARED) + "".join(f" {written}" for written in attributes.values()) + draw(_SPACE)
    content = "".join(draw(st.lists(inner, max_size=4)))
    if not content and draw(st.booleans()):
        return f"<{head}/>"
    return f"<{head}>{content}</{name}{draw(_SPACE)}>"


_NODE = st.recursive(_LEAF, lambda inner: _element(inner | _LEAF), max_leaves=12)
_MISC = st.lists(_TEXT.map(_comment) | st.just("<?go x?>") | st.just("\n"), max_size=2).map("".join)


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """A document that is well-formed but for prefixes bound to one namespace, whose attributes may clash."""
    content = "".join(draw(st.lists(_NODE, max_size=5)))
    root = f"<root xmlns:p='urn:p' xmlns:q='urn:q'>{content}</root>"
    return (draw(_MISC) + root + draw(_MISC)).encode()


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A document with some bytes changed, cut out, doubled or put in."""
    document = bytearray(draw(documents()))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(document)))
        how = draw(st.integers(0, 3))
        if how == 0:
            document[at : at + 1] = bytes([draw(_BYTES)])
        elif how == 1:
            del document[at : at + draw(st.integers(1, 4))]
        elif how == 2:
            document[at:at] = document[at : at + draw(st.integers(1, 12))]
        else:
            document[at:at] = draw(_TOKENS)
    return bytes(document)
