"""`save` and `load`: the same function comes back, derivatives and Variables included, and damaged files are errors."""

from __future__ import annotations

import functools
import json
import os
import random
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from tests.support.paths import ROOT
from tests.support.threads import in_threads
from wengert._core.dims import size_of
from wengert._core.state import recording
from wengert._transforms.forward import Tangents

X = np.linspace(0.2, 1.5, 6)
HEADER = struct.Struct("<8sQQI")


def through_a_file(f, tmp_path: Path, *calls):
    for call in calls:
        f(*call)
    path = tmp_path / "f.wengert"
    wg.save(f, path)
    return wg.load(path)


@pytest.mark.parametrize(
    "use",
    [
        lambda g: lambda x: g(x) * 2,
        lambda g: lambda x: g(wg.sin(x)) @ x,
        lambda g: lambda x: wg.cond(x[0] > 0, lambda: g(x), lambda: x),
        lambda g: lambda x: wg.scan(lambda c, e: (g(c) * e, c), x, x)[0],
        lambda g: lambda x: wg.grad(g)(x),
        lambda g: lambda x: wg.vmap(g)(wg.stack([x, 2 * x])),
    ],
)
def test_a_loaded_function_is_called_inside_traces(tmp_path, use):
    f = lambda x: x * x + 1 / x
    g = through_a_file(wg.function(f), tmp_path, (X,))
    np.testing.assert_allclose(wg.function(use(g))(X), use(f)(X), rtol=1e-14)
    gradient = wg.grad(lambda x: wg.sum(use(f)(x)))(X)
    np.testing.assert_allclose(wg.grad(lambda x: wg.sum(wg.function(use(g))(x)))(X), gradient, rtol=1e-13)
    with wg.eager():
        np.testing.assert_allclose(use(g)(X), use(f)(X), rtol=1e-14)


def test_a_loaded_function_writes_its_variables_inside_traces(tmp_path):
    v = wg.Variable(1.0)

    def step(x):
        v.assign_add(wg.sum(x))
        return x * v

    g = through_a_file(wg.function(step), tmp_path, (X,))
    twice = wg.function(lambda x: (g(x), g(x)))
    first, second = twice(X)
    held = float(v.numpy())
    np.testing.assert_allclose(first, X * (held + X.sum()))
    np.testing.assert_allclose(second, X * (held + 2 * X.sum()))
    np.testing.assert_allclose(g(X), X * (held + 3 * X.sum()))


def test_values_structures_and_statics_come_back(tmp_path):
    table = np.arange(12.0).reshape(3, 4)

    @wg.function
    def f(params, n, scale):
        out = wg.sin(params["w"]) @ wg.tensor(table) ** n * scale + params["b"]
        return {"out": out, "pair": (wg.sum(out), None, "text", 3), "half": out.astype("float16")}

    call = ({"w": np.ones((2, 3)), "b": 0.5}, 2, 1.5)
    g = through_a_file(f, tmp_path, call)
    got, want = g(*call), f(*call)
    np.testing.assert_array_equal(got["out"], want["out"])
    assert got["pair"] == want["pair"]
    assert got["half"].dtype == np.float16
    with pytest.raises(TypeError, match="was not saved"):
        g({"w": np.ones((2, 3)), "b": 0.5}, 3, 1.5)


def test_gradients_of_what_was_loaded_and_loaded_gradients(tmp_path):
    def f(x):
        return wg.sum(wg.exp(x) * x)

    g = through_a_file(wg.function(f), tmp_path, (X,))
    np.testing.assert_allclose(wg.grad(g)(X), wg.grad(f)(X))
    np.testing.assert_allclose(
        wg.grad(lambda x: wg.sum(wg.grad(g)(x) ** 2))(X), wg.grad(lambda x: wg.sum(wg.grad(f)(x) ** 2))(X)
    )
    h = through_a_file(wg.function(wg.value_and_grad(f)), tmp_path, (X,))
    assert isinstance(h(X), wg.ValueAndGrad)
    np.testing.assert_allclose(h(X).grad, wg.grad(f)(X))


def test_unknown_dimensions_and_several_signatures(tmp_path):
    f = wg.function(lambda x: wg.mean(x, axis=0) * x.shape[0] // 1, input_signature=[wg.TensorSpec((None, 3))])
    g = through_a_file(f, tmp_path, (np.ones((2, 3)),))
    for n in (2, 5):
        np.testing.assert_array_equal(g(np.ones((n, 3))), f(np.ones((n, 3))))
    h = through_a_file(wg.function(lambda x: x + 1), tmp_path, (X,), (1.5,), (X.astype(np.float32),))
    assert h(X.astype(np.float32)).dtype == np.float32
    assert h(1.5) == 2.5


def test_variables_are_new_ones_with_the_saved_values(tmp_path):
    v = wg.Variable(2.0, name="saved_v")
    f = wg.function(lambda x: v.assign_add(x) * 1.0)
    f(1.0)
    g = through_a_file(f, tmp_path)
    assert g(1.0) == 4.0
    assert g(1.0) == 5.0
    assert v.numpy() == 3.0


# -- custom gradients --------------------------------------------------------------------------------------------------


@wg.custom_gradient
def steep(x):
    """x^2 with a gradient that is not 2x."""
    slope = wg.tanh(x)
    return x * x, lambda upstream: upstream * slope * 10.0


@wg.custom_gradient
def steeper(x):
    """A rule that uses a custom gradient itself."""
    return x * 1.0, lambda upstream: upstream * steep(x)


@wg.custom_gradient
def two_of_three(x, n, y):
    return (x * y, x - y), lambda u, v: (u * 7.0 * wg.cos(x), None, None)


def kept(x, save):
    save([x])
    return x * x, lambda dy, saved: dy * abs(saved[0])


CUSTOM = [
    pytest.param(steep, id="custom_gradient"),
    pytest.param(steeper, id="nested"),
    pytest.param(wg.custom_grad(kept), id="custom_grad"),
    pytest.param(lambda x: two_of_three(x, 3, wg.cos(x))[0], id="structure"),
    pytest.param(wg.recompute_grad(lambda x: wg.exp(steep(x))), id="recompute_grad"),
    pytest.param(lambda x: wg.grad(lambda t: wg.sum(steep(t) * t))(x), id="gradient inside"),
]


@pytest.mark.parametrize("signature", [None, [wg.TensorSpec((None,))]], ids=["fixed", "unknown extent"])
@pytest.mark.parametrize("custom", CUSTOM)
def test_custom_gradients_come_back(custom, signature, tmp_path):
    def f(x):
        return wg.sum(wg.sin(custom(x)) * x)

    g = through_a_file(wg.function(f, input_signature=signature), tmp_path, (X,))
    for x in (X, X[:4]) if signature else (X,):
        np.testing.assert_allclose(g(x), f(wg.tensor(x)))
        np.testing.assert_allclose(wg.grad(g)(x), wg.grad(f)(x))

        def second(h, x=x):
            return wg.grad(lambda t: wg.sum(wg.grad(h)(t) ** 2))(x)

        np.testing.assert_allclose(second(g), second(f))
    natural = wg.grad(lambda x: wg.sum(wg.sin(x * x) * x))(X)
    assert not np.allclose(wg.grad(g)(X), natural)


def test_a_rule_brings_its_variables_and_its_jvp(tmp_path):
    factor = wg.Variable(3.0, name="factor", trainable=False)

    def jvp(primals, tangents):
        return primals[0] * 2.0, tangents[0] * 5.0

    @functools.partial(wg.custom_gradient, jvp=jvp)
    def f(x):
        return x * 2.0, lambda upstream: upstream * factor

    compiled, x = wg.function(f), np.ones(1)
    g = through_a_file(compiled, tmp_path, (x,))
    assert wg.grad(compiled)(x) == wg.grad(g)(x) == 3.0
    factor.assign(4.0)  # the loaded function has a Variable of its own
    assert wg.grad(compiled)(x) == wg.grad(f)(x) == 4.0
    assert wg.grad(g)(x) == 3.0
    ((_, compiled),) = g.traces
    (node,) = [n for n in compiled.graph.nodes if n.op.name == "custom"]
    assert node.attrs[0].forward is not None
    np.testing.assert_array_equal(_tangent(g, x), [5.0])


def _tangent(f, x):
    """Forward mode, by the core's recorder: it has no interface of its own yet."""
    tensor, tangents = wg.tensor(x), Tangents()
    with recording(tangents):
        tangents.set(tensor, wg.ones_like(tensor))
        return tangents.of(f(tensor)).numpy()


CONTROL = {
    "cond": lambda x: wg.cond(x.sum() > 0, lambda: x * x * x, lambda: wg.sin(x)),
    "switch": lambda x: wg.switch(wg.argmax(x), [lambda: x, lambda: x * x, lambda: x**3]),
    "while": lambda x: wg.while_loop(lambda v: (v * v).sum() < 50, lambda v: v * 1.5 + 0.1 * x, x),
    "while all": lambda x: wg.while_loop(lambda v: v.sum() < 9, lambda v: v * v + 1.0, x, checkpoint="all"),
    "scan": lambda x: wg.scan(lambda c, t: (c * t + x.sum(), c * c * t), x[0], x)[1],
    "scan sqrt": lambda x: wg.scan(lambda c, t: (wg.tanh(c) * t, c), x[0], x, reverse=True, checkpoint="sqrt")[1],
    "growing": lambda x: wg.while_loop(
        lambda v, i: i < 2, lambda v, i: (wg.concatenate([v, 2 * v * v]), i + 1), (x, 0), shape_invariants=((None,), ())
    )[0],
    "nested": lambda x: wg.fori_loop(0, 3, lambda i, v: wg.cond(
        v.sum() > 1, lambda: v * x, lambda: wg.while_loop(lambda u: u.sum() < 2, lambda u: u * 1.3 + 0.1, v)), x),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTROL)
def test_branches_and_loops_come_back(name, tmp_path):
    """The function, its gradient and its second derivative; and what was loaded is differentiated again."""
    program, x = CONTROL[name], np.array([0.7, -0.3, 1.1])
    first = wg.grad(lambda x: program(x).sum())
    for f in (program, first, wg.grad(lambda x: (first(x) ** 2).sum())):
        fn = wg.function(f)
        wanted = fn(x)
        wg.save(fn, tmp_path / "f")
        loaded = wg.load(tmp_path / "f")
        np.testing.assert_array_equal(loaded(x), wanted)
        found, wanted = (wg.grad(lambda x, g=g: g(x).sum())(x) for g in (loaded, fn))
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_rule_saved_twice_is_the_same_file(tmp_path):
    f = wg.function(steeper)
    f(X)
    first, second = tmp_path / "first", tmp_path / "second"
    wg.save(f, first)
    wg.save(wg.load(first), second)
    assert first.read_bytes() == second.read_bytes()


def test_what_cannot_be_saved_says_why(tmp_path):
    path = tmp_path / "x"
    with pytest.raises(TypeError, match=r"wg\.function"):
        wg.save(lambda x: x, path)
    with pytest.raises(ValueError, match="not been traced"):
        wg.save(wg.function(lambda x: x), path)
    f = wg.function(lambda g, x: g(x))
    f(wg.sin, 1.0)
    with pytest.raises(TypeError, match="cannot be saved"):
        wg.save(f, path)
    own = wg.function(wg.primitive("saving_own", spec=lambda x: x, numpy=np.square))
    own(1.0)
    with pytest.raises(TypeError, match="saving_own"):
        wg.save(own, path)

    @wg.custom_gradient
    def unruly(x):
        return x * x, lambda upstream: upstream * float(x)

    custom = wg.function(unruly)
    custom(1.0)
    with pytest.raises(TypeError, match=r"gradient of unruly cannot be saved.*LostGradientError"):
        wg.save(custom, path)
    path.write_bytes(b"something else")
    with pytest.raises(ValueError, match="not a saved function"):
        wg.load(path)
    assert not list(tmp_path.glob("*.part"))


# -- damaged files -----------------------------------------------------------------------------------------------------


def _small_file(tmp_path: Path) -> tuple[bytes, object]:
    table = np.arange(6.0).reshape(2, 3)

    def f(x):
        y = wg.where(x > 0.5, wg.sin(x), 0.0)
        return wg.sum(wg.tensor(table) @ wg.concatenate([y[:2], y[::-1][:1]])), (y, "text", 3)

    function = wg.function(f, input_signature=[wg.TensorSpec((None,))])
    function(X)
    path = tmp_path / "small"
    wg.save(function, path)
    return path.read_bytes(), function


def _custom_file(tmp_path: Path) -> tuple[bytes, object]:
    """One with rules: traced, nested, with unknown extents, and repeated."""
    repeated = wg.recompute_grad(lambda x: wg.exp(steep(x)))
    function = wg.function(lambda x: wg.sum(steeper(x) * repeated(x)), input_signature=[wg.TensorSpec((None,))])
    function(X)
    path = tmp_path / "custom"
    wg.save(function, path)
    return path.read_bytes(), function


def _packed(text: bytes, body: bytes) -> bytes:
    return HEADER.pack(b"WENGERT\x01", len(text), len(body), zlib.crc32(body, zlib.crc32(text))) + text + body


def _nodes(graph) -> list:
    """The nodes of a graph and of the rules in it."""
    found = list(graph.nodes)
    for node in graph.nodes:
        rule = node.attrs[0] if node.op.name == "custom" else None
        run = getattr(getattr(rule, "run", None), "closed", None)
        for closed in (getattr(rule, "reverse", None), getattr(rule, "forward", None), run):
            found += [] if closed is None else _nodes(closed.graph)
    return found


def _is_small(fn) -> bool:
    """Whether running a mutated program cannot ask for much memory."""
    values = [v for _, c in fn.traces for n in _nodes(c.graph) for v in n.outputs]
    sizes = [size_of(v.shape) for v in values]
    return all(not isinstance(s, int) or s < 10_000 for s in sizes)


def _mutated_json(data, rng: random.Random):
    """The data with one value, somewhere, replaced by another kind, number or copy."""
    places = []
    waiting = [data]
    while waiting:
        item = waiting.pop()
        children = item.items() if isinstance(item, dict) else enumerate(item)
        for key, child in children:
            places.append((item, key))
            if isinstance(child, (dict, list)):
                waiting.append(child)
    container, key = rng.choice(places)
    old = container[key]
    container[key] = rng.choice([
        None, True, -1, 0, 1, 2**40, 1e300, "", "sin", "float64", [], {}, [old], {"tuple": [old]}, {"float": "nan"},
        {"dim": [[1, [[0, "n"]]]]}, {"array": 0}, {"dtype": "int8"}, old, rng.randrange(-5, 50), "__import__('os')",
    ])  # fmt: skip
    return data


def _try(content: bytes, path: Path, expected=None, differentiate: bool = False) -> bool:
    """Loads a damaged file and runs what comes out; True if it was taken."""
    path.write_bytes(content)
    try:
        fn = wg.load(path)
    except ValueError as error:
        if "not a saved function" not in str(error):
            raise
        return False
    if _is_small(fn):
        try:
            with np.errstate(all="ignore"):
                result = wg.grad(fn)(X) if differentiate else fn(X)
        except Exception:
            return True
        if expected is not None:
            np.testing.assert_array_equal(result[1][0], expected[1][0])
    return True


@pytest.mark.parametrize("share", [20, pytest.param(1, marks=pytest.mark.slow)])
def test_sixteen_thousand_damaged_files_are_errors_or_functions(tmp_path, share):
    content, function = _small_file(tmp_path)
    rng = random.Random(7)
    path = tmp_path / "damaged"
    expected = function(X)
    for _ in range(10_000 // share):  # bytes changed, cut off, put in: the sizes and the checksum tell
        damaged = bytearray(content)
        at = rng.randrange(len(damaged))
        kind = rng.randrange(3)
        if kind == 0:
            damaged[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del damaged[at : at + rng.randrange(1, 40)]
        else:
            damaged[at:at] = rng.randbytes(rng.randrange(1, 40))
        _try(bytes(damaged), path, expected)
    _, size, _, _ = HEADER.unpack_from(content)
    text, body = content[HEADER.size : HEADER.size + size], content[HEADER.size + size :]
    taken = 0
    for _ in range(6_000):  # a valid checksum over wrong contents: each value must be checked for itself
        wrong = json.dumps(_mutated_json(json.loads(text), rng)).encode()
        taken += _try(_packed(wrong, body), path)
    assert 0 < taken < 6_000


@pytest.mark.parametrize("share", [20, pytest.param(1, marks=pytest.mark.slow)])
def test_four_thousand_damaged_rules_are_errors_or_rules(tmp_path, share):
    """A wrong rule that is taken gives a gradient of its input's type, or an error when it is asked for one."""
    content, function = _custom_file(tmp_path)
    path = tmp_path / "damaged"
    assert _try(content, path, differentiate=True)
    _, size, _, _ = HEADER.unpack_from(content)
    text, body = content[HEADER.size : HEADER.size + size], content[HEADER.size + size :]
    rng, taken = random.Random(11), 0
    for _ in range(4_000 // share):
        wrong = json.dumps(_mutated_json(json.loads(text), rng)).encode()
        taken += _try(_packed(wrong, body), path, differentiate=True)
    assert 0 < taken < 4_000 // share


def test_a_rule_of_other_types_than_its_node_is_refused(tmp_path):
    content, _ = _custom_file(tmp_path)
    _, size, _, _ = HEADER.unpack_from(content)
    data = json.loads(content[HEADER.size : HEADER.size + size])
    nodes = data["traces"][0]["traced"]["nodes"]
    rules = [node[2][0]["rule"] for node in nodes if node[0] == "custom"]
    assert {rule["kind"] for rule in rules} == {"traced", "recompute"}
    for change in (
        lambda rule: rule["counts"].__setitem__(0, 2**40),
        lambda rule: rule["counts"].__setitem__(2, -1),
        lambda rule: (rule.get("reverse") or rule["run"])["present"].append(True),
        lambda rule: (rule.get("reverse") or rule["run"])["graph"]["inputs"].pop(),
        lambda rule: (rule.get("reverse") or rule["run"])["graph"]["outputs"].append(0),
        lambda rule: rule.__setitem__("kind", "python"),
    ):
        for number in range(len(rules)):
            wrong = json.loads(content[HEADER.size : HEADER.size + size])
            found = [n[2][0]["rule"] for n in wrong["traces"][0]["traced"]["nodes"] if n[0] == "custom"]
            change(found[number])
            path = tmp_path / "wrong"
            path.write_bytes(_packed(json.dumps(wrong).encode(), content[HEADER.size + size :]))
            with pytest.raises(ValueError, match="not a saved function"):
                wg.load(path)


# -- files as wholes ---------------------------------------------------------------------------------------------------


def _sized(n: int) -> wg.Function:
    """A function whose file is longer for larger n and tells it."""
    table = np.full(n, float(n))
    f = wg.function(lambda x: wg.sum(wg.tensor(table)) * 0.0 + x * float(n))
    f(1.0)
    return f


def _others(folder: Path, *known: Path) -> set[Path]:
    return {*folder.iterdir()} - {*known}


@pytest.mark.parametrize("kind", [str, os.fsencode, Path])
def test_paths_are_texts_bytes_and_path_objects(tmp_path, kind):
    path = kind(str(tmp_path / "größe"))
    wg.save(_sized(3), path)
    assert wg.load(path)(1.0) == 3.0
    assert not _others(tmp_path, tmp_path / "größe")
    Path(os.fsdecode(path)).write_bytes(b"damaged")
    with pytest.raises(ValueError, match="größe is not a saved function"):
        wg.load(path)


def test_a_file_name_as_long_as_names_can_be_is_saved_to(tmp_path):
    path = tmp_path / ("n" * 255)
    wg.save(_sized(3), path)
    assert wg.load(path)(1.0) == 3.0


@pytest.mark.parametrize("others", ["threads", "processes"])
def test_who_loads_while_others_save_sees_one_whole_file(tmp_path, others):
    path = tmp_path / "f"
    sizes = [10, 100_000, 1000]
    functions = [_sized(n) for n in sizes]
    wg.save(functions[0], path)
    stop = time.monotonic() + 1.0

    def work(k: int) -> None:
        while time.monotonic() < stop:
            wg.save(functions[k], path)
            assert wg.load(path)(1.0) in sizes

    if others == "threads":
        in_threads(work, 3)
    else:
        program = (
            "import sys, time, numpy as np, wengert as wg\n"
            "from tests.programs.test_saving import _sized\n"
            "f, stop = _sized(int(sys.argv[2])), time.monotonic() + 1.0\n"
            "while time.monotonic() < stop:\n"
            "    wg.save(f, sys.argv[1])\n"
            f"    assert wg.load(sys.argv[1])(1.0) in {sizes}\n"
        )
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        commands = [[sys.executable, "-c", program, str(path), str(n)] for n in sizes[:2]]
        running = [subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) for command in commands]
        while any(process.poll() is None for process in running):
            assert wg.load(path)(1.0) in sizes
        assert [(p.returncode, p.communicate()[1]) for p in running] == [(0, "")] * 2
    assert not _others(tmp_path, path)


@pytest.mark.skipif(os.name != "posix", reason="Windows has no permission bits of this kind")
def test_permissions_of_a_file_stay_and_new_ones_go_by_the_umask(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"")
    old.chmod(0o604)
    before = os.umask(0o027)
    try:
        wg.save(_sized(3), old)
        wg.save(_sized(3), new)
    finally:
        os.umask(before)
    assert old.stat().st_mode & 0o7777 == 0o604
    assert new.stat().st_mode & 0o7777 == 0o640


@pytest.mark.skipif(os.name != "posix", reason="on Windows links take a right of their own")
def test_a_link_to_a_file_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    path, link = tmp_path / "there" / "f", tmp_path / "link"
    link.symlink_to(path)
    for n in (3, 4):  # one that leads nowhere yet, too
        wg.save(_sized(n), link)
        assert link.is_symlink() and wg.load(path)(1.0) == n


@pytest.mark.parametrize("step", ["open", "fsync", "replace", "chmod"])
@pytest.mark.parametrize("error", [OSError(28, "no room"), KeyboardInterrupt()])
def test_a_save_that_fails_leaves_what_was_there_and_nothing_else(tmp_path, monkeypatch, step, error):
    path = tmp_path / "f"
    wg.save(_sized(3), path)
    f = _sized(4)

    def fails(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fails)
        with pytest.raises(type(error)) as told:
            wg.save(f, path)
    if isinstance(error, OSError):
        assert told.value.filename == str(path)
    assert wg.load(path)(1.0) == 3.0
    assert not _others(tmp_path, path)


def test_a_save_to_where_no_file_can_be_tells_the_path_that_was_given(tmp_path):
    for path, error in ((tmp_path / "no folder" / "f", FileNotFoundError), (tmp_path, OSError)):
        with pytest.raises(error) as told:
            wg.save(_sized(3), path)
        assert told.value.filename == str(path)
    assert not _others(tmp_path)
