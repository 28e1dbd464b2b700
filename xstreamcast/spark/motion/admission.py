"""How much of a stream Spark asks for: its read limits, which Spark 4.1 does not have.

Spark 4.1 asks a Python source for the latest offset without saying from where, or how much: a reader remembers where it
was, and applies the limits of its options by itself. What is there when ``availableNow`` begins is one batch then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

__all__ = [
    "ReadAllAvailable",
    "ReadLimit",
    "ReadMaxBytes",
    "ReadMaxFiles",
    "ReadMaxRows",
    "ReadMinRows",
    "SupportsTriggerAvailableNow",
]

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxBytes,
        ReadMaxFiles,
        ReadMaxRows,
        ReadMinRows,
        SupportsTriggerAvailableNow,
    )
except ModuleNotFoundError:
    if not TYPE_CHECKING:

        class ReadLimit:
            """How much is read."""

        class ReadAllAvailable(ReadLimit):
            """All that is there."""

        @dataclass(frozen=True)
        class ReadMinRows(ReadLimit):
            """Nothing, as long as there are fewer rows."""

            min_rows: int
            max_trigger_delay_ms: int

        @dataclass(frozen=True)
        class ReadMaxRows(ReadLimit):
            """At most so many rows."""

            max_rows: int

        @dataclass(frozen=True)
        class ReadMaxFiles(ReadLimit):
            """From at most so many files."""

            max_files: int

        @dataclass(frozen=True)
        class ReadMaxBytes(ReadLimit):
            """At most so many bytes."""

            max_bytes: int

        class SupportsTriggerAvailableNow:
            """A reader that is told when ``availableNow`` begins."""
