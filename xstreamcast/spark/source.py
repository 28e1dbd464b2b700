"""``spark.read.format("xstreamcast")``: what it gives depends on what is asked for.

* neither ``query`` nor ``columns``: the change rows of a fragment stream (``motion/stream_source.py``)
* ``query``: the items of a query over each file, as rows
* ``record`` and ``columns``: the elements of a path as rows of typed columns

Files, folders and patterns are documents; one huge document is read by many tasks, each a range of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from xstreamcast.spark.motion.stream_source import FragmentSource
from xstreamcast.spark.worker import keep_loaded

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from xstreamcast.spark.rest.door import Key


class DocumentSource(FragmentSource):
    """Fragment streams, and documents that are asked for rows."""

    key: ClassVar[Key | None] = None
    """The door of the session that this source is registered with."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        keep_loaded()

    def schema(self) -> str:
        found = self._document_reader(None)
        return str(super().schema()) if found is None else str(found.schema)

    def reader(self, schema: StructType) -> Any:
        found = self._document_reader(schema)
        return super().reader(schema) if found is None else found

    def _document_reader(self, schema: StructType | None) -> Any:
        made = self._made_reader(schema)
        keep_loaded()
        return made

    def _made_reader(self, schema: StructType | None) -> Any:
        """Who reads documents as the options say; None if change rows are asked for, which takes none of the scan."""
        if "query" in self.options:
            from xstreamcast.spark.rest.document_reader import QueryReader

            return QueryReader(self.options, self.key)
        if "columns" in self.options or "record" in self.options:
            from xstreamcast.spark.rest.document_reader import ColumnReader

            return ColumnReader(self.options, self.key, schema)
        return None
