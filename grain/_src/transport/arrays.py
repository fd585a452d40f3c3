"""How arrays are pickled: what `pickle` is told to do with NumPy arrays, torch tensors and JAX arrays.

NumPy's own way costs twice as much for small arrays, copies whatever is not contiguous, and keeps dtypes that do not
export a buffer (datetime64, bfloat16) in the stream. Here an array becomes a call of `np.ndarray` on a buffer, and the
buffer is placed by whoever pickles: in shared memory, or in the stream.
"""

import copyreg
import sys
from collections.abc import Callable
from importlib import import_module
from pickle import PickleBuffer
from typing import Any, cast

import numpy as np

Array = np.ndarray[Any, Any]
Reduction = tuple[Any, ...]
Place = Callable[[Array], "tuple[Any, ...] | None"]
"""Puts a large array somewhere: the (buffer, offset, strides) to view it through; None to leave it in the stream."""

PROTOCOL = 5


def reducers(place: Place, min_bytes: int) -> dict[type, Callable[[Any], Any]]:
    """A pickler's `dispatch_table` in which arrays of `min_bytes` and more go through `place`."""

    def reduce_array(array: Array) -> Reduction:
        dtype = array.dtype
        if dtype.hasobject or not dtype.itemsize:
            return cast(Reduction, array.__reduce_ex__(PROTOCOL))
        # The short name is cheaper to read back; it says everything for the plain types only.
        name = dtype.str if dtype.isbuiltin == 1 and dtype.metadata is None else dtype
        if array.nbytes >= min_bytes:
            placed = place(array)
            if placed is not None:
                return np.ndarray, (array.shape, name, *placed)
        flags = array.flags
        data: Any
        if array.nbytes >= min_bytes and flags.forc:
            data = PickleBuffer(flat_bytes(array).data)  # spares a copy, which `tobytes` would make
        elif flags.writeable:
            data = bytearray(array.tobytes("A"))
        else:
            data = array.tobytes("A")
        if flags.fnc:
            return np.ndarray, (array.shape, name, data, 0, None, "F")
        return np.ndarray, (array.shape, name, data)

    table: dict[type, Callable[[Any], Any]] = dict(copyreg.dispatch_table)
    table[np.ndarray] = reduce_array
    # Only what somebody has imported can occur in an element.
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "Tensor"):
        table[torch.Tensor] = _reduce_tensor
    jax_array = sys.modules.get("jax._src.array")
    if jax_array is not None and hasattr(jax_array, "ArrayImpl"):
        table[jax_array.ArrayImpl] = _reduce_jax_array
    return table


def flat_bytes(array: Array) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The memory of a contiguous array (C or Fortran order), in its order; read-only if the array is."""
    return array.ravel("K").view(np.uint8)


def address_of(array: Array) -> int:
    """Where the first element is."""
    return cast(int, array.__array_interface__["data"][0])


def _reduce_tensor(tensor: Any) -> Reduction:
    torch = sys.modules["torch"]
    plain = (
        tensor.layout is torch.strided
        and tensor.device.type == "cpu"
        and not tensor.requires_grad
        and not tensor.is_quantized
        and not tensor.is_conj()
        and not tensor.is_neg()
        and not tensor.__dict__
    )
    if plain:
        try:
            return _restore_tensor, (tensor.numpy(), None)
        except TypeError:  # bfloat16, float8: NumPy has no such type, so they travel as integers of their width
            integer = {1: torch.uint8, 2: torch.int16}.get(tensor.element_size())
            if integer is not None:
                return _restore_tensor, (tensor.view(integer).numpy(), tensor.dtype)
    return cast(Reduction, tensor.__reduce_ex__(PROTOCOL))


def _restore_tensor(array: Array, dtype: Any) -> Any:
    tensor = import_module("torch").from_numpy(array)
    return tensor if dtype is None else tensor.view(dtype)


def _reduce_jax_array(array: Any) -> Reduction:
    if array.weak_type or not array.is_fully_addressable:
        return cast(Reduction, array.__reduce__())
    return _restore_jax_array, (np.asarray(array),)


def _restore_jax_array(array: Array) -> Any:
    return import_module("jax.numpy").asarray(array)
