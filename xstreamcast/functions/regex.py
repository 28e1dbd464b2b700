"""Functions with regular expressions (F&O 3.1 §5.6)."""

from __future__ import annotations

import re

from xstreamcast.errors import error
from xstreamcast.functions.regex_syntax import Compiled, compile_regex
from xstreamcast.functions.registry import function
from xstreamcast.functions.string import collapse_whitespace
from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.namespaces import FN
from xstreamcast.model.tree import Node


def _consuming(pattern: str, flags: str, asker: str) -> Compiled:
    """An expression that matches no empty string; FORX0003."""
    compiled = compile_regex(str(pattern), str(flags))
    if compiled.matches_empty:
        raise error("FORX0003", f"{asker}: the regular expression {pattern!r} matches the empty string")
    return compiled


@function("fn:matches", "xs:string?, xs:string", "xs:boolean")
@function("fn:matches", "xs:string?, xs:string, xs:string", "xs:boolean")
def matches(text: str | None, pattern: str, flags: str = "") -> bool:
    return compile_regex(str(pattern), str(flags)).pattern.search(text or "") is not None


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
    if compiled.literal:
        return compiled.pattern.sub(lambda _: str(replacement), text or "")
    parts = _replacement(replacement, len(compiled.parents) - 1)

    def expand(match: re.Match[str]) -> str:
        return "".join(part if isinstance(part, str) else match[part] or "" for part in parts)

    return compiled.pattern.sub(expand, text or "")


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
    for match in compiled.pattern.finditer(text):
        tokens.append(text[end : match.start()])
        end = match.end()
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
    for match in compiled.pattern.finditer(source):
        _plain(builder, source[end : match.start()])
        builder.start(FN, "match", "fn")
        _groups(builder, match, compiled.parents, 0)
        builder.end()
        end = match.end()
    _plain(builder, source[end:])
    builder.end()
    return builder.finish().root


def _plain(builder: TreeBuilder, text: str) -> None:
    if text:
        builder.start(FN, "non-match", "fn")
        builder.text(text)
        builder.end()


def _groups(builder: TreeBuilder, match: re.Match[str], parents: tuple[int, ...], outer: int) -> None:
    """The text of a group with its inner groups marked."""
    at, end = match.span(outer)
    for number in range(outer + 1, len(parents)):
        first, last = match.span(number)
        # A group left over from an earlier repetition of its parent lies before it.
        if parents[number] != outer or first < at or last > end:
            continue
        builder.text(match.string[at:first])
        builder.start(FN, "group", "fn")
        builder.attribute("", "nr", str(number))
        _groups(builder, match, parents, number)
        builder.end()
        at = last
    builder.text(match.string[at:end])
