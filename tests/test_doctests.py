"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import xstreamcast

MODULES = sorted(
    name
    for _, name, package in pkgutil.walk_packages(xstreamcast.__path__, "xstreamcast.")
    if not package and not name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_true(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0
