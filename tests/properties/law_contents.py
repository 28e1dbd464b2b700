"""What contents have besides elements, attributes and plain texts: pieces for :mod:`law_streams` to strew in.

Carriage returns are left to :mod:`law_changes`: Saxon's parse-xml-fragment takes them for line feeds before a comment.
"""

from __future__ import annotations

from random import Random

PIECES = (
    "<!--d-->", "<!---->", "<!-- <k>2</k> -->", "<?p i?>", "<?q?>", "<?p <k/> ?>", "z", " ", "\n  ", "\t",
    "<![CDATA[<v>3</v>]]>", "<![CDATA[]]>", "&lt;k&gt;", "&#x32;", "é", "&amp;", "]]&gt;",
)  # fmt: skip
"""Comments, instructions and texts as they may stand between children and around holes."""
ELEMENTS = (
    '<p:u xmlns:p="urn:p">4</p:u>', '<u xmlns="urn:d"><k>2</k></u>', '<p:u xmlns:p="urn:q"><?p i?></p:u>', "<u/>",
    '<p:k xmlns:p="urn:p" p:n="2" n="1"><v>3</v></p:k>', '<u xmlns:p="urn:p"><k xmlns="">1</k><p:v>2</p:v></u>',
)  # fmt: skip
"""Elements that no structure declares, most of them in namespaces."""
NUMBERS = ("<![CDATA[2]]>", "1<![CDATA[]]>2", "&#50;", "<!--c-->2", "2<?p i?>", " 2 ", "\n1", "1<!--c-->0")
TEXTS = (*NUMBERS, "<?p i?>", "<!---->", "&lt;&amp;&gt;", "x\ty")
"""Texts of leaves."""
VALUES = (" 2", "1 ", "&#9;2", "a  b", "\n3\t", "&lt;&quot;", "'", "2&#x20;", "", "é")
"""Values of attributes."""
ATTRIBUTES = (' xml:space="preserve"', ' xml:lang="en"', ' p:n="2" xmlns:p="urn:p"', ' xmlns:p="urn:p"', " o='\"'")
"""Attributes that nobody asks for by name, or not often."""


def piece(r: Random, declared: bool) -> str:
    """Something between children; an element only where no structure forbids it."""
    return r.choice(PIECES) if declared or r.random() < 0.7 else r.choice(ELEMENTS)


def attributes(r: Random, usual: str) -> str:
    """The attributes of an element, more oddly than usual."""
    if usual and r.random() < 0.5:
        usual = f' n="{r.choice(VALUES)}"'
    return usual + (r.choice(ATTRIBUTES) if r.random() < 0.3 else "")
