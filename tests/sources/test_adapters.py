"""Datasets of other libraries become sources."""

import collections
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grain import sources
from grain._src.conformance.equality import same
from grain._src.conformance.source import check_source

from .conftest import read_in_new_process


def test_any_sequence_is_a_source() -> None:
    for sequence in ([1, 2, 3], "abc", range(5), np.arange(4), collections.deque([1, 2])):
        check_source(sources.SequenceDataSource(sequence))
    assert repr(sources.SequenceDataSource([1, 2])) == "SequenceDataSource(list, len=2)"


@pytest.mark.parametrize("stream", [iter([1]), {1, 2}, 3])
def test_what_has_no_random_access_is_refused(stream: Any) -> None:
    with pytest.raises(TypeError, match=r"random access is needed, .* has no __"):
        sources.SequenceDataSource(stream)


Pair = collections.namedtuple("Pair", ["image", "label"])


def test_a_torch_dataset_gives_numpy_arrays() -> None:
    torch = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.arange(12.0).reshape(6, 2), torch.arange(6))
    source = sources.TorchDataSource(data)
    check_source(source)
    assert same(source[1], (np.array([2.0, 3.0], np.float32), np.array(1)))
    assert same(read_in_new_process(source), list(source))


def test_torch_elements_of_every_shape_are_converted() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.ones(2, requires_grad=True)
    source = sources.TorchDataSource([{"a": [tensor, "text"]}, Pair(tensor, 3), 7])
    ones = np.ones(2, np.float32)
    assert same(list(source), [{"a": [ones, "text"]}, Pair(ones, 3), 7])


def test_a_torch_subset_is_read_in_blocks() -> None:
    torch = pytest.importorskip("torch")
    data = torch.utils.data.Subset(torch.utils.data.TensorDataset(torch.arange(10)), [7, 3, 5])
    assert same(sources.TorchDataSource(data).__getitems__([2, 0]), [(np.array(5),), (np.array(7),)])


def test_an_iterable_torch_dataset_is_refused() -> None:
    torch = pytest.importorskip("torch")

    class Stream(torch.utils.data.IterableDataset):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Any:
            return iter(range(3))

    with pytest.raises(TypeError, match="Stream has no __len__"):
        sources.TorchDataSource(Stream())


@pytest.mark.filterwarnings("ignore")
def test_a_hugging_face_dataset(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict(
        {"id": list(range(20)), "text": [f"t{n}" for n in range(20)], "x": [[1.0, 2.0]] * 20}
    )
    source = sources.HuggingFaceDataSource(data)
    check_source(source)
    assert source[3] == {"id": 3, "text": "t3", "x": [1.0, 2.0]}
    assert repr(source) == "HuggingFaceDataSource(columns=['id', 'text', 'x'], len=20)"
    data.save_to_disk(str(tmp_path / "saved"))
    loaded = sources.HuggingFaceDataSource(datasets.load_from_disk(str(tmp_path / "saved")), columns=["id"])
    assert loaded.__getitems__([4, 1]) == [{"id": 4}, {"id": 1}]
    assert read_in_new_process(loaded) == [{"id": n} for n in range(20)]
    arrays = sources.HuggingFaceDataSource(data.with_format("numpy"))
    check_source(arrays)
    assert same(arrays[0]["x"], np.array([1.0, 2.0], np.float32))


@pytest.mark.filterwarnings("ignore")
def test_all_splits_at_once_are_refused() -> None:
    datasets = pytest.importorskip("datasets")
    splits = datasets.DatasetDict({"train": datasets.Dataset.from_dict({"a": [1]})})
    with pytest.raises(TypeError, match=r"choose a split, such as dataset\['train'\]"):
        sources.HuggingFaceDataSource(splits)
    with pytest.raises(TypeError, match=r"choose a split, such as sources\['train'\]"):
        sources.TfdsDataSource({"train": [1]})


@pytest.mark.filterwarnings("ignore")
def test_a_tfds_data_source(tmp_path: Path) -> None:
    tfds = pytest.importorskip("tensorflow_datasets")

    class Small(tfds.core.GeneratorBasedBuilder):  # type: ignore[misc, name-defined]
        """Twelve rows."""

        VERSION = tfds.core.Version("1.0.0")

        def _info(self) -> Any:
            features = tfds.features.FeaturesDict(
                {"x": tfds.features.Tensor(shape=(2,), dtype=np.float32), "n": np.int64}
            )
            return self.dataset_info_from_configs(features=features)

        def _split_generators(self, dl_manager: Any) -> Any:
            return {"train": self._generate_examples()}

        def _generate_examples(self) -> Any:
            for n in range(12):
                yield n, {"x": np.full(2, n, np.float32), "n": n}

    builder = Small(data_dir=str(tmp_path), file_format="array_record")
    builder.download_and_prepare()
    # Read back as a user of the files would: the class above is known only to this function, so it does not travel.
    read_only = tfds.builder_from_directory(str(builder.data_dir))
    source = sources.TfdsDataSource(read_only.as_data_source(split="train"))
    assert len(source) == 12
    assert sorted(int(row["n"]) for row in source.__getitems__(range(12))) == list(range(12))
    for row in source:
        assert same(row["x"], np.full(2, row["n"], np.float32))
    check_source(source)
    assert repr(source) == "TfdsDataSource(small/1.0.0, split=train, len=12)"


class FakeTfds:
    """What TFDS returns, as far as a pipeline can see, for machines without it."""

    def __init__(self) -> None:
        self.blocks: list[list[int]] = []

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> dict[str, int]:
        return {"n": index}

    def __getitems__(self, indices: list[int]) -> list[dict[str, int]]:
        self.blocks.append(indices)
        return [self[index] for index in indices]


def test_blocks_are_handed_on_as_blocks() -> None:
    data = FakeTfds()
    source = sources.TfdsDataSource(data)
    assert source.__getitems__(np.array([3, 1])) == [{"n": 3}, {"n": 1}]
    assert data.blocks == [[3, 1]]
    check_source(source)
