"""Typical uses of packages that depend on HIPS/autograd, run with ours in its place.

The wanted values are those of autograd 1.9.1 itself (legume's of differences: autograd 1.9 fails there). Each runs in a
process of its own, since a package means one autograd; without the package the test is skipped.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = {
    "pennylane": (
        """
        import pennylane as qml
        from pennylane import numpy as pnp
        device = qml.device("default.qubit", wires=2)
        @qml.qnode(device, diff_method="parameter-shift", max_diff=2)
        def shifted(p):
            qml.RX(p[0], wires=0); qml.RY(p[1], wires=1)
            return qml.expval(qml.PauliZ(0) @ qml.PauliZ(1))
        @qml.qnode(device)
        def circuit(p):
            qml.RX(p[0], wires=0); qml.RY(p[1], wires=1); qml.CNOT(wires=[0, 1]); qml.Rot(p[2], p[0], p[1], wires=1)
            return qml.expval(qml.PauliZ(1))
        x = pnp.array([0.1, 0.2, 0.3], requires_grad=True)
        step = qml.AdamOptimizer(0.3).step(circuit, x)
        result = [*qml.grad(circuit)(x), *qml.jacobian(qml.grad(shifted))(x)[0], *step]
        """,
        [-0.38355704, -0.29016262, 0.0058613, -0.97517033, 0.01983384, 0.0, 0.39999992, 0.4999999, 5.12e-06],
    ),
    "autoray": (
        """
        import autograd, autoray, numpy
        def f(x):
            return autoray.do("sum", autoray.do("tanh", autoray.do("einsum", "i,i->i", x, x)))
        result = autograd.grad(f)(numpy.array([0.1, 0.2, 0.3]))
        """,
        [0.19998, 0.39936068, 0.59516612],
    ),
    "autograd_gamma": (
        """
        from autograd import grad
        from autograd_gamma import betainc, gammainc
        result = [grad(gammainc)(2.0, 1.3), grad(gammainc, 1)(2.0, 1.3), grad(betainc, 0)(2.0, 1.3, 0.4)]
        """,
        [-0.30742774, 0.35429133, -0.17882767],
    ),
    "lifelines": (
        """
        from lifelines import WeibullAFTFitter, WeibullFitter
        from lifelines.datasets import load_rossi, load_waltons
        data = load_waltons()
        fit = WeibullFitter().fit(data["T"], data["E"])
        result = [*fit.params_, fit.log_likelihood_, WeibullAFTFitter().fit(load_rossi(), "week", "arrest").log_likelihood_]
        """,
        [55.733097, 3.45050541, -672.06218727, -679.91656395],
    ),
    "pymanopt": (
        """
        import autograd.numpy as anp, numpy, pymanopt
        A = numpy.diag(numpy.arange(1.0, 5.0)) + 0.1
        sphere = pymanopt.manifolds.Sphere(4)
        @pymanopt.function.autograd(sphere)
        def cost(x):
            return -x @ A @ x
        problem = pymanopt.Problem(sphere, cost)
        x = numpy.ones(4) / 2
        result = [*problem.riemannian_gradient(x), *problem.riemannian_hessian(x, numpy.array([1.0, 0.0, 0.0, -1.0]))]
        """,
        [1.5, 0.5, -0.5, -1.5, 2.3, -1.5, -1.5, 0.7],
    ),
    "pyerrors": (
        """
        import autograd.numpy as anp, numpy, pyerrors
        a, b = pyerrors.pseudo_Obs(2.3, 0.1, "e1", 1000), pyerrors.pseudo_Obs(1.1, 0.2, "e2", 1000)
        c = pyerrors.derived_observable(lambda x: anp.sin(x[0]) * x[1] ** 2, [a, b])
        inverse = pyerrors.linalg.inv(numpy.array([[a, b], [b, a]]))
        result = [c.value, inverse[0, 0].value, pyerrors.roots.find_root(a, lambda x, d: x**2 - d).value]
        """,
        [0.90230331, 0.56372549, 1.51657509],
    ),
    "surpyval": (
        """
        import numpy, surpyval
        x, c = numpy.array([1.0, 3, 4, 6, 8, 11, 14, 20]), numpy.array([0, 0, 1, 0, 0, 0, 1, 0])
        result = [*surpyval.Weibull.fit(x, c=c).params, *surpyval.LogNormal.fit(x, c=c).params]
        """,
        [11.2289135, 1.31465476, 2.01783139, 1.04536427],
    ),
    "legume": (
        """
        import autograd.numpy as anp, legume
        from autograd import grad
        legume.set_backend("autograd")
        def f(r):
            crystal = legume.PhotCryst(legume.Lattice("square"))
            crystal.add_layer(d=0.5, eps_b=8.0); crystal.add_shape(legume.Circle(r=r, eps=1.0))
            modes = legume.GuidedModeExp(crystal, gmax=3.0)
            modes.run(kpoints=anp.array([[0.3], [0.1]]), gmode_inds=[0], numeig=3, verbose=False)
            return modes.freqs[0, 1]
        legume.set_backend("numpy"); plain = (f(0.3 + 1e-5) - f(0.3 - 1e-5)) / 2e-5
        legume.set_backend("autograd"); result = [float(grad(f)(0.3) - plain)]
        """,
        [0.0],
    ),
    "ceviche": (
        """
        import autograd.numpy as anp, numpy
        from ceviche import fdfd_ez, fdfd_hz, fdtd, jacobian
        source = numpy.zeros((24, 24), complex); source[8, 12] = 1e6
        omega, epsilon = 4e14 * numpy.pi, 1.5 + 0.5 * numpy.cos(numpy.arange(576.0))
        def electric(e):
            return anp.abs(fdfd_ez(omega, 5e-8, e.reshape(24, 24), [5, 5]).solve(source)[2][16, 12]) ** 2
        def magnetic(e):
            field = fdfd_hz(omega, 5e-8, e.reshape(24, 24), [5, 5]).solve(source)[2]
            return 1e6 * anp.sum(anp.square(anp.abs(field[14:18, 10:14])))
        def in_time(p):
            box, pulse, total = fdtd(p * numpy.ones((12, 12, 1)), 5e-8, [0, 0, 0]), numpy.zeros((12, 12, 1)), 0.0
            pulse[6, 6, 0] = 1.0
            for _ in range(8):
                total = total + anp.sum(box.forward(Jz=pulse)["Ez"] ** 2)
            return total
        steps = [jacobian(f, mode="reverse")(epsilon)[0] for f in (electric, magnetic)]
        scaled = [jacobian(lambda p: electric(p[0] * epsilon), mode=m)(numpy.ones(1)) for m in ("forward", "reverse")]
        in_times = jacobian(in_time, mode="reverse")(numpy.array(1.3))
        result = [*steps[0][[100, 300]], *steps[1][[100, 300]], *scaled[0].ravel(), *scaled[1].ravel(), *in_times.ravel()]
        """,
        [0.00518327614, 0.00560079736, -7.44464652e-6, -3.09424599e-7, -0.140425434, -0.140425434, -17.2103010],
    ),
}  # fmt: skip


@pytest.mark.parametrize("package", PROGRAMS)
def test_a_package_that_depends_on_autograd_gives_the_same_numbers(package: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    program, wanted = PROGRAMS[package]
    lines = [line[8:] for line in program.splitlines()]
    told = ["import json", "print('found', json.dumps([float(v) for v in result]))"]
    script = tmp_path / "program.py"
    script.write_text("\n".join([*lines, *told]))
    command = [sys.executable, "-W", "ignore", "-m", "wengert.compat.autograd", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("found "))[6:])
    assert found == pytest.approx(wanted, rel=1e-5, abs=1e-6)
