"""Who takes part: the environment, the module and the settings of every library that is measured."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
# Another checkout of this library can be measured in its place.
LIBRARY = Path(os.environ.get("GRAIN_BENCH_LIBRARY", ROOT))
NUMPY = "numpy==2.4.6"
PILLOW = "pillow==13.0.0"
ARRAY_RECORD = "array_record==0.8.6"
ARROW = "pyarrow==26.0.1"
CRC = "google-crc32c==1.9.0"

ENVIRONMENTS: Mapping[str, tuple[str, ...]] = {
    "ours": (NUMPY, "cloudpickle", ARRAY_RECORD, PILLOW, ARROW, CRC),
    "reference": (NUMPY, "grain==0.2.18", PILLOW, ARROW, CRC),
    "torch": (NUMPY, "torch==2.13.0", "torchdata==0.11.0", ARRAY_RECORD, PILLOW),
    "hf": (NUMPY, "datasets==5.2.0", PILLOW),
    "spdl": (NUMPY, "spdl==0.8.0", PILLOW),
    "plots": ("matplotlib==3.11.2",),
}


def numpy_collate(elements: Any) -> Any:
    """Stacks a list of elements into arrays, for a torch user who does not want tensors."""
    if not isinstance(elements, list):
        return elements
    if isinstance(elements[0], dict):
        return {key: numpy_collate([element[key] for element in elements]) for key in elements[0]}
    return np.array(elements)


@dataclass(frozen=True)
class Grain:
    """How a grain pipeline is started: the reading threads, the buffers of workers, and workers where the row has none."""

    read: tuple[int, int] | None = None
    buffer: int = 1
    workers: int = 0

    def bind(self, grain: Any) -> Callable[..., Any]:
        """What a workload calls to start its dataset: `run(ds, workers=0, buffer=None)`."""
        options = None if self.read is None else grain.ReadOptions(*self.read)

        def run(dataset: Any, workers: int = 0, buffer: int | None = None) -> Any:
            if hasattr(dataset, "to_iter_dataset"):
                dataset = dataset.to_iter_dataset(options)
            if not workers:
                return dataset
            return dataset.mp_prefetch(grain.MultiprocessingOptions(workers, buffer or self.buffer))

        run.read_options = options  # type: ignore[attr-defined]
        return run


@dataclass(frozen=True)
class Torch:
    """How a torch DataLoader is made: `alone` without workers, `shared` where the row asks for workers."""

    alone: Mapping[str, Any] = field(default_factory=dict)
    shared: Mapping[str, Any] = field(default_factory=dict)
    workers: int = 0

    def bind(self, data: Any) -> Callable[..., Any]:
        def run(dataset: Any, workers: int = 0, **arguments: Any) -> Any:
            extra = {"num_workers": workers or self.workers, **(self.shared if workers else self.alone)}
            return data.DataLoader(dataset, **arguments, **extra)

        return run


@dataclass(frozen=True)
class Plain:
    """A library without settings worth telling apart."""

    workers: int = 0

    def bind(self, _module: Any) -> None:
        return None


@dataclass(frozen=True)
class Contestant:
    """A library.

    env: the environment it runs in; function: what a workload file names its code for it; module: what that code gets.
    settings: the default comes first; the best of them is the library's best.
    """

    name: str
    env: str
    function: str
    module: str = ""
    settings: Mapping[str, Any] = field(default_factory=lambda: {"default": Plain()})
    path: tuple[Path, ...] = ()


TWO_WORKERS = "2 workers"
_GRAIN = {
    "default": Grain(),
    "inline": Grain(read=(0, 0), buffer=16),
    TWO_WORKERS: Grain(read=(0, 0), buffer=16, workers=2),
}
_TORCH = {
    "default": Torch(),
    "numpy collate": Torch({"collate_fn": numpy_collate}, {"collate_fn": numpy_collate}),
    TWO_WORKERS: Torch(workers=2),
}

CONTESTANTS = {
    contestant.name: contestant
    for contestant in (
        Contestant("ours", "ours", "with_grain", "grain", _GRAIN, (LIBRARY,)),
        Contestant("reference", "reference", "with_grain", "grain", _GRAIN),
        Contestant("torch", "torch", "with_torch", "torch.utils.data", _TORCH),
        Contestant("torchdata", "torch", "with_torchdata", "torchdata.nodes"),
        Contestant("hf", "hf", "with_datasets", "datasets"),
        Contestant("spdl", "spdl", "with_spdl", "spdl.pipeline"),
        Contestant("limit", "ours", "bare", settings={"default": Plain(), TWO_WORKERS: Plain(workers=2)}),
    )
}


def settings(name: str, workers: int | None, spread: bool, defaults: bool) -> list[str]:
    """The settings that differ in a row; where the row sets the number of workers, no setting may."""
    every = list(CONTESTANTS[name].settings)
    if defaults:
        return every[:1]
    with_workers = workers is None and (spread or name == "torch")
    return [setting for setting in every if with_workers or setting != TWO_WORKERS]


def label(name: str, setting: str) -> str:
    return name if setting == "default" else f"{name} {setting}"
