"""Random pipelines for property tests: plain descriptions that hypothesis can shrink, and what they mean."""

import zlib

import numpy as np
from hypothesis import strategies as st

import grain
from grain import experimental as ex
from grain.transforms import DatasetSelectionMap, FlatMap

M, I = grain.MapDataset, grain.IterDataset  # noqa: E741


def plain(element):
    """An element as nested tuples, with the kinds of arrays and containers kept."""
    if isinstance(element, np.ndarray):
        return ("array", str(element.dtype), element.shape, plain(element.ravel().tolist()))
    if isinstance(element, (list, tuple)):
        return (type(element).__name__, *map(plain, element))
    if isinstance(element, dict):
        return ("dict", *((key, plain(value)) for key, value in element.items()))
    return element


def digest(element, salt=0):
    """A number that depends on the whole element, whatever it is."""
    return zlib.crc32(repr((salt, plain(element))).encode()) % 1000


class Boom(Exception):
    pass


def fail(element):
    if digest(element) % 13 == 5:
        raise Boom(f"cannot take {plain(element)!r:.60}")
    return element


def hole(element):
    return None if digest(element) % 7 == 1 else element


def keep(element):
    return digest(element) % 5 != 2


def noise(element, rng):
    return digest(element), int(rng.integers(1000))


def number(index, element):
    return index, digest(element)


class Fan(FlatMap):
    max_fan_out = 3

    def flat_map(self, element):
        return [digest(element, salt) for salt in range(digest(element) % 4 % 3)]


class Selection(DatasetSelectionMap):
    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return index % 2, index * 3 % 11


class OwnMap(M):
    """Every second element, in pairs."""

    def __len__(self):
        return len(self._parent) // 2

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self.slice(index)
        epoch, offset = divmod(index, len(self))
        return self._parent[epoch * len(self._parent) + 2 * offset]


class OwnStream(I):
    def __iter__(self):
        return OwnIterator(self._parent.__iter__())


class OwnIterator(grain.DatasetIterator):
    """A running digest of everything so far."""

    def __init__(self, parent):
        super().__init__(parent)
        self.sum = 0

    def __next__(self):
        self.sum += digest(next(self._parent))
        return self.sum

    def get_state(self):
        return {"parent": self._parent.get_state(), "sum": self.sum}

    def set_state(self, state):
        self._parent.set_state(state["parent"])
        self.sum = state["sum"]


ARRAY = np.arange(60).reshape(20, 3)
SOURCES = {
    "range": lambda: M.range(17),
    "stepped range": lambda: M.range(50, 3, -4),
    "list": lambda: M.source([{"x": i, "y": "a" * (i % 3)} for i in range(14)]),
    "array": lambda: M.source(ARRAY),
    "one": lambda: M.range(1),
    "none": lambda: M.range(0),
}
MAP_OPS = {
    "map": lambda ds: ds.map(digest),
    "fail": lambda ds: ds.map(fail),
    "hole": lambda ds: ds.map(hole),
    "filter": lambda ds: ds.filter(keep),
    "random": lambda ds: ds.random_map(noise, seed=3),
    "number": lambda ds: ds.map_with_index(number),
    "shuffle": lambda ds: ds.shuffle(seed=5),
    "slice": lambda ds: ds[1::2],
    "reverse": lambda ds: ds[::-1],
    "pick": lambda ds: ds.slice([i * 7 % len(ds) for i in range(len(ds) + 2)]) if len(ds) else ds,
    "repeat": lambda ds: ds.repeat(2),
    "repeat the same": lambda ds: ds.repeat(2, reseed_each_epoch=False),
    "batch": lambda ds: ds.batch(3, batch_fn=tuple),
    "stack": lambda ds: ds.map(digest).batch(4),
    "stack as it is": lambda ds: ds.batch(2, drop_remainder=True),
    "fan": lambda ds: ex.FlatMapMapDataset(ds, Fan()),
    "window": lambda ds: ex.WindowShuffleMapDataset(ds, window_size=5, seed=2),
    "concatenate": lambda ds: M.concatenate([ds, M.range(4), ds]),
    "mix": lambda ds: M.mix([ds, M.range(100, 130)], [1, 2]) if len(ds) else ds,
    "select": lambda ds: M.select_from_datasets([ds, M.range(40)], Selection(9)) if len(ds) else ds,
    "zip": lambda ds: ex.ZipMapDataset([ds, ds.map(digest)]),
    "own": lambda ds: OwnMap(ds),
}
ITER_OPS = {
    "map": lambda ds: ds.map(digest),
    "fail": lambda ds: ds.map(fail),
    "hole": lambda ds: ds.map(hole),
    "filter": lambda ds: ds.filter(keep),
    "random": lambda ds: ds.random_map(noise, seed=3),
    "number": lambda ds: ds.map_with_index(number),
    "batch": lambda ds: ds.batch(3, batch_fn=tuple),
    "stack": lambda ds: ds.map(digest).batch(4),
    "stack as it is": lambda ds: ds.batch(2, drop_remainder=True),
    "fan": lambda ds: ex.FlatMapIterDataset(ds, Fan()),
    "mix": lambda ds: I.mix(
        {"a": ds, "b": M.range(100, 160).to_iter_dataset(grain.ReadOptions(0, 0))}, {"a": 2, "b": 1}
    ),
    "window": lambda ds: ex.WindowShuffleIterDataset(ds, window_size=4, seed=2),
    "limit": lambda ds: ex.LimitIterDataset(ds, 11),
    "repeat": lambda ds: ex.RepeatIterDataset(ds, 2),
    "zip": lambda ds: ex.ZipIterDataset([ds, M.range(50).to_iter_dataset(grain.ReadOptions(0, 0))], strict=False),
    "interleave": lambda ds: ex.InterleaveIterDataset([ds, M.range(5), ds.map(digest)], cycle_length=2),
    "ahead": lambda ds: ex.ThreadPrefetchIterDataset(ds, prefetch_buffer_size=3),
    "seed": lambda ds: ds.seed(8),
    "own": lambda ds: OwnStream(ds),
}
map_pipelines = st.tuples(
    st.sampled_from(sorted(SOURCES)), st.lists(st.sampled_from(sorted(MAP_OPS)), max_size=5), st.booleans()
)
pipelines = st.tuples(map_pipelines, st.lists(st.sampled_from(sorted(ITER_OPS)), max_size=4))


def build_map(description):
    source, operations, _ = description
    ds = SOURCES[source]()
    for name in operations:
        try:
            ds = MAP_OPS[name](ds)
        except ValueError:
            continue  # what a user is told at construction, such as `batch` after `filter`
    return ds


def build(description, read_options):
    (source, operations, allow_nones), steps = description
    ds = build_map((source, operations, None)).to_iter_dataset(read_options, allow_nones=allow_nones)
    for name in steps:
        ds = ITER_OPS[name](ds)
    return ds


def trace(iterator, most=60):
    """What happens at each `next`, with the state after it, up to the end or the third error in a row."""
    events = []
    errors = 0
    while len(events) < most and errors < 3:
        try:
            event = ("element", plain(next(iterator)))
            errors = 0
        except StopIteration:
            events.append(("end", None, iterator.get_state()))
            break
        except Exception as error:
            event = (type(error).__name__, str(error))
            errors += 1
        events.append((*event, iterator.get_state()))
    return events


def outcome(read):
    """The element that `read` gives, or what it raises."""
    try:
        return ("element", plain(read()))
    except Exception as error:
        return (type(error).__name__, str(error))
