"""Traced functions as data: graphs, signatures and structures to plain JSON values and a table of arrays, and back.

Nothing here runs code from a file: ops are looked up in the closed registry, containers in a closed list, and every
graph that comes back is checked by the verifier.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from .._control.custom import CustomRule, custom_op
from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.dims import Atom, Dim, floordiv, map_attribute, maximum
from .._core.graph import Graph, Node
from .._core.op import REGISTRY
from .._core.structure import LEAF, Spec
from .._core.tensor import Tensor, Value, fresh
from .._core.types import TensorType, tensor_type
from .._core.verifier import verify
from .saved_regions import REGIONS, region_data, region_from
from .saved_rules import rule_data, rule_from
from .trace import ArrayKey, Static, Traced

CUSTOM = "custom"

_CONTAINERS: dict[str, type] = {"list": list, "tuple": tuple, "dict": dict}
_DIM_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "floordiv": floordiv, "mod": operator.mod, "max": maximum,
}  # fmt: skip


def allow_container(kind: type) -> None:
    """Lets results of a class of ours (a named tuple) be saved."""
    _CONTAINERS[kind.__name__] = kind


class Encoder:
    """Turns values into JSON; arrays go to a table, unknown dimensions are numbered."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.variables: list[Any] = []  # in the order in which they are met; saved once for all traces
        self._variable_places: dict[int, int] = {}
        self._atoms: dict[Atom, int] = {}
        self._values: dict[int, int] = {}
        self._dims: tuple[Callable[[Dim], Any], ...] = ()  # what an inner graph's dimensions are outside, inmost first

    def traced(self, traced: Traced) -> dict[str, Any]:
        """A traced function; its Variables by their position in `variables`."""
        return {
            **self.graph(traced.graph),
            "results": self.spec(traced.results),
            "places": [self.key(p) if isinstance(p, Static) else p for p in traced.places],
        }

    def graph(self, graph: Graph) -> dict[str, Any]:
        """A graph, whose values are numbered by themselves."""
        outer, self._values = self._values, {}
        data = {
            "name": graph.name,
            "inputs": [self.value(v) for v in graph.inputs],
            "captures": [[self.value(v), self.array(t.numpy())] for t, v in graph.captures.values()],
            "reads": [[self.value(v), self.variable(variable)] for variable, v in graph.reads.values()],
            "nodes": [self.node(node) for node in graph.nodes],
            "outputs": [self._values[v.key] for v in self.outputs(graph)],
            "writes": [self.variable(variable) for variable, _ in graph.writes.values()],
            "equal": [[self.attribute(x), self.attribute(y)] for x, y in graph.guards.equal],
            "not_one": [self.attribute(x) for x in graph.guards.not_one],
            "elsewhere": [[self.attribute(x), self.attribute(y)] for x, y in graph.guards.elsewhere],
        }
        self._values = outer
        return data

    def outputs(self, graph: Graph) -> list[Value]:
        return graph.outputs

    @contextmanager
    def inside(self, dims: Callable[[Dim], Any] | None) -> Generator[None]:
        """For graphs inside a node: `dims` says what their dimensions have become since they were traced."""
        outer, self._dims = self._dims, self._dims if dims is None else (dims, *self._dims)
        yield
        self._dims = outer

    def variable(self, variable: Any) -> int:
        """The place of a Variable."""
        place = self._variable_places.setdefault(variable._key, len(self.variables))
        if place == len(self.variables):
            self.variables.append(variable)
        return place

    def value(self, value: Value) -> list[Any]:
        self._values[value.key] = len(self._values)
        return [self.attribute(tuple(value.shape)), value.dtype.name, value.name, value.weak]

    def node(self, node: Node) -> list[Any]:
        is_custom = node.op.name == CUSTOM and isinstance(node.attrs[0], CustomRule)
        if not (is_custom or REGISTRY.get(node.op.name) is node.op):
            raise TypeError(f"save: the op {node.op.name} cannot be saved: it holds Python code or an inner graph")
        return [node.op.name, *self.applied(node)]

    def applied(self, node: Node) -> list[Any]:
        """What a node is beside its op."""
        inputs = [self._values[v.key] for v in node.inputs]
        attrs = [self.attribute(a) for a in node.attrs]
        return [inputs, attrs, [self.value(v) for v in node.outputs], node.is_quiet]

    def array(self, array: Any) -> int:
        self.arrays.append(np.ascontiguousarray(array).reshape(np.shape(array)))
        return len(self.arrays) - 1

    def attribute(self, value: ArrayLike | None) -> Any:
        """An attribute or static value, tagged with its kind."""
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, (np.ndarray, np.generic)):
            return {"array": self.array(value)}
        if isinstance(value, np.dtype):
            return {"dtype": value.name}
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return {"float": value.hex()}
        if isinstance(value, complex):
            return {"complex": [value.real.hex(), value.imag.hex()]}
        if isinstance(value, tuple):
            return {"tuple": [self.attribute(v) for v in cast("tuple[Any, ...]", value)]}
        if isinstance(value, slice):
            return {"slice": [self.attribute(v) for v in (value.start, value.stop, value.step)]}
        if isinstance(value, CustomRule):
            return {"rule": rule_data(self, value)}
        if isinstance(value, REGIONS):
            return {"region": region_data(self, value)}
        if isinstance(value, Dim):
            return self.dim(value)
        raise TypeError(f"save: a value of type {type(value).__name__} cannot be saved: {value!r}")

    def dim(self, dim: Dim) -> Any:
        """A dimension as an expression in those of the outermost graph."""
        changes, self._dims = self._dims, ()
        found: Any = dim
        for change in changes:
            found = map_attribute(found, change)
        data = self.terms(found) if isinstance(found, Dim) else self.attribute(found)
        self._dims = changes
        return data

    def terms(self, dim: Dim) -> Any:
        return {"dim": [[c, [self.atom(a) for a in m]] for m, c in dim.terms.items()]}

    def atom(self, atom: Atom) -> Any:
        if atom.operation:
            return [atom.operation, [self.attribute(a) for a in atom.arguments]]
        found = [self._atoms.setdefault(atom, len(self._atoms)), atom.name]
        return [*found, True] if atom.is_late else found

    def key(self, key: Any) -> Any:
        if isinstance(key, ArrayKey):
            found = {"shape": self.attribute(key.shape), "dtype": key.dtype.name, "weak": key.weak}
            return {**found, "bare": True} if key.is_bare else found
        return {"static": self.attribute(key.value)}

    def spec(self, spec: Spec | None) -> Any:
        if spec is None:  # a leaf
            return None
        name = spec.kind.__name__
        if _CONTAINERS.get(name) is not spec.kind:
            raise TypeError(f"save: a structure of type {name} cannot be saved; use lists, tuples and dicts")
        keys = None if spec.keys is None else [self.attribute(k) for k in spec.keys]
        return [name, keys, [self.spec(c) for c in spec.children]]


class Decoder:
    """Turns JSON values back; whatever does not fit is an error, and nothing is run."""

    def __init__(self, arrays: Sequence[np.ndarray[Any, Any]], variables: Sequence[Any]) -> None:
        self.arrays = arrays
        self.variables = variables
        self._atoms: dict[int, Atom] = {}
        self._values: list[Value] = []

    def traced(self, data: dict[str, Any]) -> Traced:
        """A traced function, verified."""
        graph = self.graph(data)
        return Traced(graph, self.spec(data["results"]), self._places(data, graph))

    def graph(self, data: dict[str, Any], *, is_inner: bool = False) -> Graph:
        """A graph, verified. `is_inner`: it is part of another one."""
        variables = self.variables
        graph = Graph(_text(data["name"]))
        outer, self._values = self._values, []
        for item in data["inputs"]:
            graph.inputs.append(self.value(item, graph))
        for item, array in data["captures"]:
            tensor = fresh(np.array(self.arrays[_index(array, self.arrays)])[()])
            graph.captures[tensor._key] = (tensor, self.value(item, graph))
        for item, place in data["reads"]:
            variable = variables[_index(place, variables)]
            graph.reads[variable._key] = (variable, self.value(item, graph))
        graph.nodes = [self.node(item, graph) for item in data["nodes"]]
        graph.outputs = [self._values[_index(i, self._values)] for i in data["outputs"]]
        self._check_free_values(graph)
        for x, y in data["equal"]:
            graph.guards.require_equal(self.attribute(x), self.attribute(y))
        for x in data["not_one"]:
            graph.guards.require_not_one(self.attribute(x))
        graph.guards.elsewhere = [(self.attribute(x), self.attribute(y)) for x, y in data.get("elsewhere", [])]
        self._restore_writes(graph, data["writes"])
        graph.is_frozen = True
        verify(graph, is_inner=is_inner, adds_guards=True)
        self._values = outer
        return graph

    def _check_free_values(self, graph: Graph) -> None:
        held = [(t.shape, t.dtype, v) for t, v in graph.captures.values()]
        held += [(variable.shape, variable.dtype, v) for variable, v in graph.reads.values()]
        if any(tuple(v.shape) != tuple(shape) or v.dtype != dtype for shape, dtype, v in held):
            raise ValueError("a captured array has another type than the graph says")

    def _restore_writes(self, graph: Graph, places: list[Any]) -> None:
        first = len(graph.outputs) - len(places)
        for place, value in zip(places, graph.outputs[first:], strict=True):
            variable = self.variables[_index(place, self.variables)]
            if tuple(value.shape) != tuple(variable.shape) or value.dtype != variable.dtype:
                raise ValueError("a Variable is written with another type than its own")
            graph.writes[variable._key] = (variable, Tensor(value, value.key))

    def _places(self, data: dict[str, Any], graph: Graph) -> tuple[Any, ...]:
        count = len(graph.outputs) - len(graph.writes)
        places = tuple(self.key(p) if isinstance(p, dict) else _index(p, range(count)) for p in data["places"])
        if len(places) != _leaf_count(self.spec(data["results"])):
            raise ValueError("the results do not fit their structure")
        return places

    def value(self, item: Any, graph: Graph) -> Value:
        shape, dtype, name, weak = item
        extents, dtype = self.type((shape, dtype))
        value = Value(extents, dtype, graph.serial, _text(name), bool(weak))
        self._values.append(value)
        return value

    def type(self, item: Any) -> TensorType:
        """A shape and a dtype."""
        shape, dtype = item
        extents = self.attribute(shape)
        if not isinstance(extents, tuple) or any(
            type(d) not in (int, Dim) or (type(d) is int and d < 0) for d in cast("tuple[Any, ...]", extents)
        ):
            raise ValueError("a shape is not one")
        return tensor_type(cast("tuple[Any, ...]", extents), _dtype(dtype))

    def node(self, item: Any, graph: Graph) -> Node:
        name, inputs, attrs, outputs, is_quiet = item
        operands = self.operands(inputs)
        if name == CUSTOM:
            rule = rule_from(self, attrs[0]["rule"], operands)
            op: Any = custom_op(rule.inputs, rule.outputs, rule.kept, len(rule.captured))
            values: tuple[Any, ...] = (rule,)
        else:
            op = REGISTRY[_text(name)]
            values = tuple(self.attribute(a) for a in attrs)
        fits = len(operands) == len(op.operands) or (op.is_variadic and len(operands) >= op.fixed)
        if not fits or len(values) != len(op.attrs):
            raise ValueError(f"{op.name} has another number of operands or attributes")
        results = tuple(self.value(v, graph) for v in outputs)
        return Node(op, operands, results, values, None, bool(is_quiet))

    def operands(self, places: Sequence[Any]) -> tuple[Value, ...]:
        return tuple(self._values[_index(i, self._values)] for i in places)

    def attribute(self, data: Any) -> Any:
        if data is None or isinstance(data, (bool, str, int)):
            return data
        ((kind, body),) = data.items()
        if kind == "array":
            array = self.arrays[_index(body, self.arrays)]
            return array[()] if array.shape == () else array
        if kind == "dtype":
            return _dtype(body)
        if kind == "float":
            return float.fromhex(body)
        if kind == "complex":
            return complex(float.fromhex(body[0]), float.fromhex(body[1]))
        if kind == "tuple":
            return tuple(self.attribute(v) for v in body)
        if kind == "slice":
            return slice(*(self.attribute(v) for v in body))
        if kind == "dim":
            return self._dim(body)
        if kind == "region":
            return region_from(self, body)
        raise ValueError(f"unknown kind of value {kind!r}")

    def _dim(self, terms: Any) -> Any:
        total: Any = 0
        for coefficient, monomial in terms:
            product: Any = _integer(coefficient)
            for atom in monomial:
                product = product * self._atom(atom)
            total = total + product
        return total

    def _atom(self, data: Any) -> Any:
        first, second, *late = data
        if isinstance(first, int):
            atom = self._atoms.setdefault(first, Atom(_text(second), is_late=late == [True]))
            return Dim({(atom,): 1})
        return _DIM_OPERATIONS[first](*(self.attribute(a) for a in second))

    def key(self, data: dict[str, Any]) -> Any:
        if "static" in data:
            return Static(self.attribute(data["static"]))
        is_bare = bool(data.get("bare", False))
        return ArrayKey(self.attribute(data["shape"]), _dtype(data["dtype"]), bool(data["weak"]), is_bare)

    def spec(self, data: Any) -> Spec | None:
        if data is None:
            return LEAF
        name, keys, children = data
        kind = _CONTAINERS[_text(name)]
        specs = tuple(self.spec(c) for c in children)
        fields = getattr(kind, "_fields", None)
        names = None if keys is None else tuple(self.attribute(k) for k in keys)
        wanted = len(fields) if fields is not None else len(specs) if names is None else len(names)
        if len(specs) != wanted or (kind is dict) != (names is not None):
            raise ValueError("a structure has another number of children than names")
        return Spec(kind, names, specs)


def _leaf_count(spec: Spec | None) -> int:
    return 1 if spec is None else sum(map(_leaf_count, spec.children))


def _integer(data: object) -> int:
    if type(data) is not int:
        raise ValueError("an integer was wanted")
    return data


def _text(data: object) -> str:
    if not isinstance(data, str):
        raise ValueError("a name was wanted")
    return data


def _index(data: Any, table: Any) -> int:
    if not 0 <= _integer(data) < len(table):
        raise ValueError("an index is out of range")
    return data


def _dtype(name: object) -> np.dtype[Any]:
    if name == dtypes.HISTORY.name:
        return dtypes.HISTORY
    if name not in dtypes.SUPPORTED_NAMES:
        raise ValueError(f"unknown dtype {name!r}")
    return dtypes.as_dtype(name)
