"""The examples in the documentation run."""

import pathlib
import re

import numpy as np
import pytest

import grain

DOCS = pathlib.Path(__file__).parents[2] / "docs"


def examples(page):
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.filterwarnings("default")
def test_the_page_on_checkpoints(tmp_path, monkeypatch):
    pytest.importorskip("orbax.checkpoint")
    monkeypatch.chdir(tmp_path)
    names = {"directory": tmp_path / "orbax", "step": 3, "params": {"w": np.arange(3.0)}}
    for example in examples("checkpoints.md"):
        exec(example, names)
    assert names["it"].get_state() == {"next_index": names["state"]["next_index"] + 200 * 32}


@pytest.mark.filterwarnings("default")
def test_the_page_on_jax(tmp_path):
    ocp = pytest.importorskip("orbax.checkpoint")
    import jax

    names = {
        "grain": grain,
        "ocp": ocp,
        "sharding": jax.sharding.SingleDeviceSharding(jax.devices()[0]),
        "records": grain.MapDataset.range(100),
        "global_batch_size": 8,
        "directory": tmp_path / "orbax",
        "state": {"seen": np.zeros(())},
        "steps": 3,
        "train_step": lambda state, batch: {"seen": state["seen"] + 1},
    }
    for example in examples("jax.md"):
        exec(example, names)
    assert names["batch"].sharding == names["sharding"]
    assert float(names["state"]["seen"]) == 3
