"""Names."""

from __future__ import annotations

from xstreamcast.lang.ast.node import Node, node


@node
class Name(Node):
    """A QName: prefix None for ``Q{uri}local``; uri None until resolved, "" for no namespace."""

    prefix: str | None
    local: str
    uri: str | None = None

    @property
    def expanded(self) -> tuple[str, str]:
        """(uri, local): what two names are compared by."""
        return self.uri or "", self.local

    @property
    def lexical(self) -> str:
        """As a user would write it."""
        if self.prefix is None:
            return f"Q{{{self.uri}}}{self.local}"
        return f"{self.prefix}:{self.local}" if self.prefix else self.local
