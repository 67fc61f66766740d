"""`save` and `load`: a traced function as a file of plain data.

The file is a header (magic, sizes, checksum), a JSON text, and the bytes of the arrays. Loading checks every size
before it allocates, looks ops up in the closed registry, verifies each graph, and never runs code from the file.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import importlib
import json
import math
import os
import struct
import zlib
from typing import Any, cast

import numpy as np

from .._compile.cache import Compiled
from .._compile.saved import Decoder, Encoder
from .._compile.trace import ArrayKey
from .._core import dtypes
from .._core.public import public
from .._core.user_line import at_user_line
from .._core.whole_files import write_whole
from .graph import Function
from .named_results import allow_named_results
from .specs import TensorSpec
from .variables import Variable

__all__ = ["load", "save"]

FilePath = str | bytes | os.PathLike[str] | os.PathLike[bytes]

_MAGIC = b"WENGERT\x01"
_LIBRARIES = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"MZ")  # how shared libraries begin
_HEADER = struct.Struct("<8sQQI")  # magic, bytes of JSON, bytes of arrays, CRC-32 of both

allow_named_results()


@public
def save(fn: Function[..., Any], path: FilePath) -> None:
    """Writes the traces of a function to a file, as data.

    Args:
        fn: a `wg.function` that has been called; every signature traced so far is saved, with the arrays it captured,
            the Variables it uses and the custom gradients in it.
        path: the file. It is written as a whole: who reads it, or a process that is killed, sees the old file or the
            new one. Its permissions stay, if there is one.

    Raises:
        TypeError: fn is not a `function`, or a trace holds Python code (a user's primitive, a custom gradient that
            could not be traced) or a value that is not data.
        ValueError: fn has not been traced yet.
        OSError: the file cannot be written; nothing is left behind.

    Example:
        >>> import os, tempfile, wengert as wg
        >>> f = wg.function(lambda x: x * wg.exp(x))
        >>> _ = f(1.0)
        >>> path = os.path.join(tempfile.mkdtemp(), "f.wengert")
        >>> wg.save(f, path)
        >>> bool(wg.load(path)(2.0) == f(2.0))
        True
    """
    if not isinstance(cast(Any, fn), Function):
        raise TypeError(at_user_line(f"save: wanted a wg.function, got {type(fn).__name__}"))
    write_whole(path, _encoded(fn))


def _encoded(fn: Function[..., Any]) -> list[bytes]:
    """What a file of a function holds, in pieces."""
    traces = fn.traces
    if not traces:
        raise ValueError(at_user_line("save: the function has not been traced yet; call it once, then save it"))
    encoder = Encoder()
    try:
        data = {
            "name": fn.name,
            "signature": _signature_data(encoder, fn),
            "traces": [
                {
                    "spec": encoder.spec(spec), "keys": [encoder.key(k) for k in keys], "default": default.name,
                    "traced": encoder.traced(compiled.traced),
                    "limits": [[p, *bounds] for p, bounds in (compiled.limits or {}).items()],
                }
                for (spec, keys, default), compiled in traces
            ],
        }  # fmt: skip
        data["variables"] = [_variable_data(encoder, v) for v in encoder.variables]
    except TypeError as error:
        raise TypeError(at_user_line(str(error))) from None
    return _pieces(data, encoder.arrays)


def _encoded_whole(fn: Function[..., Any]) -> bytes:
    return b"".join(_encoded(fn))


def _signature_data(encoder: Encoder, fn: Function[..., Any]) -> Any:
    if fn.input_signature is None:
        return None
    if not all(isinstance(s, TensorSpec) for s in fn.input_signature):
        raise TypeError("save: a nested input_signature cannot be saved")
    return [[encoder.attribute(s.shape), s.dtype.name] for s in fn.input_signature]


def _variable_data(encoder: Encoder, variable: object) -> list[Any]:
    if not isinstance(variable, Variable):
        raise TypeError(
            "save: the function reads or writes a buffer made outside of it, which is not saved; pass what it holds as "
            "an argument"
        )
    return [variable.name, variable.trainable, encoder.array(variable.numpy())]


def _pieces(data: dict[str, Any], arrays: list[np.ndarray[Any, Any]]) -> list[bytes]:
    data["arrays"] = [[a.dtype.name, list(a.shape)] for a in arrays]
    text = json.dumps(data, separators=(",", ":")).encode()
    body = b"".join(a.tobytes() for a in arrays)
    checksum = zlib.crc32(body, zlib.crc32(text))
    return [_HEADER.pack(_MAGIC, len(text), len(body), checksum), text, body]


@public
def load(path: FilePath) -> Function[..., Any]:
    """Reads a function that `save` wrote. No code from such a file is run.

    Of a shared library that `Function.export` wrote, it gives a function that calls the library with NumPy's arrays;
    that one is code, which runs as it is.

    Args:
        path: the file.

    Returns:
        A `Function` that gives what the saved one gave, for the signatures that were saved; it can be differentiated
        and called in other functions' gradients. Its Variables are new ones, with the values that were saved.

    Raises:
        ValueError: the file is not one of ours, or is damaged.
        OSError: it cannot be read.
        TypeError: (from the call) the arguments have a signature that was not saved.

    Example:
        >>> import os, tempfile, wengert as wg
        >>> f = wg.function(lambda x: x * x)
        >>> _ = f(3.0)
        >>> path = os.path.join(tempfile.mkdtemp(), "f.wengert")
        >>> wg.save(f, path)
        >>> wg.grad(wg.load(path))(3.0)
        np.float64(6.0)
    """
    with open(os.fspath(path), "rb") as file:
        content = file.read()
    if content.startswith(_LIBRARIES):
        return importlib.import_module(".exporting", __package__).load_library(os.path.abspath(os.fsdecode(path)))
    try:
        return _decoded(content)
    except Exception as error:
        message = f"load: {os.fsdecode(path)} is not a saved function, or is damaged: {error}"
        raise ValueError(at_user_line(message)) from None


def _decoded(content: bytes) -> Function[..., Any]:
    data, arrays = _read(content)
    name = str(data["name"])
    variables = [
        Variable(arrays[int(index)], trainable=bool(trainable), name=str(label))
        for label, trainable, index in data["variables"]
    ]
    decoder = Decoder(arrays, variables)
    signature = data["signature"]
    specs = None if signature is None else [TensorSpec(decoder.attribute(s), dtype) for s, dtype in signature]
    fn = Function(_unsaved(name), specs, None, name)
    for item in data["traces"]:
        keys = tuple(decoder.key(k) for k in item["keys"])
        default = dtypes.as_dtype(item["default"])
        traced = decoder.traced(item["traced"])
        _require_signature(keys, traced.graph)
        compiled = Compiled(traced)
        bounds = {int(p): (int(low), int(high)) for p, low, high in item.get("limits", ())}
        compiled.limits = bounds or None
        compiled.stretches = [bounds] if bounds else []
        fn.add_trace((decoder.spec(item["spec"]), keys, default), compiled)
    fn.keeps_by(_decoded, _encoded_whole)
    return fn


def _require_signature(keys: tuple[Any, ...], graph: Any) -> None:
    """Raises unless the graph takes what the signature says: calls are compared with the signature alone."""
    arrays = [key for key in keys if isinstance(key, ArrayKey)]
    if len(arrays) != len(graph.inputs):
        raise ValueError("a signature has another number of arrays than the graph takes")
    for key, value in zip(arrays, graph.inputs, strict=True):
        if key.dtype != value.dtype or len(key.shape) != len(value.shape):
            raise ValueError("a signature has an array of another type than the graph takes")
        for told, extent in zip(key.shape, value.shape, strict=True):
            if type(extent) is int and told != extent:
                raise ValueError("a signature has an array of another shape than the graph takes")


def _unsaved(name: str) -> Any:
    """What stands where the Python function was: a call that needs a new trace ends here."""

    def function(*args: object, **kwargs: object) -> Any:
        raise TypeError(
            at_user_line(
                f"{name}: these arguments have a signature (structure, shapes, dtypes, static values) that was not "
                "saved"
            )
        )

    return function


def _read(content: bytes) -> tuple[dict[str, Any], list[np.ndarray[Any, Any]]]:
    """The JSON data and the arrays of a file, all sizes checked against what is there."""
    if len(content) < _HEADER.size:
        raise ValueError("the file is too short")
    magic, text_size, body_size, checksum = _HEADER.unpack_from(content)
    if magic != _MAGIC:
        raise ValueError("it does not start as a saved function does")
    if len(content) != _HEADER.size + text_size + body_size:
        raise ValueError("its size is not what its header says")
    if zlib.crc32(content[_HEADER.size :]) != checksum:
        raise ValueError("its checksum is wrong")
    data = json.loads(content[_HEADER.size : _HEADER.size + text_size])
    return data, _arrays(data["arrays"], memoryview(content)[_HEADER.size + text_size :])


def _arrays(table: list[Any], body: memoryview) -> list[np.ndarray[Any, Any]]:
    arrays: list[np.ndarray[Any, Any]] = []
    start = 0
    for name, shape in table:
        if name not in dtypes.SUPPORTED_NAMES or not all(type(d) is int and d >= 0 for d in shape):
            raise ValueError("an array has no possible type")
        dtype = dtypes.as_dtype(name)
        stop = start + math.prod(shape) * dtype.itemsize  # Python integers: no overflow to hide behind
        if stop > len(body):
            raise ValueError("an array goes past the end")
        array = np.frombuffer(body[start:stop], np.uint8).copy().view(dtype).reshape(shape)
        if dtype == np.bool_ and array.size and int(array.view(np.uint8).max()) > 1:
            raise ValueError("a boolean is neither true nor false")
        arrays.append(array)
        start = stop
    if start != len(body):
        raise ValueError("there is more than its arrays")
    return arrays
