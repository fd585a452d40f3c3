"""NumPy files: rows of .npy and .npz, and windows of long token files. Memory-mapped, opened where they are read."""

import os
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from grain._src.arguments import positive
from grain._src.errors import SourceError
from grain._src.sources import files
from grain._src.sources.arrays import ArrayDataSource
from grain._src.sources.base import DataSource, IndexArray
from grain._src.sources.bounded_cache import BoundedCache
from grain._src.sources.shards import Shards

_ZIP_MAGIC = b"PK"


class NumpyDataSource(DataSource[Any]):
    """The rows of a .npy file, or of the arrays of one length in a .npz file as dicts.

    A .npy file is memory-mapped: only the rows that are asked for are read. The arrays of a .npz file are compressed
    or packed, so they are read whole when the first element is asked for.
    """

    def __init__(self, path: files.PathLike) -> None:
        self._path = files.only(path, "give each its own source and join them with grain.MapDataset.concatenate")
        self._rows: ArrayDataSource | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._open())

    def __repr__(self) -> str:
        return f"NumpyDataSource(path={self._path!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {"_path": self._path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _rows=None, _lock=threading.Lock())

    def _open(self) -> ArrayDataSource:
        if self._rows is None:
            with self._lock:
                if self._rows is None:
                    self._rows = _rows(self._path)
        return self._rows

    def _read_one(self, key: int) -> Any:
        return self._open()._read_one(key)

    def _read(self, keys: IndexArray) -> list[Any]:
        return self._open()._read(keys)

    def gather(self, keys: IndexArray) -> Any:
        """Returns the rows at `keys` stacked."""
        return self._open().gather(keys)


def _rows(path: str) -> ArrayDataSource:
    loaded = load_array(path)
    try:
        return ArrayDataSource(loaded)
    except ValueError as error:
        raise SourceError(f"{path!r} cannot be read row by row: {error}") from error


def load_array(path: str) -> npt.NDArray[Any] | Mapping[str, npt.NDArray[Any]]:
    """Returns the array of a .npy file, memory-mapped, or the arrays of a .npz file."""
    try:
        with open(path, "rb") as file:
            if file.read(2) == _ZIP_MAGIC:
                file.seek(0)
                archive = np.load(file, allow_pickle=False)
                return {name: archive[name] for name in archive.files}
        # As a plain view: a row of a memmap would keep the class and its cost.
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except FileNotFoundError:
        raise
    except Exception as error:  # the parsers of headers and archives raise what their parts raise, tokenizers included
        raise SourceError(f"{path!r} is not a sound NumPy file: {error}") from error


class TokenDataSource(DataSource[npt.NDArray[Any]]):
    """Windows of `window` tokens from long memory-mapped files of token ids, for language models.

    Windows begin every `stride` tokens (by default one after the other), do not cross files, and a rest that does not
    fill a window is left out. For inputs and targets that overlap by one token take `window=n + 1, stride=n`.

    Args:
      paths: .npy files of one dimension, or raw files (".bin"), a pattern or a sequence of these.
      window: how many tokens an element has.
      dtype: what a raw file consists of, such as "uint16"; .npy files say it themselves.
    """

    def __init__(
        self, paths: files.Paths, *, window: int, dtype: npt.DTypeLike | None = None, stride: int | None = None
    ) -> None:
        self._paths = files.expand(paths)
        self._window = positive("window", window)
        self._stride = self._window if stride is None else positive("stride", stride)
        self._dtype = None if dtype is None else np.dtype(dtype)
        if self._dtype is not None and self._dtype.kind not in "iu":
            raise ValueError(f"dtype must be an integer type, got {self._dtype}")
        self._open = BoundedCache(self._map_tokens, files.open_limit())
        self._shards: Shards | None = None

    def __len__(self) -> int:
        return self._layout().total

    def __repr__(self) -> str:
        dtype = None if self._dtype is None else self._dtype.name
        return f"TokenDataSource(paths={files.describe(self._paths)}, window={self._window}, stride={self._stride}, dtype={dtype})"

    def _map_tokens(self, path: str) -> npt.NDArray[Any]:
        if os.path.splitext(path)[1] == ".npy":
            tokens = load_array(path)
            if not isinstance(tokens, np.ndarray) or tokens.ndim != 1 or tokens.dtype.kind not in "iu":
                raise SourceError(f"{path!r} must hold one array of integers with one dimension")
            return tokens
        if self._dtype is None:
            raise ValueError(f"dtype must be given for raw token files such as {path!r}")
        data = files.map_file(path)
        if len(data) % self._dtype.itemsize:
            raise SourceError(
                f"{path!r} has {len(data)} bytes, not a multiple of the {self._dtype.itemsize} of a token"
            )
        return np.frombuffer(data, self._dtype)

    def _layout(self) -> Shards:
        if self._shards is None:
            counts = (len(self._open.get(path)) for path in self._paths)
            self._shards = Shards([max(0, (count - self._window) // self._stride + 1) for count in counts])
        return self._shards

    def _read_one(self, key: int) -> npt.NDArray[Any]:
        shard, offset = self._layout().locate(key)
        begin = offset * self._stride
        return self._open.get(self._paths[shard])[begin : begin + self._window].copy()

    def _read(self, keys: IndexArray) -> list[npt.NDArray[Any]]:
        return self._layout().read(keys, self._read_shard)

    def _read_shard(self, shard: int, offsets: IndexArray) -> list[npt.NDArray[Any]]:
        tokens, window = self._open.get(self._paths[shard]), self._window
        return [tokens[begin : begin + window].copy() for begin in (offsets * self._stride).tolist()]
