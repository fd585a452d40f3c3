"""A PyTorch training loop over a grain pipeline, saved half way and resumed with another number of workers."""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn

import grain


def make_data(count: int) -> dict[str, np.ndarray]:
    """Points on two noisy spirals."""
    rng = np.random.default_rng(0)
    label = np.arange(count) % 2
    radius = rng.uniform(0.1, 1, count)
    angle = 5 * radius + np.pi * label
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1) + rng.normal(0, 0.02, (count, 2))
    return {"x": points.astype(np.float32), "y": label.astype(np.int64)}


def jitter(element: dict, rng: np.random.Generator) -> dict:
    return {**element, "x": element["x"] + rng.normal(0, 0.01, 2).astype(np.float32)}


def pipeline(data: dict[str, np.ndarray], workers: int) -> grain.IterDataset:
    return (
        grain.MapDataset.source(grain.sources.ArrayDataSource(data))
        .seed(3)
        .shuffle()
        .repeat()
        .random_map(jitter)
        .batch(64)
        .to_iter_dataset()
        .mp_prefetch(grain.MultiprocessingOptions(num_workers=workers))
    )


def make_model() -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    return model, torch.optim.Adam(model.parameters(), lr=3e-3)


def train(model: nn.Module, optimizer: torch.optim.Optimizer, batches: grain.DatasetIterator, steps: int) -> float:
    for _ in range(steps):
        batch = next(batches)
        # A batch's arrays are yours alone, and writable: from_numpy takes them without a copy.
        x, y = torch.from_numpy(batch["x"]), torch.from_numpy(batch["y"])
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def save(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, batches: grain.DatasetIterator) -> None:
    """The state of the data is a small dict: it goes into the same file as the rest."""
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "data": batches.get_state()}, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true")
    steps = 20 if parser.parse_args().short else 400
    torch.set_num_threads(1)  # the model is small, and the workers need the cores
    data = make_data(2000)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "half.pt"
        model, optimizer = make_model()
        with iter(pipeline(data, workers=2)) as batches:
            train(model, optimizer, batches, steps)
            save(path, model, optimizer, batches)
            loss = train(model, optimizer, batches, steps)
        print(f"in one go:  loss {loss:.6f} after {2 * steps} steps")

        model, optimizer = make_model()
        saved = torch.load(path)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        with iter(pipeline(data, workers=0)) as batches:
            batches.set_state(saved["data"])
            again = train(model, optimizer, batches, steps)
        print(f"resumed:    loss {again:.6f} after {2 * steps} steps, without workers this time")
    accuracy = (model(torch.from_numpy(data["x"])).argmax(dim=1).numpy() == data["y"]).mean()
    print(f"accuracy {accuracy:.1%}")
    assert loss == again


if __name__ == "__main__":
    main()
