"""The tables of a lakehouse that there are jars for: ``make compat`` says which."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

JARS = os.environ.get("XCAST_LAKE_JARS", "")
LAKE = os.environ.get("XCAST_LAKE", "")
"""``delta``, ``iceberg`` or nothing."""
TABLE = "lake.bank.accounts" if LAKE == "iceberg" else "accounts"

EXTENSIONS = {
    "delta": "io.delta.sql.DeltaSparkSessionExtension",
    "iceberg": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
}


def lake_settings(folder: Path) -> dict[str, Any]:
    """What a session needs to have tables of a lakehouse."""
    if not LAKE:
        return {}
    made = {"spark.jars": JARS, "spark.sql.extensions": EXTENSIONS[LAKE]}
    if LAKE == "delta":
        return {**made, "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"}
    catalog = "spark.sql.catalog.lake"
    return {
        **made,
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.warehouse": str(folder / "lake"),
    }
