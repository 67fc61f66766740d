"""The binary description of a function's arguments and results that the stub reads: 64-bit words, then records.

First come the words of `Word`, then a record for each argument, those of constants (an address each: more buffers,
behind the arguments') and of presets (a place among the sizes and the address of the number that it gets), and one for
each result. `entry.py` writes them, and `stub.py` and its parts read them, in whose IR the names stand as `WORD_FORM`,
`ARGUMENT_ARRAY`, `RESULT_FRESH` and `MODE_FIXED`.
"""

from __future__ import annotations

from enum import IntEnum


class Word(IntEnum):
    """The words of the description; records follow.

    FORM is 0 for a tuple, 1 for the only result itself, else where a named tuple's type lies. STATE is 0 where nobody
    asks for the processor's flags, else where three words lie: the context variable that holds NumPy's error state
    (0: not known), one value of it, and the flags that matter under that value. STACK is how many bytes of stack the
    code needs, 0 where it is little. LOOKS is 0, or where words lie that tell what is looked at first (`looks.py`): one
    that becomes 1 where something has changed, the number of looks, and for each its address, the bits that matter and
    what they are to be. KEPT is where N_KEPT objects lie that are arguments behind those of the call.
    """

    N_ARGUMENTS = 0
    N_RESULTS = 1
    N_SIZES = 2
    ENTRY = 3
    SIZES_FUNCTION = 4
    NDARRAY = 5
    FLOAT = 6
    REFUSED = 7
    FORM = 8
    N_THREADS = 9
    FREES_GIL = 10
    N_CONSTANTS = 11
    N_PRESETS = 12
    STATE = 13
    STACK = 14
    LOOKS = 15
    N_KEPT = 16
    KEPT = 17


class Argument(IntEnum):
    """Kinds of arguments, and what the record holds after its kind.

    ARRAY: dtype object, rank, the type of NumPy scalars that will do, too (0: none), then (mode, value) for each axis.
    FLOAT64 and FLOAT32, a Python float that is passed as such a number: nothing. SCALAR, a NumPy scalar: its type.
    STATIC: exactly this object, which is not passed on.
    """

    ARRAY = 0
    FLOAT64 = 1
    FLOAT32 = 2
    SCALAR = 3
    STATIC = 4


class Result(IntEnum):
    """Kinds of results; all hold dtype object, rank, then (mode, value) for each axis.

    FRESH: an array that the stub makes; 256 times the bytes of an element are added to the kind. NUMBER: a NumPy
    scalar. FILLED: taken by the code (`memory.py`); its extents are sizes when the call ends.
    """

    FRESH = 0
    NUMBER = 1
    FILLED = 2


class Mode(IntEnum):
    """How the value beside it is to be read, for one axis of a result.

    FIXED: the extent. TOLD: the place among the sizes that an argument's extent goes to, or that has a result's.
    CHECKED: the place of the size, told by an axis before, that an argument's extent must be.
    """

    FIXED = 0
    TOLD = 1
    CHECKED = 2
