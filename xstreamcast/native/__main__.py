"""``python -m xstreamcast.native`` compiles all kernels that are not compiled yet: for images, and before tests.

``python -m xstreamcast.native FOLDER`` puts their code into a folder as well: ``make wheel`` does so.
"""

import sys

from xstreamcast.native.ahead import compile_ahead, ship

if len(sys.argv) > 1:
    ship(sys.argv[1])
else:
    compile_ahead()
