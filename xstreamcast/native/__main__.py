"""``python -m xstreamcast.native`` compiles all kernels that are not compiled yet: for images, and before tests."""

from xstreamcast.native.ahead import compile_ahead

compile_ahead()
