"""Fourier transforms of as many lines at once as a vector has lanes, as functions in vector code.

`lines.fft_8_apart.c128(in, out, one, two, roots, n, in line, in step, out line, out step)` transforms 8 lines of n
numbers; steps, between lines and between the numbers of a line, are in numbers. "apart" are lines whose own numbers lie
side by side, in "beside" those of all lines do. `ifft` has the opposite sign; nothing is scaled. `one` and `two` are
room for 2 x n x 8 real numbers each, `roots` are e^(-2 pi i k / n) for each k below n; out may be in.

`rfft` transforms lines of real numbers, `irfft` goes back. At "even" a line has 2 n numbers, each two of which are
taken as a complex one: what `turns`, a last argument, makes of their transform and its mirror image is that of the real
ones. At "odd" a line has n numbers, and those of its mirror image are not stored. Rooms are for n + 1 numbers then.

"columns" and "rows" are the halves of the transform of one long line, which is a matrix (`lower/split_fourier.py`):
its columns are transformed, turned by `turns`, a last argument, and stored with real and imaginary parts apart, from
where the rows go on. There steps count real numbers, from row to row and from the real parts to the imaginary ones.
`lines.fft_8_halves.c128(in, out, turns, n)` makes of the transform of n complex numbers, which are 2 n real ones, that
of the real ones, but for its first and its last number; `ifft` goes back.

"passes" are what all of these have in the middle, a function that they call: `lines.fft_8_passes.c128(one, two, roots,
n)` transforms the lines in room `one`, and gives the room that has the results. It is most of the code, and compiled
once for all of them, and once more for an odd number of real ones: behind the first pass, by a factor p, half of the
numbers of each p are mirror images of the other half, and left out until the end.

Real and imaginary parts are vectors of their own meanwhile. A line goes from one room to the other once for each factor
of its length (Stockham's order, which needs no reversal of bits), of which there are 2, 3, 4 and 5, and with "any" at
the end of the name 7, 11, 13, which take four times as long to compile, and, by loops, other primes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from .jit import written
from .symbols import Family, Table
from .vector_text import Numbers, Pair, Text

FACTORS = (4, 2, 3, 5, 7, 11, 13)
FEW = 5  # up to which factors are common
LARGEST = 127  # up to which others are factors: of larger ones lines take less time by longer lines
_ZERO = "zeroinitializer"
_TOGETHER = 4  # numbers of a transform of such a factor that are summed up at once
_NAME = re.compile(r"(i?)(r?)fft_(\d+)_(apart|beside|columns|rows|halves|passes)(_even|_odd)?(_any)?\.(c64|c128)")
_REAL = {"c64": "f32", "c128": "f64"}
_ROOMS = "ptr noalias %one, ptr noalias %two, ptr noalias readonly %roots"


class Lines(NamedTuple):
    """What is transformed: complex numbers of a type, in so many lanes, how they lie, and whether by rare factors.

    Attributes:
        real: of real numbers or back to them, "even" or "odd": how many of them there are.
    """

    type: str
    lanes: int
    is_inverse: bool
    place: str
    has_rare: bool = False
    real: str = ""

    @property
    def name(self) -> str:
        """What compiled code calls the function."""
        kind = "i" * self.is_inverse + "r" * bool(self.real) + "fft"
        ends = [part for part in (self.real, "any" if self.has_rare else "") if part]
        return f"lines.{'_'.join([kind, str(self.lanes), self.place, *ends])}.{self.type}"

    @property
    def passes(self) -> Lines:
        """What all forms of a type and so many lanes have in common."""
        real = self.real if self.real == "odd" and not self.is_inverse else ""
        return Lines(self.type, self.lanes, False, "passes", self.has_rare, real)

    @property
    def factors(self) -> list[int]:
        """The factors of lengths."""
        return [p for p in FACTORS if p <= FEW or self.has_rare]


def real_type(type_: str) -> str:
    """The type of the parts of complex numbers."""
    return _REAL[type_]


def form_of(name: str) -> Lines | None:
    """The form that a name says."""
    found = _NAME.fullmatch(name.removeprefix("lines."))
    if found is None:
        return None
    inverse, real, lanes, place, parity, end, type_ = found.groups()
    if bool(real) != bool(parity) or (real and place not in ("apart", "beside", "passes")):
        return None
    return Lines(type_, int(lanes), bool(inverse), place, end is not None, (parity or "").removeprefix("_"))


# -- code -------------------------------------------------------------------------------------------------------------

_Text = Text[Lines]


def factors_of(n: int) -> list[int]:
    """The factors by which lines of a length are transformed, in their order; none if it has others (or is 1)."""
    found: list[int] = []
    for p in (*FACTORS, *range(FACTORS[-1] + 2, LARGEST + 1, 2)):
        while n % p == 0:
            found.append(p)
            n //= p
    return found if n == 1 else []


def has_rare_factors(n: int) -> bool:
    """Whether a length has factors that only few have."""
    return max(factors_of(n), default=1) > FEW


def text_of(form: Lines) -> str:
    """The module of a form's function, under the name `lines`."""
    text = Text(form, real_type(form.type))
    if form.place == "halves":
        _combine_halves(text)
        return _function(text, "ptr noalias readonly %in, ptr noalias %out, ptr noalias readonly %turns, i64 %n")
    if form.place == "passes":
        _passes(text)
        return _function(text, f"{_ROOMS}, i64 %n", "ptr", "%source")
    _take(text)
    passes = f'ptr @"{form.passes.name}"'
    text.lines.append(f"  %source = call {passes}({_ROOMS}, i64 %n)")
    is_first = text.let("icmp eq ptr %source, %one")
    text.lines.append(f"  %target = select i1 {is_first}, ptr %two, ptr %one")
    _give(text)
    more = ", ptr noalias readonly %turns" if form.place == "columns" or form.real == "even" else ""
    steps = "i64 %in.line, i64 %in.step, i64 %out.line, i64 %out.step"
    code = _function(text, f"ptr %in, ptr %out, {_ROOMS}, i64 %n, {steps}{more}")
    return f"{code}declare {passes}(ptr, ptr, ptr, i64)\n"


def _passes(text: _Text) -> None:
    """From room to room, until no factor of n is left: the lines are in `%source` then."""
    form = text.form
    text.label("begin")
    text.label("pass")
    text.lines += [
        "  %left = phi i64 [ %n, %begin ], [ %rest, %again ]",
        "  %done = phi i64 [ 1, %begin ], [ %more, %again ]",
        "  %source = phi ptr [ %one, %begin ], [ %target, %again ]",
        "  %target = phi ptr [ %two, %begin ], [ %source, %again ]",
        *(["  %unit = phi i64 [ %n, %begin ], [ %unit.known, %again ]"] if form.real else []),
        "  %goes.on = icmp sgt i64 %left, 1",
        "  br i1 %goes.on, label %choose, label %end",
        "choose:",
    ]
    *others, last = form.factors
    if form.has_rare:
        others.append(last)
        factor = _smallest_factor(text)
        rest = text.let(f"udiv i64 %left, {factor}")
    else:
        factor, rest = str(last), text.let(f"udiv i64 %left, {last}")
    for p in reversed(others):  # divisions by numbers that are known are products
        share = text.let(f"udiv i64 %left, {p}")
        divides = text.let(f"icmp eq i64 {text.times(share, p)}, %left")
        factor = text.let(f"select i1 {divides}, i64 {p}, i64 {factor}")
        rest = text.let(f"select i1 {divides}, i64 {share}, i64 {rest}")
    text.lines += [f"  %rest = add i64 {rest}, 0", f"  %more = mul i64 %done, {factor}"]
    if form.real:
        text.lines += [
            "  %is.first = icmp eq i64 %done, 1", f"  %unit.known = select i1 %is.first, i64 {factor}, i64 %unit",
            "  %units = udiv i64 %done, %unit.known", "  %groups = select i1 %is.first, i64 1, i64 %units",
            "  %half = udiv i64 %unit.known, 2", "  %kept = add i64 %half, 1",
            "  %each.of = select i1 %is.first, i64 1, i64 %kept",
        ]  # fmt: skip
    cases = " ".join(f"i64 {p}, label %of{p}" for p in form.factors)
    text.lines.append(f"  switch i64 {factor}, label %{'of.other' if form.has_rare else 'end'} [ {cases} ]")
    if form.has_rare:
        text.lines.append("of.other:")
        _pass_of_prime(text, factor)
        text.lines.append("  br label %again")
    for p in form.factors:
        text.lines.append(f"of{p}:")
        _pass(text, p)
        text.lines.append("  br label %again")
    text.lines += ["again:", "  br label %pass", "end:"]
    if form.real:
        _fill_mirrored(text)


def _of_numbers(text: _Text, body: Callable[[str], None]) -> None:
    """`body(q)` for each of the `done` numbers side by side; of real ones, but for mirror images of others."""
    if text.form.real:
        text.loop(
            "%groups", lambda i: text.loop("%each.of", lambda q: body(text.plus(text.times(i, "%unit.known"), q)))
        )
    else:
        text.loop("%done", body)


def _fill_mirrored(text: _Text) -> None:
    """The numbers that were left out, as far as a line of real numbers has them."""
    each, half = 2 * text.form.lanes, text.let("udiv i64 %unit, 2")

    def of_unit(i: str) -> None:
        middle = text.plus(text.times(i, "%unit"), text.plus(half, 1))

        def fill(q: str) -> None:
            k = text.plus(middle, q)
            re, im = _loaded(text, "%source", text.times(text.let(f"sub i64 %n, {k}"), each))
            _stored(text, (re, text.let(f"fneg {text.t.vec} {im}")), "%source", text.times(k, each))

        text.loop(half, fill)

    text.loop(text.plus(text.let(f"udiv i64 {text.let('udiv i64 %n, 2')}, %unit"), 1), of_unit)


def _function(text: _Text, parameters: str, type_: str = "void", result: str = "") -> str:
    return "\n".join([
        f"define {type_} @lines({parameters}) #0 {{", "entry:", *text.lines, f"  ret {type_} {result}", "}",
        *text.t.declarations(), "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
        "attributes #0 = { nounwind }", "",
    ])  # fmt: skip


def _pass(text: _Text, p: int) -> None:
    """From one room to the other: p numbers become their transform, `done` of them side by side."""
    each, numbers = 2 * text.form.lanes, Numbers(text)
    wide = text.times("%done", each)
    apart = text.times(wide, "%rest")

    def of_row(row: str) -> None:
        first, turns = text.times(row, "%done"), list[Pair]()
        for k in range(1, p) if row != "0" else ():
            root = text.times(first, 2 * k)
            turns.append((text.splat("%roots", root), text.splat("%roots", text.plus(root, 1))))
        read, write = text.times(row, wide), text.times(row, text.times(wide, p))

        def of_number(q: str) -> None:
            place = text.times(q, each)
            at, to = text.plus(read, place), text.plus(write, place)
            x: list[Pair] = []
            for _ in range(p):
                x.append(_loaded(text, "%source", at))
                at = text.plus(at, apart)
            for k, found in enumerate(numbers.transform(x)):
                _stored(text, numbers.product(found, turns[k - 1]) if k and turns else found, "%target", to)
                to = text.plus(to, wide)

        _of_numbers(text, of_number)

    of_row("0")  # which is not turned
    text.loop("%rest", of_row, first=1)


def _smallest_factor(text: _Text) -> str:
    """The smallest odd one that `left` has beyond those that have code of their own; `left` where those are all."""
    text.lines += [
        "  br label %try", "try:", f"  %p = phi i64 [ {FACTORS[-1] + 2}, %choose ], [ %p.next, %try ]",
        "  %p.next = add i64 %p, 2", "  %p.rest = urem i64 %left, %p", "  %p.divides = icmp eq i64 %p.rest, 0",
        f"  %p.ends = icmp sgt i64 %p.next, {LARGEST}", "  %p.done = or i1 %p.divides, %p.ends",
        "  br i1 %p.done, label %tried, label %try", "tried:",
    ]  # fmt: skip
    return text.let("select i1 %p.divides, i64 %p, i64 %left")


def _pass_of_prime(text: _Text, p: str) -> None:
    """The same of an odd factor that the length tells.

    Sums and differences of numbers at the same distance from both ends take the numbers' place, and are summed up with
    cosines and sines, for some numbers of the result at once.
    """
    each, numbers, vec = 2 * text.form.lanes, Numbers(text), text.t.vec
    wide = text.times("%done", each)
    apart = text.times(wide, "%rest")
    half, stride, around = text.let(f"udiv i64 {p}, 2"), text.let(f"udiv i64 %n, {p}"), text.times("%n", 2)
    last = text.let(f"sub i64 {half}, {_TOGETHER - 1}")
    most = text.plus(half, 1)

    def of_row(row: str) -> None:
        read, write = text.times(row, wide), text.times(text.times(row, wide), p)
        turn = text.times(text.times(row, "%done"), 2)

        def of_number(q: str) -> None:
            place = text.times(q, each)
            at, to = text.plus(read, place), text.plus(write, place)

            def take(j: str, total: list[str]) -> list[str]:
                near = text.plus(at, text.times(j, apart))
                far = text.plus(at, text.times(text.let(f"sub i64 {p}, {j}"), apart))
                x, y = _loaded(text, "%source", near), _loaded(text, "%source", far)
                both = numbers.add(x, y)
                _stored(text, both, "%source", near)
                _stored(text, numbers.sub(x, y), "%source", far)
                return [*numbers.add((total[0], total[1]), both)]

            first = _loaded(text, "%source", at)
            total = text.fold(most, [(vec, x) for x in first], take, first=1)
            _stored(text, (total[0], total[1]), "%target", to)

            def give(k: str, even: Pair, odd: Pair) -> None:
                far = text.let(f"sub i64 {p}, {k}")
                for i, x in ((k, numbers.more_turned(even, odd)), (far, numbers.less_turned(even, odd))):
                    if row != "0":
                        root = text.times(turn, i)
                        x = numbers.product(x, (text.splat("%roots", root), text.splat("%roots", text.plus(root, 1))))
                    _stored(text, x, "%target", text.plus(to, text.times(i, wide)))

            def some(k: str) -> None:
                each_k = [text.plus(_at_most(text, k, last), i) for i in range(_TOGETHER)]
                steps = [text.times(text.times(k, stride), 2) for k in each_k]

                def add(j: str, values: list[str]) -> list[str]:
                    even = _loaded(text, "%source", text.plus(at, text.times(j, apart)))
                    odd = _loaded(text, "%source", text.plus(at, text.times(text.let(f"sub i64 {p}, {j}"), apart)))
                    found: list[str] = []
                    for i, step in enumerate(steps):
                        *totals, root = values[5 * i : 5 * i + 5]
                        cos, sin = text.splat("%roots", root), text.splat("%roots", text.plus(root, 1))
                        terms = zip((*even, *odd), (cos, cos, sin, sin), totals, strict=True)
                        found += [text.fma(x, y, total) for x, y, total in terms]
                        found.append(_wrapped(text, text.plus(root, step), around))
                    return found

                starts: list[tuple[str, str]] = []
                for step in steps:
                    starts += [(vec, first[0]), (vec, first[1]), (vec, _ZERO), (vec, _ZERO), ("i64", step)]
                found = text.fold(most, starts, add, first=1)
                for i, number in enumerate(each_k):
                    re, im, odd_re, odd_im, _ = found[5 * i : 5 * i + 5]
                    give(number, (re, im), (odd_re, odd_im))

            text.loop(most, some, first=1, step=_TOGETHER)

        _of_numbers(text, of_number)

    of_row("0")
    text.loop("%rest", of_row, first=1)


def _wrapped(text: _Text, x: str, around: str) -> str:
    """A place on a circle that was gone around once at most."""
    is_beyond = text.let(f"icmp sge i64 {x}, {around}")
    return text.let(f"select i1 {is_beyond}, i64 {text.let(f'sub i64 {x}, {around}')}, i64 {x}")


def _loaded(text: _Text, base: str, index: str) -> Pair:
    return text.load(base, index), text.load(base, text.plus(index, text.form.lanes))


def _stored(text: _Text, x: Pair, base: str, index: str) -> None:
    text.store(x[0], base, index)
    text.store(x[1], base, text.plus(index, text.form.lanes))


# -- lines and rooms --------------------------------------------------------------------------------------------------


def _take(text: _Text) -> None:
    """From lines to the first room; the parts of what is transformed back change places, in columns for rows, too."""
    form = text.form
    if form.place == "rows":
        _in_overlapping_squares(text, lambda i: _take_parts(text, i))
    elif form.real:
        (_take_halved if form.is_inverse else _take_real)(text)
    else:
        _take_lines(text, "%one", "%n", form.is_inverse)


def _take_lines(text: _Text, room: str, count: str, is_swapped: bool) -> None:
    """So many complex numbers of each line to a room."""
    each = 2 * text.form.lanes
    if text.form.place == "apart":
        _in_squares(
            text, count, text.form.lanes // 2, lambda i: _take_square(text, i, room, is_swapped),
            lambda i: _take_one(text, i, room, is_swapped),
        )  # fmt: skip
        return

    def take(i: str) -> None:
        place = text.times(i, "%in.step")
        text.prefetch("%in", text.times(text.plus(place, text.form.lanes), 2), each)
        x = _numbers_at(text, "%in", place)
        _stored(text, _in_order(is_swapped, x), room, text.times(i, each))

    text.loop(count, take)


def _give(text: _Text) -> None:
    """From the room that has the results to lines."""
    form = text.form
    if form.place == "columns":
        text.loop("%n", lambda i: _give_turned(text, i))
    elif form.real:
        (_give_real if form.is_inverse else _give_halved)(text)
    else:
        _give_lines(text, "%source", "%n")


def _give_lines(text: _Text, room: str, count: str) -> None:
    """So many complex numbers of each line from a room."""
    form, each = text.form, 2 * text.form.lanes
    if form.place == "apart":
        _in_squares(
            text, count, form.lanes // 2, lambda i: _give_square(text, i, room), lambda i: _give_one(text, i, room)
        )
        return

    def give(i: str) -> None:
        x = _in_order(form.is_inverse, _loaded(text, room, text.times(i, each)))
        _put_numbers(text, x, text.times(i, "%out.step"))

    text.loop(count, give)


def _give_turned(text: _Text, i: str) -> None:
    """A number of each column, turned, with its parts apart."""
    places = [text.times(i, "%out.step")]
    places.append(text.plus(places[0], "%out.line"))
    turn = text.load("%turns", places[0]), text.load("%turns", places[1])
    x = Numbers(text).product(_loaded(text, "%source", text.times(i, 2 * text.form.lanes)), turn)
    for part, place in zip(x, places, strict=True):
        text.store(part, "%out", place)


def _in_order(is_swapped: bool, x: Pair) -> Pair:
    return (x[1], x[0]) if is_swapped else x


def _numbers_at(text: _Text, base: str, place: str, is_reversed: bool = False) -> Pair:
    """Real and imaginary parts of as many complex numbers as there are lanes, from a place on."""
    lanes, first = text.form.lanes, text.times(place, 2)
    x, y = text.load(base, first), text.load(base, text.plus(first, lanes))
    order = [*range(0, 2 * lanes, 2)]
    if is_reversed:
        order.reverse()
    return text.shuffle(x, y, order), text.shuffle(x, y, [k + 1 for k in order])


def _put_numbers(text: _Text, x: Pair, place: str) -> None:
    """Complex numbers go to where they are asked for, from a place on."""
    lanes, first = text.form.lanes, text.times(place, 2)
    mixed = [k // 2 + lanes * (k % 2) for k in range(2 * lanes)]
    text.store(text.shuffle(*x, mixed[:lanes]), "%out", first)
    text.store(text.shuffle(*x, mixed[lanes:]), "%out", text.plus(first, lanes))


def _transposed(text: _Text, rows: list[str]) -> list[str]:
    """As many vectors as they have lanes: element j of vector i is element i of vector j."""
    lanes, half = len(rows), len(rows) // 2
    while half:
        for i in (i for i in range(lanes) if not i & half):
            x, y = rows[i], rows[i + half]
            low = [k if not k & half else lanes + k - half for k in range(lanes)]
            rows[i], rows[i + half] = (
                text.shuffle(x, y, low),
                text.shuffle(x, y, [k + half if not k & half else lanes + k for k in range(lanes)]),
            )
        half //= 2
    return rows


def _combine_halves(text: _Text) -> None:
    """Each number, and the conjugate of its mirror image, whose difference is turned."""
    lanes, numbers = text.form.lanes, Numbers(text)
    last = text.let(f"sub i64 %n, {lanes}")

    def some(i: str) -> None:
        place = _at_most(text, i, last)
        (re, im), (far_re, far_im) = (
            _numbers_at(text, "%in", place),
            _numbers_at(text, "%in", text.plus(text.let(f"sub i64 {last}, {place}"), 1), is_reversed=True),
        )
        both = text.op("fadd", re, far_re), text.op("fsub", im, far_im)
        less = text.op("fsub", re, far_re), text.op("fadd", im, far_im)
        turn = text.load("%turns", place), text.load("%turns", text.plus(place, "%n"))
        found = numbers.plus(numbers.product(less, turn), (both, 1.0 if text.form.is_inverse else 0.5))
        _put_numbers(text, found, place)

    text.loop("%n", some, first=1, step=lanes)


def _take_square(text: _Text, i: str, room: str, is_swapped: bool) -> None:
    """Some numbers of all lines, half as many as a vector has lanes."""
    lanes = text.form.lanes
    rows = [text.load("%in", _place(text, "in", line, i)) for line in range(lanes)]
    rows = _transposed(text, rows)
    first = text.times(i, 2 * lanes)
    for k in range(lanes // 2):
        x = _in_order(is_swapped, (rows[2 * k], rows[2 * k + 1]))
        _stored(text, x, room, text.plus(first, 2 * lanes * k))


def _give_square(text: _Text, i: str, room: str) -> None:
    form, lanes = text.form, text.form.lanes
    first, rows = text.times(i, 2 * lanes), list[str]()
    for k in range(lanes // 2):
        rows += _in_order(form.is_inverse, _loaded(text, room, text.plus(first, 2 * lanes * k)))
    for line, row in enumerate(_transposed(text, rows)):
        text.store(row, "%out", _place(text, "out", line, i))


def _take_parts(text: _Text, i: str) -> None:
    """As many numbers of rows as there are rows, whose parts lie apart."""
    lanes = text.form.lanes
    parts: list[list[str]] = []
    for part in range(2):
        first = text.plus(i, text.times("%in.step", part)) if part else i
        rows = [text.load("%in", text.plus(first, text.let(f"mul i64 %in.line, {line}"))) for line in range(lanes)]
        parts.append(_transposed(text, rows))
    room = text.times(i, 2 * lanes)
    for k, x in enumerate(zip(*parts, strict=True)):
        _stored(text, x, "%one", text.plus(room, 2 * lanes * k))


def _in_overlapping_squares(text: _Text, square: Callable[[str], None]) -> None:
    """As many numbers of a line at once as a vector has lanes; the last of them may have been among those before."""
    lanes = text.form.lanes
    last = text.let(f"sub i64 %n, {lanes}")

    text.loop("%n", lambda i: square(_at_most(text, i, last)), step=lanes)


def _at_most(text: _Text, i: str, last: str) -> str:
    is_within = text.let(f"icmp slt i64 {i}, {last}")
    return text.let(f"select i1 {is_within}, i64 {i}, i64 {last}")


def _in_squares(
    text: _Text, count: str, each: int, square: Callable[[str], None], one: Callable[[str], None]
) -> None:  # fmt: skip
    """The numbers of a line: some at once, and then one by one."""
    whole = text.let(f"sub i64 {count}, {text.let(f'urem i64 {count}, {each}')}")
    text.loop(whole, square, step=each)
    text.loop(text.let(f"sub i64 {count}, {whole}"), lambda i: one(text.plus(i, whole)))


def _take_one(text: _Text, i: str, room: str, is_swapped: bool) -> None:
    """A number of each line."""
    form = text.form
    places = [_place(text, "in", line, i) for line in range(form.lanes)]
    re, im = (_gathered(text, [text.plus(place, part) for place in places]) for part in (0, 1))
    _stored(text, _in_order(is_swapped, (re, im)), room, text.times(i, 2 * form.lanes))


def _give_one(text: _Text, i: str, room: str) -> None:
    form = text.form
    places = [_place(text, "out", line, i) for line in range(form.lanes)]
    x = _in_order(form.is_inverse, _loaded(text, room, text.times(i, 2 * form.lanes)))
    for part, vector in enumerate(x):
        _scatter(text, vector, [text.plus(place, part) for place in places])


def _gathered(text: _Text, places: list[str]) -> str:
    """Elements of what is given, one in each lane."""
    t, vector = text.t, "poison"
    for lane, place in enumerate(places):
        element = text.let(f"load {t.kind}, ptr {text.at('%in', place)}")
        vector = text.let(f"insertelement {t.vec} {vector}, {t.kind} {element}, i64 {lane}")
    return vector


def _scatter(text: _Text, vector: str, places: list[str]) -> None:
    t = text.t
    for lane, place in enumerate(places):
        element = text.let(f"extractelement {t.vec} {vector}, i64 {lane}")
        text.lines.append(f"  store {t.kind} {element}, ptr {text.at('%out', place)}")


def _place(text: _Text, side: str, line: int, i: str, parts: int = 2) -> str:
    """Where a number of a line is, counted in parts."""
    return text.times(text.plus(i, text.let(f"mul i64 %{side}.line, {line}")), parts)


# -- real lines -------------------------------------------------------------------------------------------------------


def _take_real(text: _Text) -> None:
    """Real lines to the first room: two numbers as a complex one, or each as one without an imaginary part."""
    form, each = text.form, 2 * text.form.lanes
    if form.real == "even" and form.place == "apart":  # pairs lie as complex numbers do
        _take_lines(text, "%one", "%n", False)
        return
    if form.place == "apart":
        _in_squares(
            text, "%n", form.lanes, lambda i: _take_real_square(text, i),
            lambda i: _stored(text, (_gathered(text, _real_places(text, "in", i)), _ZERO), "%one", text.times(i, each)),
        )  # fmt: skip
        return

    def take(i: str) -> None:
        x = text.load("%in", place := _real_row(text, "in", i)), _ZERO
        if form.real == "even":
            x = x[0], text.load("%in", text.plus(place, "%in.step"))
        _stored(text, x, "%one", text.times(i, each))

    text.loop("%n", take)


def _give_real(text: _Text) -> None:
    """The way back, from the room that has the results."""
    form, each = text.form, 2 * text.form.lanes
    if form.real == "even" and form.place == "apart":
        _give_lines(text, "%source", "%n")
        return
    if form.place == "apart":
        _in_squares(
            text, "%n", form.lanes, lambda i: _give_real_square(text, i),
            lambda i: _scatter(text, _real_result(text, text.times(i, each))[0], _real_places(text, "out", i)),
        )  # fmt: skip
        return

    def give(i: str) -> None:
        x, place = _real_result(text, text.times(i, each)), _real_row(text, "out", i)
        text.store(x[0], "%out", place)
        if form.real == "even":
            text.store(x[1], "%out", text.plus(place, "%out.step"))

    text.loop("%n", give)


def _real_result(text: _Text, index: str) -> Pair:
    return _in_order(text.form.is_inverse, _loaded(text, "%source", index))


def _real_row(text: _Text, side: str, i: str) -> str:
    """Where number i of lines side by side is, or numbers 2 i."""
    return text.times(text.times(i, 2 if text.form.real == "even" else 1), f"%{side}.step")


def _real_places(text: _Text, side: str, i: str) -> list[str]:
    return [_place(text, side, line, i, parts=1) for line in range(text.form.lanes)]


def _take_real_square(text: _Text, i: str) -> None:
    """As many numbers of all lines as there are lines."""
    rows = [text.load("%in", place) for place in _real_places(text, "in", i)]
    for k, row in enumerate(_transposed(text, rows)):
        _stored(text, (row, _ZERO), "%one", text.times(text.plus(i, k), 2 * text.form.lanes))


def _give_real_square(text: _Text, i: str) -> None:
    each = 2 * text.form.lanes
    rows = [_real_result(text, text.times(text.plus(i, k), each))[0] for k in range(text.form.lanes)]
    for place, row in zip(_real_places(text, "out", i), _transposed(text, rows), strict=True):
        text.store(row, "%out", place)


def _halved(text: _Text) -> str:
    """How many numbers the transform of a real line has."""
    return text.plus("%n" if text.form.real == "even" else text.let("udiv i64 %n, 2"), 1)


def _give_halved(text: _Text) -> None:
    """The transforms of real lines, from the room that has those of what they were taken as."""
    form, each = text.form, 2 * text.form.lanes
    if form.real == "odd":  # the first number is a sum of real ones
        _give_lines(text, "%source", _halved(text))
        return

    def get(k: str) -> Pair:
        return _loaded(text, "%source", text.times(k, each))

    if form.place == "beside":
        _combine(text, get, lambda k, x: _put_numbers(text, x, text.times(k, "%out.step")))
    else:
        _combine(text, get, lambda k, x: _stored(text, x, "%target", text.times(k, each)))
        _give_lines(text, "%target", _halved(text))


def _take_halved(text: _Text) -> None:
    """The way back, to the first room."""
    form, each = text.form, 2 * text.form.lanes

    def get(k: str) -> Pair:
        if form.place == "beside":
            return _numbers_at(text, "%in", text.times(k, "%in.step"))
        return _loaded(text, "%two", text.times(k, each))

    def put(k: str, x: Pair) -> None:
        _stored(text, _in_order(True, x), "%one", text.times(k, each))

    if form.place == "apart":
        _take_lines(text, "%two", _halved(text), False)
    if form.real == "even":
        _combine(text, get, put)
        return

    def mirrored(k: str) -> None:
        x = get(k)
        put(k, x)
        put(text.let(f"sub i64 %n, {k}"), (x[0], text.let(f"fneg {text.t.vec} {x[1]}")))

    put("0", (get("0")[0], _ZERO))
    text.loop(_halved(text), mirrored, first=1)


def _combine(text: _Text, get: Callable[[str], Pair], put: Callable[[str, Pair], None]) -> None:
    """From the transform of n complex numbers to that of the 2 n real ones in them, or back: of numbers at the same
    distance from both ends, sums and turned differences."""
    numbers, is_inverse = Numbers(text), text.form.is_inverse
    re, im = get("0")
    if is_inverse:
        im = get("%n")[0]
    ends = text.op("fadd", re, im), text.op("fsub", re, im)
    if is_inverse:
        put("0", ends)
    else:
        put("0", (ends[0], _ZERO))
        put("%n", (ends[1], _ZERO))

    def both(k: str) -> None:
        other = text.let(f"sub i64 %n, {k}")
        (re, im), (far_re, far_im) = get(k), get(other)
        even = text.op("fadd", re, far_re), text.op("fsub", im, far_im)
        odd = text.op("fsub", re, far_re), text.op("fadd", im, far_im)
        turned = numbers.product(odd, (text.splat("%turns", k), text.splat("%turns", text.plus(k, "%n"))))
        if not is_inverse:
            even = numbers.scaled(even, 0.5)
        put(k, numbers.add(even, turned))
        mirrored = numbers.sub(even, turned)
        put(other, (mirrored[0], text.let(f"fneg {text.t.vec} {mirrored[1]}")))

    text.loop(text.plus(text.let("udiv i64 %n, 2"), 1), both, first=1)


def address(name: str) -> int:
    """The address of the function of a form, for compiled code; 0 for what is no form's name."""
    form = form_of(name)
    return 0 if form is None else written(text_of, "lines", form, table=_PASSES).address


_PASSES = Table({}, {"lines": Family(address, is_compiled=True)})
