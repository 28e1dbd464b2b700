"""The lexer of XQuery 3.1 and XCQL for Pygments; ``pip install xstreamcast`` makes it known there as ``xcql``.

>>> from pygments.lexers import get_lexer_by_name
>>> [text for kind, text in get_lexer_by_name("xcql").get_tokens("$a/limit?[now-PT1H]") if kind is Literal.Date]
['PT1H']
"""

from __future__ import annotations

from typing import Any, ClassVar

from pygments.lexer import RegexLexer, default, include
from pygments.token import Comment, Keyword, Literal, Name, Number, Operator, Punctuation, String, Text, Whitespace

from xstreamcast.highlight import patterns as p


class XCQLLexer(RegexLexer):
    """XQuery 3.1 with XCQL's projections in time."""

    name = "XCQL"
    aliases: ClassVar = ["xcql"]
    filenames: ClassVar = ["*.xcql"]
    mimetypes: ClassVar = ["application/xquery"]
    url = "https://github.com/xstreamcast/xstreamcast"

    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [(r"\}", Punctuation), include("expression")],
        "space": [
            (r"\s+", Whitespace),
            (r"\(:", Comment.Multiline, "comment"),
        ],
        "comment": [
            (r"[^(:]+", Comment.Multiline),
            (r"\(:", Comment.Multiline, "#push"),
            (r":\)", Comment.Multiline, "#pop"),
            (r"[(:]", Comment.Multiline),
        ],
        "expression": [
            include("space"),
            (r"(?s)\(#.*?#\)", Comment.Preproc),
            (r"``\[", String.Backtick, "string-constructor"),
            (r'"(?:[^"]|"")*"', String.Double),
            (r"'(?:[^']|'')*'", String.Single),
            (r"\?\s*\[|#\s*\[", Punctuation, "projection"),
            (r"\[", Punctuation, "predicate"),
            (r"\{", Punctuation, "braces"),
            (r"<!--", Comment.Multiline, "xml-comment"),
            (r"(?s)<\?.*?\?>", Comment.Preproc),
            (p.TAG, Punctuation, ("content", "attributes", "tag")),
            (p.VARIABLE, Name.Variable),
            (rf"@\s*{p.QNAME}", Name.Attribute),
            (p.NUMBER, Number),
            (rf"(?:declare|import)(?=\s+(?:%|{p.DECLARED}))", Keyword.Declaration, "declaration"),
            (p.CONTROL, Keyword),
            (p.CLAUSE, Keyword),
            (p.OPERATOR, Operator.Word),
            (p.AXIS, Keyword.Pseudo),
            (p.CONSTRUCTOR, Keyword),
            (p.TYPE, Keyword.Type),
            (p.OWN_FUNCTION, Name.Builtin),
            (p.FUNCTION, Name.Function),
            (r"xs:[A-Za-z]\w*", Keyword.Type),
            (r"Q\{[^{}]*\}", Name.Namespace),
            (p.QNAME, Name),
            (p.SYMBOL, Operator),
            (r"[(),;\]:]", Punctuation),
        ],
        "declaration": [
            include("space"),
            (rf"%\s*{p.QNAME}", Name.Decorator),
            (p.DECLARED, Keyword.Declaration),
            default("#pop"),
        ],
        "predicate": [(r"\]", Punctuation, "#pop"), include("expression")],
        "braces": [(r"\}", Punctuation, "#pop"), include("expression")],
        "projection": [
            (r"\]", Punctuation, "#pop"),
            (p.MOMENT, Literal.Date),
            (p.DURATION, Literal.Date),
            (p.NOW, Keyword.Constant),
            include("expression"),
        ],
        "string-constructor": [
            (r"\]``", String.Backtick, "#pop"),
            (r"`\{", String.Interpol, "interpolated"),
            (r"[^`\]]+|[`\]]", String.Backtick),
        ],
        "interpolated": [(r"\}`", String.Interpol, "#pop"), include("braces")],
        "tag": [(p.QNAME, Name.Tag, "#pop")],
        "attributes": [
            (r"\s+", Whitespace),
            (r"/>", Punctuation, "#pop:2"),
            (r">", Punctuation, "#pop"),
            (p.QNAME, Name.Attribute),
            (r"=", Operator),
            (r'"', String.Double, "double"),
            (r"'", String.Single, "single"),
            default("#pop"),
        ],
        "end-tag": [(p.QNAME, Name.Tag), (r"\s+", Whitespace), (r">", Punctuation, "#pop:2"), default("#pop:2")],
        "double": [(r'"(?!")', String.Double, "#pop"), (r'""', String.Double), include("value"), (r"'", String.Double)],
        "single": [(r"'(?!')", String.Single, "#pop"), (r"''", String.Single), include("value"), (r'"', String.Single)],
        "value": [
            (r"\{\{|\}\}", String.Escape),
            (r"\{", Punctuation, "braces"),
            (p.REFERENCE, Name.Entity),
            (r"[^{}&'\"]+|[&}]", String),
        ],
        "content": [
            (r"</", Punctuation, "end-tag"),
            (r"<!--", Comment.Multiline, "xml-comment"),
            (r"(?s)<!\[CDATA\[.*?\]\]>", String.Other),
            (r"(?s)<\?.*?\?>", Comment.Preproc),
            (rf"<(?={p.QNAME})", Punctuation, ("content", "attributes", "tag")),
            (r"\{\{|\}\}", String.Escape),
            (r"\{", Punctuation, "braces"),
            (p.REFERENCE, Name.Entity),
            (r"[^<{}&]+|[<}&]", Text),
        ],
        "xml-comment": [(r"(?s).*?-->", Comment.Multiline, "#pop")],
    }
