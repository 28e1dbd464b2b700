"""The grammar of XQuery 3.1 and XCQL for editors that read TextMate's: VS Code, Sublime Text, Zed, GitHub.

``python -m xstreamcast.highlight.textmate`` prints it as it is kept in ``editors/``.
"""

from __future__ import annotations

import json
from typing import Any, Final

from xstreamcast.highlight import patterns as p

SCOPE: Final = "source.xcql"
_EXPRESSION: Final = (
    "comment", "pragma", "string", "projection", "predicate", "braces", "element", "variable", "number", "declaration",
    "keyword", "operator", "type", "function", "symbol",
)  # fmt: skip
"""In the order in which they are tried."""


def _one(scope: str, pattern: str) -> dict[str, Any]:
    return {"name": f"{scope}.xcql", "match": pattern}


def _between(scope: str, begin: str, end: str, *inside: str, **more: Any) -> dict[str, Any]:
    return {"name": f"{scope}.xcql", "begin": begin, "end": end, "patterns": _included(*inside), **more}


def _included(*names: str) -> list[dict[str, Any]]:
    return [{"include": f"#{name}"} for name in names]


def grammar() -> dict[str, Any]:
    """The grammar, as the editors' JSON has it."""
    tag = {"1": {"name": "punctuation.definition.tag.xcql"}, "2": {"name": "entity.name.tag.xcql"}}
    element = {
        "name": "meta.tag.xcql",
        "begin": rf"(<)({p.QNAME})(?=\s+{p.QNAME}\s*=|\s*/?>)",
        "end": rf"(/>)|(</)({p.QNAME})\s*(>)",
        "beginCaptures": tag,
        "endCaptures": {
            "1": {"name": "punctuation.definition.tag.xcql"},
            "2": {"name": "punctuation.definition.tag.xcql"},
            "3": {"name": "entity.name.tag.xcql"},
            "4": {"name": "punctuation.definition.tag.xcql"},
        },
        "patterns": [
            {"begin": r"(?<=>)(?<!/>)", "end": r"(?=</)", "patterns": _included("content")},
            *_included("attribute"),
            _one("punctuation.definition.tag", ">"),
        ],
    }
    strings = [
        _between("string.quoted.double", '"', '"', "reference"),
        _between("string.quoted.single", "'", "'", "reference"),
        _between("string.template", r"``\[", r"\]``", "interpolated"),
    ]
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "XCQL",
        "scopeName": SCOPE,
        "fileTypes": ["xq", "xqy", "xquery", "xqm", "xcql"],
        "patterns": _included("expression"),
        "repository": {
            "expression": {"patterns": _included(*_EXPRESSION)},
            "comment": _between("comment.block", r"\(:", r":\)", "comment"),
            "pragma": _between("meta.preprocessor", r"\(#", r"#\)"),
            "reference": _one("constant.character.entity", p.REFERENCE),
            "string": {"patterns": strings},
            "interpolated": _between("meta.interpolation", r"`\{", r"\}`", "expression"),
            "projection": _between("meta.projection", r"[?#]\s*\[", r"\]", "moment", "expression"),
            "moment": {
                "patterns": [
                    _one("constant.other.date", p.MOMENT),
                    _one("constant.other.duration", p.DURATION),
                    _one("constant.language", p.NOW),
                ]
            },
            "predicate": _between("meta.predicate", r"\[", r"\]", "expression"),
            "braces": _between("meta.braces", r"\{", r"\}", "expression"),
            "element": element,
            "attribute": {
                "patterns": [
                    _between("string.quoted.double", '"', '"', "escaped", "braces", "reference"),
                    _between("string.quoted.single", "'", "'", "escaped", "braces", "reference"),
                    _one("entity.other.attribute-name", p.QNAME),
                ]
            },
            "escaped": _one("constant.character.escape", r"\{\{|\}\}"),
            "content": {"patterns": _included("escaped", "braces", "reference", "xml-comment", "cdata", "element")},
            "xml-comment": _between("comment.block", "<!--", "-->"),
            "cdata": _between("string.unquoted.cdata", r"<!\[CDATA\[", r"\]\]>"),
            "variable": _one("variable.other", p.VARIABLE),
            "number": _one("constant.numeric", p.NUMBER),
            "declaration": {
                "begin": rf"\b(declare|import)(?=\s+(?:%|{p.DECLARED}))",
                "end": rf"(?!\s|%|{p.DECLARED})",
                "beginCaptures": {"1": {"name": "keyword.other.xcql"}},
                "patterns": [
                    _one("storage.modifier", rf"%\s*{p.QNAME}"),
                    _one("keyword.other", p.DECLARED),
                ],
            },
            "keyword": {
                "patterns": [
                    _one("keyword.control", p.CONTROL),
                    _one("keyword.control", p.CLAUSE),
                    _one("keyword.other", p.CONSTRUCTOR),
                ]
            },
            "operator": {"patterns": [_one("keyword.operator.word", p.OPERATOR), _one("support.type.axis", p.AXIS)]},
            "type": {"patterns": [_one("support.type", p.TYPE), _one("support.type", r"\bxs:[A-Za-z]\w*")]},
            "function": {
                "patterns": [
                    _one("support.function", p.OWN_FUNCTION),
                    _one("entity.name.function", p.FUNCTION),
                    _one("entity.other.attribute-name", rf"@\s*{p.QNAME}"),
                ]
            },
            "symbol": _one("keyword.operator", p.SYMBOL),
        },
    }


def written() -> str:
    """The text of the grammar."""
    return json.dumps(grammar(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(written(), end="")
