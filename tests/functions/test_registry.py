"""The table of functions is whole, loads lazily and agrees with the decorators."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from xstreamcast.functions import registry
from xstreamcast.functions.registry import arities, lookup, parse_parameters, parse_type
from xstreamcast.functions.topics import TOPICS
from xstreamcast.model.namespaces import FN, PREFIXES, XS
from xstreamcast.model.types import TYPES
from xstreamcast.plan.modes.ways import MODES


def test_every_decorated_function_is_listed_under_its_file() -> None:
    for topic in set(TOPICS.values()):
        import_module(f"xstreamcast.functions.{topic}")
    # What emission modes ask live documents is registered beside them, under a name that no query can spell.
    entries = {key: entry for key, entry in registry._entries.items() if key[0] != MODES}
    registered = {f"{e.name.prefix}:{e.name.local}" for e in entries.values()}
    registered |= {f"{e.name.prefix}:{e.name.local}" for e in registry._variadic.values()}
    assert registered == set(TOPICS)
    for (uri, local, _), entry in entries.items():
        assert entry.name.uri == uri
        assert entry.call.__module__.rpartition(".")[2] == TOPICS[f"{entry.name.prefix}:{local}"]


def test_an_unknown_name_or_arity_is_not_found() -> None:
    assert lookup(FN, "no-such", 1) is None
    assert lookup(FN, "count", 2) is None
    assert lookup("urn:other", "count", 1) is None
    assert arities(FN, "substring") == [2, 3]


def test_concat_has_every_arity_from_two() -> None:
    assert lookup(FN, "concat", 1) is None
    entry = lookup(FN, "concat", 9)
    assert entry is not None
    assert entry.arity == 9


@pytest.mark.parametrize("name", sorted(set(TYPES) - {"anyAtomicType", "NOTATION"}))
def test_every_concrete_type_has_a_constructor(name: str) -> None:
    entry = lookup(XS, name, 1)
    assert entry is not None
    assert entry.result.allows_empty


@pytest.mark.parametrize("name", ["anyAtomicType", "NOTATION", "anyType", "untyped", "nothing"])
def test_abstract_and_unknown_types_have_none(name: str) -> None:
    assert lookup(XS, name, 1) is None


@pytest.mark.parametrize(
    "text",
    [
        "xs:string?",
        "item()*",
        "function(*)",
        "function(item()*, item()) as item()*",
        "map(xs:string, item()*)",
        "map(*)+",
        "array(xs:integer)",
        "document-node()?",
        "empty-sequence()",
    ],
)
def test_signatures_read_and_print_alike(text: str) -> None:
    assert str(parse_type(text)) == text


def test_a_bad_signature_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown type"):
        parse_type("thing()")
    assert parse_parameters("") == ()


def test_looking_up_one_function_loads_one_topic() -> None:
    code = (
        "import sys; from xstreamcast.functions.registry import lookup; from xstreamcast.model.namespaces import FN; "
        "lookup(FN, 'count', 1); loaded = [m for m in sys.modules if m.startswith('xstreamcast.functions.')]; "
        "assert 'xstreamcast.functions.aggregate' in loaded and 'xstreamcast.functions.json' not in loaded, loaded; "
        "assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_prefixes_are_the_standard_ones() -> None:
    assert set(PREFIXES) == {"fn", "math", "map", "array", "xs"}
