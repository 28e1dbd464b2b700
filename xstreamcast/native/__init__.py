"""Python functions that run as machine code: kernels.

In come functions in a small part of Python, over integers and arrays of one type each (:mod:`.kernel`: how they are
declared and called). Numba compiles them, with the processor's instructions for the primitives of :mod:`.vector`
(:mod:`.build`, :mod:`.intrinsics`); the machine code (:mod:`.image`) is kept in a folder of the user's (:mod:`.store`).
Out come calls: later processes load the code without Numba (:mod:`.load`), which takes a millisecond and not half a
second. All kernels of the package are compiled ahead by :mod:`.ahead`.

A kernel allocates nothing and raises nothing, so its code needs nothing of Numba or Python to run. Two settings of
Numba's are kept: ``NUMBA_DISABLE_JIT=1`` runs the functions as they stand, ``NUMBA_BOUNDSCHECK=1`` checks each index.
"""
