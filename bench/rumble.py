"""RumbleDB at the queries of :mod:`bench.spark_rest`: a script for a Python that has PyPI's ``jsoniq``, and this only.

``rumble.py MASTER DOCUMENT``: a line of JSON with its version, then one for each query: name, wall seconds, the answer.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.metadata import version
from typing import Any

QUERIES = {
    "XMark 1": 'for $b in doc("{0}")/site/people/person[@id = "person0"] return string($b/name)',
    "XMark 5": 'count(for $i in doc("{0}")/site/closed_auctions/closed_auction where $i/price/text() >= 40 return $i)',
    "items": 'count(for $i in doc("{0}")/site/regions/*/item return string-join(($i/@id, $i/location, $i/quantity)))',
}


def main(master: str, document: str) -> None:
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from jsoniq import RumbleSession  # which is in an environment of its own

    builder: Any = RumbleSession.builder.master(master)
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "4g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    print(json.dumps([version("jsoniq")]), flush=True)
    for name, text in QUERIES.items():
        began = time.perf_counter()
        answer = session.jsoniq('xquery version "3.1"; ' + text.format(document)).items()
        texts = [item.serialize() for item in answer]
        print(json.dumps([name, time.perf_counter() - began, texts]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
