"""Handles of the packing transformations, and packing as an operation of the DataLoader."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from grain._src import arguments, trees
from grain._src.api.dataset import Dataset, checked_dataset
from grain._src.api.iter_dataset import IterDataset
from grain._src.nodes.concat_then_split import BOSHandling, StreamConcatThenSplit
from grain._src.nodes.packing import StreamBestFitPack, StreamPack
from grain._src.nodes.packing_bins import make_bins
from grain._src.nodes.packing_features import Document, DocumentReader, Feature, features_of
from grain._src.nodes.packing_rows import Like, lengths_of, pack_marks, pack_values
from grain._src.records import Record


class FirstFitPackIterDataset(IterDataset[Any]):
    """Packs sequences into rows of fixed length; each goes to the first of `num_packing_bins` rows where it fits.

    >>> import grain, numpy as np
    >>> ds = grain.MapDataset.source([{"x": np.full(n, n)} for n in (3, 2, 1)])
    >>> ds = FirstFitPackIterDataset(ds, length_struct={"x": 4}, num_packing_bins=2, shuffle_bins=False)
    >>> [row["x"].tolist() for row in ds]
    [[3, 3, 3, 1], [2, 2, 0, 0]]

    Args:
      parent: gives dicts of features, arrays that are packed along their first axis.
      length_struct: the length of a packed row for each feature.
      num_packing_bins: how many rows are filled at the same time.
      seed: of the order in which the rows are handed out.
      shuffle_bins: whether to hand them out in a random order.
      shuffle_bins_group_by_feature: sorts the rows of a group by the mean distinct value of this feature instead.
      meta_features: features without segment ids and positions; one without a length is collected in a list.
      pack_alignment_struct: every sequence begins at a multiple of this, for each feature.
      padding_struct: the value that fills the rows, for each feature.
      max_sequences_per_bin: how many sequences a row may take.
    """

    _node_type = StreamPack

    def __init__(
        self,
        parent: Dataset[Any],
        *,
        length_struct: Any,
        num_packing_bins: int,
        seed: int = 0,
        shuffle_bins: bool = True,
        shuffle_bins_group_by_feature: str | None = None,
        meta_features: Sequence[str] = (),
        pack_alignment_struct: Any = None,
        padding_struct: Any = None,
        max_sequences_per_bin: int | None = None,
    ) -> None:
        super().__init__(checked_dataset("parent", parent, Dataset))
        meta_features = arguments.names("meta_features", meta_features)
        features = features_of(length_struct, meta_features, pack_alignment_struct, padding_struct)
        packed = {feature.path[0] for feature in features}
        if max_sequences_per_bin is not None:
            max_sequences_per_bin = arguments.positive("max_sequences_per_bin", max_sequences_per_bin)
        if arguments.flag("shuffle_bins", shuffle_bins):
            seed = arguments.non_negative("seed", seed)
            _check_group_by(shuffle_bins_group_by_feature, features, meta_features)
        self._own_node = self._node_type(
            parent._node,
            features,
            arguments.positive("num_packing_bins", num_packing_bins),
            seed,
            bool(shuffle_bins),
            shuffle_bins_group_by_feature,
            tuple(name for name in meta_features if name not in packed),
            max_sequences_per_bin,
        )


class BestFitPackIterDataset(FirstFitPackIterDataset):
    """As `FirstFitPackIterDataset`, but each sequence goes to the fitting row with the least space left.

    >>> import grain, numpy as np
    >>> ds = grain.MapDataset.source([{"x": np.full(n, n)} for n in (1, 3, 2, 1)])
    >>> ds = BestFitPackIterDataset(ds, length_struct={"x": 4}, num_packing_bins=2, shuffle_bins=False)
    >>> [row["x"].tolist() for row in ds]
    [[1, 3, 3, 3], [2, 2, 1, 0]]
    """

    _node_type = StreamBestFitPack


def _check_group_by(name: str | None, features: Sequence[Feature], meta_features: Sequence[str]) -> None:
    given = {feature.path[0] for feature in features} | set(meta_features)
    marks = {f"{f.path[0]}_{mark}" for f in features if not f.meta for mark in ("segment_ids", "positions")}
    if name is not None and name not in given | marks:
        raise KeyError(f"shuffle_bins_group_by_feature must be one of {sorted(given | marks)}, got {name!r}")


class ConcatThenSplitIterDataset(IterDataset[Any]):
    """Concatenates sequences and splits them into rows of fixed length: no padding but at the end.

    >>> import grain, numpy as np
    >>> ds = grain.MapDataset.source([{"x": np.full(n, n)} for n in (3, 2, 1)])
    >>> [row["x"].tolist() for row in ConcatThenSplitIterDataset(ds, length_struct={"x": 4})]
    [[3, 3, 3, 2], [2, 1, 0, 0]]

    Args:
      parent: gives flat dicts with exactly the features of `length_struct`.
      length_struct: the length of a row for each feature.
      meta_features: features that are not split but repeated with each piece, without segment ids and positions.
      split_full_length_features: if False, an element that fills a row by itself is handed out as it is.
      bos_handling: whether each piece begins with a token of its own.
      bos_features: the features where it does.
      bos_token_id: that token, which takes the place of the piece's first.
    """

    def __init__(
        self,
        parent: Dataset[Any],
        *,
        length_struct: Mapping[str, int],
        meta_features: Collection[str] = (),
        split_full_length_features: bool = True,
        bos_handling: BOSHandling = BOSHandling.DO_NOTHING,
        bos_features: Collection[str] = (),
        bos_token_id: int | None = None,
    ) -> None:
        super().__init__(checked_dataset("parent", parent, Dataset))
        meta_features = arguments.names("meta_features", meta_features)
        features = features_of(length_struct, meta_features)
        for feature in features:
            if len(feature.path) > 1:
                raise TypeError(f"length_struct must be a flat dict of integers, got {dict(length_struct)!r}")
        if unknown := set(meta_features) - {feature.path[0] for feature in features}:
            raise ValueError(f"meta_features must have a length in length_struct, {sorted(unknown)} have none")
        arguments.instance("bos_handling", bos_handling, BOSHandling, "grain.experimental.BOSHandling")
        if bos_handling is BOSHandling.DO_NOTHING and (bos_features or bos_token_id is not None):
            raise ValueError(
                "bos_features and bos_token_id have no meaning when bos_handling is BOSHandling.DO_NOTHING"
            )
        if bos_handling is not BOSHandling.DO_NOTHING and bos_token_id is None:
            raise ValueError(f"bos_token_id must be set when bos_handling is {bos_handling}")
        begun = frozenset(arguments.names("bos_features", bos_features))
        if both := sorted(begun.intersection(meta_features)):
            raise ValueError(f"bos_features must not be meta features, which are never split: {both} are")
        self._own_node = StreamConcatThenSplit(
            parent._node,
            features,
            arguments.flag("split_full_length_features", split_full_length_features),
            begun,
            bos_token_id,
        )


@dataclasses.dataclass
class PackAndBatchOperation:
    """First-fit packing of records into batches, for a DataLoader.

    Each output is (values, segment ids, positions), three trees of arrays of shape [batch_size, length].

    Args:
      length_struct: the length of a packed row, for each leaf of a record.
      batch_size: how many rows a batch has.
      max_sequences_per_bin: how many records a row may take.
    """

    length_struct: Any
    batch_size: int
    max_sequences_per_bin: int | None = None

    def __post_init__(self) -> None:
        arguments.positive("batch_size", self.batch_size)
        if self.max_sequences_per_bin is not None:
            arguments.positive("max_sequences_per_bin", self.max_sequences_per_bin)

    def __call__(self, input_iterator: Iterator[Record[Any]]) -> Iterator[Record[Any]]:
        """Yields a packed batch whenever a record does not fit any more, and one at the end."""
        batch = _Batch(self)
        last: Record[Any] | None = None
        for record in input_iterator:
            if not batch.add(record.data):
                assert last is not None
                yield Record(last.metadata.remove_record_key(), batch.write())
                batch = _Batch(self)
                batch.add(record.data)
            last = record
        if last is not None:
            yield Record(last.metadata.remove_record_key(), batch.write())


class _Batch:
    """A batch being filled; elements are trees as `length_struct` is one."""

    def __init__(self, operation: PackAndBatchOperation) -> None:
        self._struct = operation.length_struct
        lengths = trees.leaves(self._struct)
        self._features = [
            Feature((f"leaf {number}",), arguments.positive("length_struct", length))
            for number, length in enumerate(lengths)
        ]
        self._reader = DocumentReader(self._features)
        self._bins = make_bins(self._features, operation.batch_size, operation.max_sequences_per_bin, best=False)
        self._rows: list[list[Document]] = [[] for _ in range(operation.batch_size)]
        self._likes: list[Like] = []

    def add(self, element: Any) -> bool:
        """Puts an element into a row; says no if it fits none."""
        flat: dict[str, Any] = {}
        trees.map_leaves(lambda _, leaf: flat.setdefault(f"leaf {len(flat)}", leaf), self._struct, element)
        document = self._reader.read_short(flat)
        self._likes = self._likes or [Like.of(array) for array in document.arrays]
        for like, feature, array in zip(self._likes, self._features, document.arrays, strict=True):
            like.check(feature, array)
        row = self._bins.place(document.lengths)
        if row is not None:
            self._rows[row].append(document)
        return row is not None

    def write(self) -> tuple[Any, Any, Any]:
        """Returns the values, segment ids and positions."""
        values, segments, positions = [], [], []
        for number, feature in enumerate(self._features):
            arrays = [[document.arrays[number] for document in row] for row in self._rows]
            lengths = lengths_of(arrays)
            values.append(pack_values(feature, self._likes[number], arrays, lengths))
            marks = pack_marks(feature.length, lengths)
            segments.append(marks[0])
            positions.append(marks[1])
        return self._tree(values), self._tree(segments), self._tree(positions)

    def _tree(self, leaves: list[Any]) -> Any:
        remaining = iter(leaves)
        return trees.map_leaves(lambda _: next(remaining), self._struct)
