"""Whatever the text, the parser answers with a module or an error of ours, never with anything else."""

from __future__ import annotations

from pathlib import Path

from budget import MORE
from hypothesis import example, given, settings
from hypothesis import strategies as st

from xstreamcast.errors import XStreamError
from xstreamcast.lang import parse
from xstreamcast.lang.outline import outline
from xstreamcast.lang.printer import to_xquery

FIXTURES = Path(__file__).parent / "fixtures"
QUERIES = [file.read_text(encoding="utf-8") for file in sorted((FIXTURES / "papers").glob("*.xq"))] + [
    block.split("\n", 1)[0]
    for file in sorted((FIXTURES / "grammar").glob("*.txt"))
    for block in file.read_text(encoding="utf-8").split("=== ")[1:]
]
WORDS = [
    *("for", "let", "where", "return", "in", "at", "$x", ":=", "if", "then", "else", "(", ")", "[", "]", "{", "}"),
    *("<", ">", "</a>", "<a", "/>", "<a>", "?[", "#[", "?", "#", "/", "//", ".", "..", "@", "*", "::", ":", ";", ","),
    *("+", "-", "=", "!=", "!", "||", "|", "=>", "<<", ">=", "declare", "variable", "function", "namespace", "import"),
    *("module", "element", "attribute", "text", "map", "array", "instance", "of", "treat", "as", "cast", "castable"),
    *("order", "by", "group", "count", "stable", "some", "every", "satisfies", "typeswitch", "switch", "case"),
    *("default", "try", "catch", "now", "last", "start", "PT1H", "2003-11-01", "before", "1", "1.5", "1e3", "'a'"),
    *('"', "'", "&", "&amp;", "(:", ":)", "(#", "#)", "``", "``[", "]``", "`{", "}`", "Q{", "%", "$", "a:b", "*:a"),
    *("xs:integer", "a-b", "validate", "ordered", "window", "tumbling", "<![CDATA[", "]]>", "<!--", "-->", "<?"),
    *("?>", "xmlns='u'", "\\", "~", "\n", "\t"),
]


def survive(text: str) -> None:
    fault = None
    try:
        module = parse(text)
    except XStreamError as caught:
        fault = caught
    if fault is None:
        assert parse(to_xquery(module)) == module
        assert outline(module)
    else:
        assert str(fault).startswith(f"{fault.code} {fault.place} ")
        assert fault.place is not None
        assert fault.place.line is not None


@settings(max_examples=120 * MORE, deadline=None, derandomize=True)
@given(st.text(max_size=60))
@example("<a b='")
@example("``[`{")
@example("(#")
@example("\ufeff1")
@example("\ud800")
@example("1e999999")
@example("9" * 5000)
@example("&#x110000;")
@example('"&#99999999999999999999;"')
@example("a?[9999-99-99]")
@example("f#99999999999999999999")
@example("?99999999999999999999")
def test_any_text(text: str) -> None:
    survive(text)


@settings(max_examples=240 * MORE, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(WORDS), max_size=25), st.sampled_from(["", " "]))
def test_any_heap_of_tokens(words: list[str], separator: str) -> None:
    survive(separator.join(words))


@settings(max_examples=320 * MORE, deadline=None, derandomize=True)
@given(st.data())
def test_any_mutated_query(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(QUERIES))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 5)))
        text = text[:start] + data.draw(st.sampled_from(["", *WORDS])) + text[end:]
    survive(text)


@settings(max_examples=120 * MORE, deadline=None, derandomize=True)
@given(st.binary(max_size=60))
def test_any_bytes_read_as_latin_1(data: bytes) -> None:
    survive(data.decode("latin-1"))
