"""The examples of the classic guide run as they are typed, in a plain script."""

import subprocess
import sys
import textwrap

import pytest

SCRIPT = """
import numpy as np
{imports}


class ToySource:
    def __init__(self):
        self._images = np.random.default_rng(0).integers(0, 256, (1000, 8, 8, 3), dtype=np.uint8)

    def __len__(self):
        return len(self._images)

    def __getitem__(self, index):
        return {{"image": self._images[index], "label": index % 10}}


class Normalize({map}):
    def map(self, element):
        return {{**element, "image": element["image"].astype(np.float32) / 255}}


class RandomFlip({random_map}):
    def random_map(self, element, rng):
        if rng.random() < 0.5:
            return {{**element, "image": element["image"][:, ::-1]}}
        return element


class OnlyEven({filter}):
    def filter(self, element):
        return element["label"] % 2 == 0


source = ToySource()
sampler = grain.IndexSampler(
    num_records=len(source),
    num_epochs=2,
    shard_options=grain.ShardOptions(shard_index=0, shard_count=1, drop_remainder=True),
    shuffle=True,
    seed=42,
)
loader = grain.DataLoader(
    data_source=source,
    sampler=sampler,
    operations=[Normalize(), RandomFlip(), grain.Batch(128)],
    worker_count={workers},
    {options}
)
total = 0
for batch in loader:
    total += len(batch["label"])
    assert batch["image"].shape[1:] == (8, 8, 3) and batch["image"].dtype == np.float32
print(total)

iterator = iter(loader)
for _ in range(3):
    next(iterator)
state = iterator.get_state()
expected = next(iterator)
iterator.set_state(state)
again = next(iterator)
assert np.array_equal(expected["image"], again["image"])

even = grain.DataLoader(
    data_source=source,
    sampler=grain.IndexSampler(num_records=len(source), shard_options=grain.NoSharding(), num_epochs=1),
    operations=[OnlyEven(), grain.Batch(batch_size=50, drop_remainder=True)],
    read_options=grain.ReadOptions(num_threads=0),
)
print(sum(len(batch["label"]) for batch in even))
"""
NEW = {
    "imports": "import grain",
    "map": "grain.transforms.Map",
    "random_map": "grain.transforms.RandomMap",
    "filter": "grain.transforms.Filter",
}
OLD = {
    "imports": "import grain.python as grain",
    "map": "grain.MapTransform",
    "random_map": "grain.RandomMapTransform",
    "filter": "grain.FilterTransform",
}


@pytest.mark.parametrize("names", [NEW, OLD], ids=["grain", "grain.python"])
@pytest.mark.parametrize(
    ("workers", "options"),
    [(0, ""), (0, "read_options=grain.ReadOptions(num_threads=0),"), (2, "worker_buffer_size=2,")],
)
def test_the_guide_s_script_runs(tmp_path, names, workers, options):
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(SCRIPT).format(**names, workers=workers, options=options))
    result = subprocess.run(
        [sys.executable, "-W", "error", str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert (result.stdout, result.stderr) == ("2000\n500\n", "")
