"""The engines: each runs primitives on one kind of array and never differentiates. They never import each other.

`numpy/`, `jax/`, `torch/` and `tensorflow/` are tables of kernels; each loads with the first array of its
framework. `source.py` (graphs as Python source, each buffer dropped after its last use) and `interpret.py` (as
instructions, for graphs of more than 2,000 nodes) run graphs by kernels, `regions.py` runs branches and loops for
every engine that has none of its own, and `native/` makes machine code for NumPy's arrays. An op with a `body`
needs no kernel: an entry beside it is faster or more accurate, and says by how much.

- A call gives the kind of array that came in. On a framework's tracers it is traced into a program
  (`_compile/bridge.py`).
- **JAX**: a program is one JAX primitive whose jvp, transpose and batch rules are our `split`, `jvp` and `batch`
  (`jax/programs.py`), and branches and loops are XLA's (`jax/regions.py`).
- **torch**: a tensor enters as an `Array`, which tells NumPy's dtype (`Engine.enter`, `leave`, `give`); programs
  run on the tensors themselves, after passes of their own (`torch/fusion.py`, `patterns.py`). Where torch follows
  an operand a program is one `torch.autograd.Function` (`torch/bridge.py`).
- **TensorFlow**: likewise a `Native`; where a tape follows an operand, or in a graph of its, a program is a
  `tf.custom_gradient`, whose gradient is such a program again (`tensorflow/programs.py`). `keras.py` says what
  Keras's variables stand for.
"""

from __future__ import annotations

import importlib

from .._core.engine import ENGINES, FRAMEWORKS, Engine

FRAMEWORKS.update({
    "jax": f"{__name__}.jax", "jaxlib": f"{__name__}.jax", "tensorflow": f"{__name__}.tensorflow",
    "torch": f"{__name__}.torch", "keras": f"{__name__}.keras",
})  # fmt: skip


def engine_named(name: str) -> Engine:
    """The engine of a name, loaded if it is not in use yet.

    Raises:
        ValueError: if there is none.
    """
    if name not in ENGINES:
        try:
            importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise  # the engine is there, the framework that it needs is not
    if name not in ENGINES:
        raise ValueError(f"there is no engine named {name!r}")
    return ENGINES[name]
