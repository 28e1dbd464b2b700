"""A small kernel, for tests that run it in processes of their own."""

from __future__ import annotations

import sys

import numpy as np

from xstreamcast.native.kernel import I64, inner, kernel

STEP = 3


@inner
def _stepped(value: int) -> int:
    return value + STEP


@kernel
def total(values: I64) -> int:
    found = 0
    for k in range(values.shape[0]):
        found += _stepped(values[k])
    return found


if __name__ == "__main__":
    print(total(np.arange(4)), *sorted({"numba", "llvmlite"} & sys.modules.keys()))
