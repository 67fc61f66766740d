"""Which array elements each called function (BLAS, LAPACK, our tiles) reads or writes; `accesses.py` checks these.

A reach is a box: from the address that is passed, for each axis `count` places `step` elements apart. What a function
does with a box of which one axis has no place is nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from ..llvm import multiply
from ..llvm.lane_transforms import Lines, form_of
from ..llvm.microtiles import tile_of
from ..llvm.reflections import room_for
from ..llvm.vectors import most_lanes
from .loops import COMPLEX, WIDTHS, Address, Argument, Call, Typed

Number = str | int  # an i64 as LLVM writes it


class Axis(NamedTuple):
    """`count` places, `step` elements from one to the next."""

    count: Number
    step: Number


class Reach(NamedTuple):
    """The box of elements that a called function accesses from an address on."""

    address: Address
    axes: tuple[Axis, ...]


class Arithmetic(Protocol):
    """Emits the arithmetic of extents in front of a call."""

    def number(self, argument: Typed) -> Number:
        """An argument as an i64."""
        ...

    def compute(self, op: str, x: Number, y: Number) -> Number:
        """`add`, `sub`, `mul`, `sdiv` or `smin` of two numbers."""
        ...


class _Given:
    """The arguments of a call, by position."""

    def __init__(self, arguments: Sequence[Argument], arithmetic: Arithmetic) -> None:
        self.arguments = arguments
        self.compute = arithmetic.compute
        self._number = arithmetic.number

    def __getitem__(self, place: int) -> Number:
        found = self.arguments[place]
        assert isinstance(found, Typed)
        return self._number(found)

    def is_letter(self, place: int, letter: str) -> bool:
        found = self.arguments[place]
        assert isinstance(found, Typed)
        return found.value == ord(letter)

    def reach(self, place: int, *axes: tuple[Number, Number]) -> Reach:
        found = self.arguments[place]
        assert isinstance(found, Address)
        return Reach(found, (*[Axis(*axis) for axis in axes],))


def reaches(call: Call, arithmetic: Arithmetic) -> list[Reach]:
    """The boxes of a call, one for each address that it passes.

    Raises:
        LookupError: the function gets addresses, and nothing here says what it does with them.
    """
    if not any(isinstance(a, Address) for a in call.args):
        return []
    family, _, rest = call.name.partition(".")
    if family == "kernel":  # NumPy's arrays over the memory are as large as what was made for them
        return []
    given = _Given(call.args, arithmetic)
    if family == "tile":
        return _tile(call.name, given)
    if family == "turned":
        return [
            given.reach(0, (given[2], given[4]), (given[3], 1)),
            given.reach(1, (given[3], given[5]), (given[2], 1)),
        ]
    if family == "lines":
        return _lines_in_lanes(call.name, given)
    # behind a letter for the type, or before its name
    name = rest.partition(".")[0] if family in ("product", "numpy", "fourier", "rotations", "reflections") else rest[1:]
    rule = _RULES.get(f"{family}.{name}")
    if rule is None:
        raise LookupError(f"nothing says which elements {call.name} reaches: add it to reaches.py")
    return rule(given, rest.rpartition(".")[2])


def _tile(name: str, given: _Given) -> list[Reach]:
    tile = tile_of(name)
    assert tile is not None
    levels = [6 + 3 * depth for depth in range(tile.levels)]
    columns = (tile.columns, 1)
    return [
        given.reach(
            0,
            (tile.down, tile.down_step),
            (tile.along, tile.along_step),
            *((given[i], given[i + 1]) for i in levels),
            *([columns] if tile.is_by_lane else []),
        ),
        given.reach(1, columns, *((given[i], given[i + 2]) for i in levels)),
        given.reach(2, columns, (tile.down, given[4]), (tile.along, given[5])),
    ]


def _lines_in_lanes(name: str, given: _Given) -> list[Reach]:
    form = form_of(name)
    assert form is not None
    if form.place == "halves":
        n = given[3]
        return [_numbers(given, 0, (n, 1)), _numbers(given, 1, (n, 1)), given.reach(2, (2, n), (n, 1))]
    n, (in_line, in_step, out_line, out_step) = given[5], (given[i] for i in range(6, 10))
    if form.real:
        return _real_lines_in_lanes(form, given)
    room = given.compute("mul", n, 2 * form.lanes)
    rooms = [given.reach(2, (room, 1)), given.reach(3, (room, 1)), given.reach(4, (n, 1))]
    if form.place == "columns":
        apart = (n, out_step), (2, out_line), (form.lanes, 1)
        found = [given.reach(1, *apart), given.reach(10, *apart)]
    else:
        found = [_numbers(given, 1, (form.lanes, out_line), (n, out_step))]
    if form.place == "rows":
        return [given.reach(0, (form.lanes, in_line), (2, in_step), (n, 1)), *found, *rooms]
    return [_numbers(given, 0, (form.lanes, in_line), (n, in_step)), *found, *rooms]


def _real_lines_in_lanes(form: Lines, given: _Given) -> list[Reach]:
    n, is_even, is_apart = given[5], form.real == "even", form.place == "apart"
    wide = given.compute("add", n, 1)
    room = given.compute("mul", wide, 2 * form.lanes)
    rooms = [given.reach(2, (room, 1)), given.reach(3, (room, 1)), given.reach(4, (n, 1))]
    if is_even:
        rooms.append(given.reach(10, (2, n), (n, 1)))
    halved = wide if is_even else given.compute("add", given.compute("sdiv", n, 2), 1)
    real = given.compute("mul", n, 2) if is_even else n
    found: list[Reach] = []
    for place in (0, 1):
        line, step = given[6 + 2 * place], given[7 + 2 * place]
        if (place == 0) == form.is_inverse:
            found.append(_numbers(given, place, (form.lanes, line), (halved, step)))
        else:  # lines that lie apart are counted in pairs
            between = given.compute("mul", line, 2) if is_even and is_apart else line
            found.append(given.reach(place, (form.lanes, between), (real, step)))
    return found + rooms


def _numbers(given: _Given, place: int, *axes: tuple[Number, Number]) -> Reach:
    """Complex numbers, in an array of them or of their parts."""
    found = given.arguments[place]
    assert isinstance(found, Address)
    if found.array.type in COMPLEX:
        return given.reach(place, *axes)
    return given.reach(place, (2, 1), *((count, given.compute("mul", step, 2)) for count, step in axes))


# -- our own products of matrices -------------------------------------------------------------------------------------


def _panels(given: _Given, columns: Number, width: int) -> Number:
    return given.compute("sdiv", given.compute("add", columns, width - 1), width)


def _rows(given: _Given, type_: str) -> list[Reach]:
    m, n, k, width = given[0], given[1], given[2], multiply.panel_width(type_)
    between = given.compute("sub", given[8], width)  # what a panel's first column is away from the one before it
    return [
        given.reach(3, (m, given[4]), (k, given[5])),
        given.reach(6, (k, given[7]), (n, 1), (_panels(given, n, width), between)),
        given.reach(9, (m, given[10]), (n, 1)),
    ]


def _pairs(given: _Given, type_: str) -> list[Reach]:
    m, n, k = given[0], given[1], given[2]
    return [
        given.reach(3, (m, given[4]), (k, given[5])), given.reach(6, (k, given[7]), (n, 1)),
        given.reach(8, (m, given[9]), (n, 1)),
    ]  # fmt: skip


def _pack(given: _Given, type_: str) -> list[Reach]:
    k, n, width = given[0], given[1], multiply.panel_width(type_)
    rows = given.compute("add", given.compute("mul", _panels(given, n, width), k), most_lanes(type_))
    return [
        given.reach(2, (k, given[3]), (n, given[4])),
        given.reach(5, (rows, width), (width, 1)),
    ]


def _row(given: _Given, type_: str) -> list[Reach]:
    n, k = given[0], given[1]
    return [given.reach(2, (k, given[3])), given.reach(4, (k, given[5]), (n, 1)), given.reach(6, (n, 1))]


def _dots(given: _Given, type_: str) -> list[Reach]:
    m, k = given[0], given[1]
    return [given.reach(2, (m, given[3]), (k, 1)), given.reach(4, (k, 1)), given.reach(5, (m, given[6]))]


# -- BLAS and LAPACK, which see matrices by columns -------------------------------------------------------------------


def _gemm(given: _Given, type_: str) -> list[Reach]:
    m, n, k = given[2], given[3], given[4]
    left = (k, m) if given.is_letter(0, "T") else (m, k)
    right = (n, k) if given.is_letter(1, "T") else (k, n)
    return [
        given.reach(6, (left[0], 1), (left[1], given[7])),
        given.reach(8, (right[0], 1), (right[1], given[9])),
        given.reach(11, (m, 1), (n, given[12])),
    ]


def _trsm(given: _Given, type_: str) -> list[Reach]:
    m, n = given[4], given[5]
    order = m if given.is_letter(0, "L") else n
    return [given.reach(7, (order, 1), (order, given[8])), given.reach(9, (m, 1), (n, given[10]))]


def _trsv(given: _Given, type_: str) -> list[Reach]:
    n = given[3]
    return [given.reach(4, (n, 1), (n, given[5])), given.reach(6, (n, given[7]))]


def _potrf(given: _Given, type_: str) -> list[Reach]:
    n = given[1]
    return [given.reach(2, (n, 1), (n, given[3])), given.reach(4, (1, 1))]


def _getrf(given: _Given, type_: str) -> list[Reach]:
    m, n = given[0], given[1]
    pivots = given.compute("smin", m, n)
    return [given.reach(2, (m, 1), (n, given[3])), given.reach(4, (pivots, 1)), given.reach(5, (1, 1))]


def _syevd(given: _Given, type_: str) -> list[Reach]:
    n = given[2]
    return [
        given.reach(3, (n, 1), (n, given[4])), given.reach(5, (n, 1)), given.reach(6, (given[7], 1)),
        given.reach(8, (given[9], 1)), given.reach(10, (1, 1)),
    ]  # fmt: skip


def _heevd(given: _Given, type_: str) -> list[Reach]:
    n = given[2]
    return [
        given.reach(3, (n, 1), (n, given[4])), given.reach(5, (n, 1)), given.reach(6, (given[7], 1)),
        given.reach(8, (given[9], 1)), given.reach(10, (given[11], 1)), given.reach(12, (1, 1)),
    ]  # fmt: skip


def _sytrd(given: _Given, type_: str) -> list[Reach]:
    n = given[1]
    return [
        given.reach(2, (n, 1), (n, given[3])), *[given.reach(k, (n, 1)) for k in (4, 5, 6)],
        given.reach(7, (given[8], 1)), given.reach(9, (1, 1)),
    ]  # fmt: skip


def _ormtr(given: _Given, type_: str) -> list[Reach]:
    """With reflections of as many rows as the matrix that they turn has, on its left."""
    m, n = given[3], given[4]
    return [
        given.reach(5, (m, 1), (m, given[6])), given.reach(7, (m, 1)), given.reach(8, (m, 1), (n, given[9])),
        given.reach(10, (given[11], 1)), given.reach(12, (1, 1)),
    ]  # fmt: skip


def _stedc(given: _Given, type_: str) -> list[Reach]:
    n = given[1]
    return [
        given.reach(2, (n, 1)), given.reach(3, (n, 1)), given.reach(4, (n, 1), (n, given[5])),
        given.reach(6, (given[7], 1)), given.reach(8, (given[9], 1)), given.reach(10, (1, 1)),
    ]  # fmt: skip


def _laed1(given: _Given, type_: str) -> list[Reach]:
    n = given[0]
    work = given.compute("add", given.compute("mul", n, n), given.compute("mul", n, 4))
    return [
        given.reach(1, (n, 1)), given.reach(2, (n, 1), (n, given[3])), given.reach(4, (n, 1)), given.reach(5, (1, 1)),
        given.reach(7, (work, 1)), given.reach(8, (given.compute("mul", n, 4), 1)), given.reach(9, (1, 1)),
    ]  # fmt: skip


def _tridiagonal(given: _Given, type_: str) -> list[Reach]:
    """The largest part has at most as many rows as a row of its vectors has numbers."""
    n, width = given[7], given[9]
    return [
        given.reach(0, (given.compute("add", given[8], 1), 1)), given.reach(1, (n, 1)), given.reach(2, (n, 1)),
        given.reach(3, (n, n), (n, 1)), given.reach(4, (n, 1)), given.reach(5, (width, 1)),
        given.reach(6, (given.compute("mul", n, 2), 1)),
    ]  # fmt: skip


def _gebrd(given: _Given, type_: str) -> list[Reach]:
    m, n = given[0], given[1]
    k = given.compute("smin", m, n)
    return [
        given.reach(2, (m, 1), (n, given[3])), *[given.reach(place, (k, 1)) for place in (4, 5, 6, 7)],
        given.reach(8, (given[9], 1)), given.reach(10, (1, 1)),
    ]  # fmt: skip


def _ormbr(given: _Given, type_: str) -> list[Reach]:
    """With as many reflections as the matrix has columns of its own, and not more than the one that they turn."""
    m, n, k = given[3], given[4], given[5]
    rows = m if given.is_letter(0, "Q") else k
    return [
        given.reach(6, (rows, 1), (k, given[7])), given.reach(8, (k, 1)), given.reach(9, (m, 1), (n, given[10])),
        given.reach(11, (given[12], 1)), given.reach(13, (1, 1)),
    ]  # fmt: skip


def _bdsdc(given: _Given, type_: str) -> list[Reach]:
    """All vectors, beside no others."""
    n = given[2]
    room = given.compute("add", given.compute("mul", given.compute("mul", n, n), 3), given.compute("mul", n, 4))
    return [
        given.reach(3, (n, 1)), given.reach(4, (n, 1)), given.reach(5, (n, 1), (n, given[6])),
        given.reach(7, (n, 1), (n, given[8])), given.reach(11, (room, 1)),
        given.reach(12, (given.compute("mul", n, 8), 1)), given.reach(13, (1, 1)),
    ]  # fmt: skip


def _lasd1(given: _Given, type_: str) -> list[Reach]:
    n = given.compute("add", given.compute("add", given[0], given[1]), 1)
    columns = given.compute("add", n, given[2])
    room = given.compute("mul", given.compute("add", given.compute("mul", columns, 3), 2), columns)
    return [
        given.reach(3, (n, 1)), given.reach(4, (1, 1)), given.reach(5, (1, 1)), given.reach(6, (n, 1), (n, given[7])),
        given.reach(8, (columns, 1), (columns, given[9])), given.reach(10, (n, 1)),
        given.reach(11, (given.compute("mul", n, 4), 1)), given.reach(12, (room, 1)), given.reach(13, (1, 1)),
    ]  # fmt: skip


def _bidiagonal(given: _Given, type_: str) -> list[Reach]:
    """The largest part has at most as many columns as a row of its vectors has numbers."""
    n, width = given[8], given[10]
    return [
        given.reach(0, (given.compute("add", given[9], 1), 1)), given.reach(1, (n, 1)), given.reach(2, (n, 1)),
        given.reach(3, (n, n), (n, 1)), given.reach(4, (n, n), (n, 1)), given.reach(5, (n, 1)),
        given.reach(6, (width, 1)), given.reach(7, (given.compute("mul", n, 2), 1)),
    ]  # fmt: skip


def _reflected(given: _Given, type_: str, of_rows: bool) -> list[Reach]:
    """A matrix and its step, then what has one number for each column, then room."""
    extents = given.arguments[: 1 + of_rows]
    m, n = given[0], given[len(extents) - 1]
    last = len(given.arguments) - 1
    sizes = [x.value for x in extents if isinstance(x, Typed) and type(x.value) is int]
    return [
        given.reach(len(extents), (m, 1), (n, given[len(extents) + 1])),
        *[given.reach(place, (n, 1)) for place in range(len(extents) + 2, last)],
        given.reach(last, (room_for(type_, sizes[0], sizes[-1]), 1)),
    ]  # fmt: skip


def _gesdd(given: _Given, type_: str) -> list[Reach]:
    """Room for real numbers behind that for complex ones."""
    m, n = given[1], given[2]
    k, last = given.compute("smin", m, n), len(given.arguments) - 2
    return [
        given.reach(3, (m, 1), (n, given[4])), given.reach(5, (k, 1)), given.reach(6, (m, 1), (k, given[7])),
        given.reach(8, (k, 1), (n, given[9])), given.reach(10, (given[11], 1)),
        given.reach(last, (given.compute("mul", k, 8), 1)), given.reach(last + 1, (1, 1)),
    ]  # fmt: skip


def _geev(given: _Given, type_: str) -> list[Reach]:
    """Real and imaginary parts of values behind the matrix, or the values, and room last."""
    n = given[2]
    is_real = isinstance(given.arguments[7], Address)
    beside = given.reach(6, (n, 1)) if is_real else given.reach(12, (given.compute("mul", n, 2), 1))
    last = 7 if is_real else 6  # of vectors from the left, which are not asked for
    return [
        given.reach(3, (n, 1), (n, given[4])), given.reach(5, (n, 1)), beside, given.reach(last, (1, 1)),
        given.reach(last + 2, (n, 1), (n, given[last + 3])), given.reach(last + 4, (given[last + 5], 1)),
        given.reach(13, (1, 1)),
    ]  # fmt: skip


def _gees(given: _Given, type_: str) -> list[Reach]:
    """Imaginary parts of values behind real ones, or room behind what is for complex ones."""
    n, first = given[3], 9 if isinstance(given.arguments[9], Address) else 8
    return [
        given.reach(2, (1, 1)), given.reach(4, (n, 1), (n, given[5])), given.reach(6, (1, 1)), given.reach(7, (n, 1)),
        given.reach(8 if first == 9 else 12, (n, 1)), given.reach(first, (n, 1), (n, given[first + 1])),
        given.reach(first + 2, (given[first + 3], 1)), given.reach(13, (n, 1)), given.reach(14, (1, 1)),
    ]  # fmt: skip


def _geqrf(given: _Given, type_: str) -> list[Reach]:
    m, n = given[0], given[1]
    return [
        given.reach(2, (m, 1), (n, given[3])), given.reach(4, (given.compute("smin", m, n), 1)),
        given.reach(5, (given[6], 1)), given.reach(7, (1, 1)),
    ]  # fmt: skip


def _orgqr(given: _Given, type_: str) -> list[Reach]:
    m, n = given[0], given[1]
    return [
        given.reach(3, (m, 1), (n, given[4])), given.reach(5, (given[2], 1)), given.reach(6, (given[7], 1)),
        given.reach(8, (1, 1)),
    ]  # fmt: skip


def _keys(given: _Given, type_: str) -> list[Reach]:
    return [given.reach(0, (given[1], 1))]


def _keys_and_places(given: _Given, type_: str) -> list[Reach]:
    return [given.reach(0, (given[2], 1)), given.reach(1, (given[2], 1))]


# -- NumPy's transforms, whose steps are in bytes ---------------------------------------------------------------------


def _lines(given: _Given, type_: str, is_real_in: bool = False, is_real_out: bool = False) -> list[Reach]:
    found: list[Reach] = []
    for place, is_real in enumerate((is_real_in, is_real_out)):
        width = WIDTHS[type_] // 2 if is_real else WIDTHS[type_]
        line, step = (given.compute("sdiv", given[k + place], width) for k in (5, 7))
        found.append(given.reach(place, (given[2], line), (given[3 + place], step)))
    return found


_RULES: dict[str, Callable[[_Given, str], list[Reach]]] = {
    "product.rows": _rows, "product.pairs": _pairs, "product.pack": _pack, "product.row": _row, "product.dots": _dots,
    "numpy.sort": _keys, "numpy.argsort": _keys_and_places,
    "fourier.fft": _lines, "fourier.ifft": _lines, "fourier.irfft": partial(_lines, is_real_out=True),
    "fourier.rfft_n_even": partial(_lines, is_real_in=True), "fourier.rfft_n_odd": partial(_lines, is_real_in=True),
    "blas.gemm": _gemm, "blas.trsm": _trsm, "blas.trsv": _trsv, "lapack.potrf": _potrf, "lapack.getrf": _getrf,
    "lapack.syevd": _syevd, "lapack.gesdd": _gesdd, "lapack.geqrf": _geqrf, "lapack.orgqr": _orgqr,
    "lapack.ungqr": _orgqr, "lapack.heevd": _heevd,
    "lapack.sytrd": _sytrd, "lapack.hetrd": _sytrd, "lapack.ormtr": _ormtr, "lapack.unmtr": _ormtr,
    "lapack.stedc": _stedc, "lapack.laed1": _laed1, "rotations.tridiagonal": _tridiagonal,
    "lapack.gebrd": _gebrd, "lapack.ormbr": _ormbr, "lapack.unmbr": _ormbr, "lapack.bdsdc": _bdsdc,
    "lapack.lasd1": _lasd1, "rotations.bidiagonal": _bidiagonal,
    "reflections.bidiagonal": partial(_reflected, of_rows=True),
    "reflections.tridiagonal": partial(_reflected, of_rows=False),
    "lapack.geev": _geev, "lapack.gees": _gees,
}  # fmt: skip
