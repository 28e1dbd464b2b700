"""Tables that are given as values: the sequence of their rows, each a map."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any


def rows_of(value: Any) -> Iterable[Any] | None:
    """The rows of a table, or the values of an Arrow array, as Python has them: a DataFrame of pandas', or whatever
    Arrow takes for a table (PyCapsule interface: polars, DuckDB …), or one of Spark's. What is missing is None. None:
    it is neither."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(value, pandas.DataFrame):
        rows: list[dict[Any, Any]] = value.astype(object).where(~value.isna(), None).to_dict("records")
        return rows
    home = type(value).__module__
    if home.startswith("xstreamcast."):
        return None  # an answer is its items
    if home.startswith("pyspark") and hasattr(value, "toArrow"):
        value = value.toArrow()
    elif hasattr(value, "__arrow_c_stream__") and (hasattr(value, "columns") or home.startswith("pyarrow")):
        import pyarrow

        if not isinstance(value, pyarrow.ChunkedArray):
            value = pyarrow.table(value)
    if type(value).__module__.startswith("pyarrow") and hasattr(value, "to_pylist"):
        plain: list[Any] = value.to_pylist()
        return plain
    return None
