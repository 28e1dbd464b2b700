"""Functions with regular expressions (F&O 3.1 §5.6)."""

from __future__ import annotations

import re

from xstreamcast.errors import error
from xstreamcast.functions.regex_program import Expression, Spans, compile_regex
from xstreamcast.functions.registry import function
from xstreamcast.functions.string import collapse_whitespace
from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.namespaces import FN
from xstreamcast.model.tree import Node


def _consuming(pattern: str, flags: str, asker: str) -> Expression:
    """An expression that matches no empty string; FORX0003."""
    compiled = compile_regex(str(pattern), str(flags))
    if compiled.matches_empty:
        raise error("FORX0003", f"{asker}: the regular expression {pattern!r} matches the empty string")
    return compiled


@function("fn:matches", "xs:string?, xs:string", "xs:boolean")
@function("fn:matches", "xs:string?, xs:string, xs:string", "xs:boolean")
def matches(text: str | None, pattern: str, flags: str = "") -> bool:
    return compile_regex(str(pattern), str(flags)).found_in(text or "")


def _replacement(template: str, groups: int) -> list[str | int]:
    """A replacement as literal texts and group numbers; FORX0004."""
    parts: list[str | int] = []
    at = 0
    while at < len(template):
        character = template[at]
        at += 1
        if character == "\\":
            if template[at : at + 1] not in ("\\", "$"):
                raise error("FORX0004", f"fn:replace: a lone backslash in the replacement {template!r}")
            parts.append(template[at])
            at += 1
        elif character == "$":
            digits = re.match("[0-9]+", template[at:])
            if digits is None:
                raise error("FORX0004", f"fn:replace: $ without a digit in the replacement {template!r}")
            text = digits[0]
            while len(text) > 1 and int(text) > groups:  # the longest number that names a group
                text = text[:-1]
            at += len(text)
            parts.append(int(text) if int(text) <= groups else "")
        else:
            parts.append(character)
    return parts


@function("fn:replace", "xs:string?, xs:string, xs:string", "xs:string")
@function("fn:replace", "xs:string?, xs:string, xs:string, xs:string", "xs:string")
def replace(text: str | None, pattern: str, replacement: str, flags: str = "") -> str:
    compiled = _consuming(pattern, flags, "fn:replace")
    source = str(text or "")
    parts = [str(replacement)] if compiled.literal else _replacement(replacement, len(compiled.parents) - 1)
    made: list[str] = []
    end = 0
    for spans in compiled.matches(source):
        made.append(source[end : spans[0][0]])
        made += [part if isinstance(part, str) else source[slice(*spans[part])] for part in parts]
        end = spans[0][1]
    return "".join(made) + source[end:]


@function("fn:tokenize", "xs:string?", "xs:string*")
def tokenize_words(text: str | None) -> list[str]:
    words = collapse_whitespace(text or "")
    return words.split(" ") if words else []


@function("fn:tokenize", "xs:string?, xs:string", "xs:string*")
@function("fn:tokenize", "xs:string?, xs:string, xs:string", "xs:string*")
def tokenize(text: str | None, pattern: str, flags: str = "") -> list[str]:
    compiled = _consuming(pattern, flags, "fn:tokenize")
    if not text:
        return []
    tokens = []
    end = 0
    for (first, last), *_ in compiled.matches(text):
        tokens.append(text[end:first])
        end = last
    tokens.append(text[end:])
    return tokens


@function("fn:analyze-string", "xs:string?, xs:string", "element()")
@function("fn:analyze-string", "xs:string?, xs:string, xs:string", "element()")
def analyze_string(text: str | None, pattern: str, flags: str = "") -> Node:
    """The matches, what is between them, and the groups inside, as an element."""
    compiled = _consuming(pattern, flags, "fn:analyze-string")
    source = str(text or "")
    builder = TreeBuilder()
    builder.start(FN, "analyze-string-result", "fn")
    builder.namespace("fn", FN)
    end = 0
    for spans in compiled.matches(source):
        _plain(builder, source[end : spans[0][0]])
        builder.start(FN, "match", "fn")
        _groups(builder, source, spans, compiled.parents, 0)
        builder.end()
        end = spans[0][1]
    _plain(builder, source[end:])
    builder.end()
    return builder.finish().root


def _plain(builder: TreeBuilder, text: str) -> None:
    if text:
        builder.start(FN, "non-match", "fn")
        builder.text(text)
        builder.end()


def _groups(builder: TreeBuilder, source: str, spans: Spans, parents: tuple[int, ...], outer: int) -> None:
    """The text of a group with its inner groups marked."""
    at, end = spans[outer]
    for number in range(outer + 1, len(parents)):
        first, last = spans[number]
        # A group left over from an earlier repetition of its parent lies before it.
        if parents[number] != outer or first < at or last > end:
            continue
        builder.text(source[at:first])
        builder.start(FN, "group", "fn")
        builder.attribute("", "nr", str(number))
        _groups(builder, source, spans, parents, number)
        builder.end()
        at = last
    builder.text(source[at:end])
