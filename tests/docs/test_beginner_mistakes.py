"""Mistakes that everybody makes once end in a message that says what to do."""

import re
from pathlib import Path

import numpy as np
import pytest

import grain

M = grain.MapDataset
TWO_WORKERS = grain.MultiprocessingOptions(num_workers=2)


def first_field(record):
    return record["a"]


def notes(error: BaseException) -> str:
    return "\n".join(getattr(error, "__notes__", []))


@pytest.mark.parametrize("name", ["shuffle", "random_map"])
def test_a_forgotten_seed(name: str) -> None:
    with pytest.raises(ValueError, match=rf"pass `seed=…` to `{name}`, or call `ds\.seed\(…\)`"):
        M.range(3).shuffle() if name == "shuffle" else M.range(3).random_map(lambda x, rng: x)


@pytest.mark.parametrize("how", ["lookup", "threads", "inline", "workers"])
def test_a_function_that_fails_names_itself_the_element_and_the_record(how: str) -> None:
    ds = M.source([{"a": 1}, {"b": 2}]).map(first_field)
    stream = ds.to_iter_dataset(grain.ReadOptions(num_threads=0 if how == "inline" else 16))
    with pytest.raises(KeyError, match="'a'") as caught:
        if how == "lookup":
            ds[1]
        else:
            list(stream.mp_prefetch(TWO_WORKERS) if how == "workers" else stream)
    said = notes(caught.value)
    assert "map(function=first_field)" in said
    assert "element 1" in said
    assert "record 1 of list" in said


def test_a_lambda_that_fails_is_named_by_its_line() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        list(M.range(3).map(lambda x: 1 // x))
    assert re.search(r"<lambda at test_beginner_mistakes\.py:\d+>", notes(caught.value))


@pytest.mark.parametrize("stream", [False, True])
def test_a_batch_of_ragged_arrays(stream: bool) -> None:
    ds = M.range(1, 5).map(lambda n: {"x": np.zeros(n)})
    batches = ds.to_iter_dataset().batch(2) if stream else ds.batch(2)
    with pytest.raises(ValueError, match=r"element\['x'\].*\(1,\) \(element 0\), \(2,\) \(element 1\)\. Pad them"):
        list(batches)


def test_a_batch_of_elements_with_different_keys() -> None:
    with pytest.raises(ValueError, match=r"keys \['a'\].*keys \['b'\]\. Make the elements alike before `batch`"):
        M.source([{"a": 1}, {"b": 2}]).batch(2)[0]


def test_a_missing_file_in_a_folder_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "train-00000.arrayrecord").write_bytes(b"")
    with pytest.raises(FileNotFoundError, match=r"did you mean 'train-00000.arrayrecord'"):
        grain.sources.ArrayRecordDataSource(tmp_path / "train-0.arrayrecord")


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no folder '.*data'\. Check the path; relative ones start"):
        grain.sources.ArrayRecordDataSource(tmp_path / "data" / "train-*.arrayrecord")


def test_a_generator_as_a_source() -> None:
    with pytest.raises(TypeError, match=r"generator has no `__len__`. Put the records .* into a list or a file first"):
        M.source(n for n in range(3))


def test_a_dict_of_arrays_as_a_source() -> None:
    with pytest.raises(TypeError, match=r"grain\.sources\.ArrayDataSource"):
        M.source({"x": np.zeros(3)})


def test_the_name_of_a_file_as_a_source(tmp_path: Path) -> None:
    path = tmp_path / "train.arrayrecord"
    path.write_bytes(b"")
    with pytest.warns(UserWarning, match=r"To read the file, pass .*ArrayRecordDataSource"):
        M.source(str(path))


def test_a_batch_after_a_filter() -> None:
    with pytest.raises(ValueError, match=r"with `to_iter_dataset\(\)` before calling `batch`"):
        M.range(3).filter(bool).batch(2)


def test_a_map_without_a_return() -> None:
    with pytest.warns(UserWarning, match=r"does a `map` forget its `return`\?"):
        list(M.range(2000).map(lambda x: None))


def test_a_method_of_the_other_kind_of_dataset() -> None:
    with pytest.raises(AttributeError, match=r"to_iter_dataset\(\)\.mp_prefetch"):
        M.range(3).mp_prefetch(TWO_WORKERS)
    with pytest.raises(AttributeError, match=r"before `to_iter_dataset\(\)`, or shuffle within windows"):
        M.range(3).to_iter_dataset().shuffle(seed=1)
    assert not hasattr(M.range(3), "mp_prefetch")


def test_an_error_in_a_property_of_a_users_class_is_not_hidden() -> None:
    class Mine(grain.MapDataset):
        @property
        def broken(self):
            return self.not_there

    with pytest.raises(AttributeError, match="not_there"):
        Mine().broken


def test_what_cannot_be_sent_to_workers_is_named(tmp_path: Path) -> None:
    with open(tmp_path / "lock", "w+b") as file:
        ds = M.range(3).map(lambda x: file.write(b"x")).to_iter_dataset().mp_prefetch(TWO_WORKERS)
        with pytest.raises(TypeError, match="Create such an object inside the function that uses it"):
            list(ds)
