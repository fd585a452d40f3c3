"""Plain checkpoint files: what is saved goes on, and nothing half-written or foreign is ever taken for a checkpoint."""

import errno
import json
import os

import pytest

import grain
from grain._src.checkpoint import files
from grain.checkpoint import CheckpointError, restore, save


def pipeline(seed=1, threads=0):
    ds = grain.MapDataset.range(1000).shuffle(seed=seed).map(lambda x: x + 1)
    return ds.to_iter_dataset(grain.ReadOptions(num_threads=threads)).batch(4)


def advanced(ds, count=3):
    it = iter(ds)
    for _ in range(count):
        next(it)
    return it


def test_restored_iterator_goes_on_right_after_what_was_seen(tmp_path):
    it = advanced(pipeline())
    save(tmp_path / "data.json", it)
    again = restore(tmp_path / "data.json", iter(pipeline(threads=4)))
    assert [batch.tolist() for batch in it] == [batch.tolist() for batch in again]


def test_saving_replaces_the_previous_checkpoint_and_leaves_nothing_else(tmp_path):
    it = advanced(pipeline())
    save(tmp_path / "deep" / "data.json", it)
    next(it)
    save(tmp_path / "deep" / "data.json", it)
    assert restore(tmp_path / "deep" / "data.json", iter(pipeline())).get_state() == it.get_state()
    assert os.listdir(tmp_path / "deep") == ["data.json"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_crash_while_saving_leaves_the_previous_checkpoint_whole(tmp_path, monkeypatch, step):
    path = tmp_path / "data.json"
    it = advanced(pipeline())
    save(path, it)
    before = path.read_bytes()
    next(it)

    def crash(*args):
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(files.os, step, crash)
    with pytest.raises(OSError, match=r"no space left on device: .*data.json"):
        save(path, it)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["data.json"]


def refuses(path, pattern=None):
    """Restoring `path` names it, says `pattern`, and leaves the iterator where it was."""
    it = advanced(pipeline(), 5)
    state = it.get_state()
    with pytest.raises(CheckpointError, match=pattern) as raised:
        restore(path, it)
    assert str(path) in str(raised.value)
    assert it.get_state() == state


def test_every_truncated_file_is_refused(tmp_path):
    path = tmp_path / "data.json"
    save(path, advanced(pipeline()))
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        refuses(path, "empty|damaged|not a checkpoint")


def test_no_flipped_bit_goes_unnoticed(tmp_path):
    path = tmp_path / "data.json"
    saved = advanced(pipeline())
    save(path, saved)
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        it = advanced(pipeline(), 5)
        before = it.get_state()
        refused = False
        try:
            restore(path, it)
        except CheckpointError:
            refused = True
        assert it.get_state() == (before if refused else saved.get_state())  # white space says nothing


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"   \n",
        b"[]",
        b"3",
        b"null",
        b'{"hello": 1}',
        b"{}",
        b"\x89PNG\r\n\x1a\n\0\0",
        b'{"next_index": -1}',
        b'{"next_index": "3"}',
    ],
)
def test_foreign_files_are_refused(tmp_path, contents):
    path = tmp_path / "data.json"
    path.write_bytes(contents)
    refuses(path)


def test_a_checkpoint_of_a_newer_format_is_refused_and_says_to_upgrade(tmp_path):
    path = tmp_path / "data.json"
    save(path, advanced(pipeline()))
    path.write_text(json.dumps({**json.loads(path.read_text()), "grain_checkpoint": 2}))
    refuses(path, "newer grain.*Upgrade")


def test_a_missing_file_and_a_directory_are_refused(tmp_path):
    refuses(tmp_path / "nothing.json", "No such file")
    refuses(tmp_path, "directory")


def test_a_changed_pipeline_is_refused_in_words_and_allowed_on_demand(tmp_path):
    path = tmp_path / "data.json"
    save(path, advanced(pipeline(seed=1)))
    changed = iter(pipeline(seed=2))
    with pytest.raises(CheckpointError, match=r"shuffle\(seed=1\) became shuffle\(seed=2\).*allow_changes=True"):
        restore(path, changed)
    assert changed.get_state() == {"next_index": 0}
    assert restore(path, changed, allow_changes=True).get_state() == {"next_index": 12}


class Countdown(grain.DatasetIterator):
    """A user's own iterator, whose state is bytes that are no text."""

    def __init__(self):
        super().__init__()
        self.left = 255

    def __next__(self):
        self.left -= 1
        return self.left

    def get_state(self):
        return bytes([self.left])

    def set_state(self, state):
        self.left = state[0]


def test_a_users_own_iterator_with_a_state_of_bytes_is_restored(tmp_path):
    it = Countdown()
    next(it)
    save(tmp_path / "data", it)
    assert next(restore(tmp_path / "data", Countdown())) == 253


def test_only_iterators_can_be_saved_and_restored(tmp_path):
    with pytest.raises(TypeError, match="iter\\(dataset\\)"):
        save(tmp_path / "data.json", pipeline())
    save(tmp_path / "data.json", iter(pipeline()))
    with pytest.raises(TypeError, match="got int"):
        restore(tmp_path / "data.json", 3)


def test_a_state_that_is_no_json_is_refused_before_anything_is_written(tmp_path):
    class Odd(Countdown):
        def get_state(self):
            return {"left": object()}

    with pytest.raises(CheckpointError, match="JSON"):
        save(tmp_path / "data.json", Odd())
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("path", [None, 3, b"name", ""])
def test_something_else_in_place_of_a_path_is_named(path):
    it = iter(grain.MapDataset.range(3).to_iter_dataset())
    with pytest.raises((TypeError, ValueError), match=r"^path must"):
        grain.checkpoint.save(path, it)
    with pytest.raises((TypeError, ValueError), match=r"^path must"):
        grain.checkpoint.restore(path, it)
