"""Mixtures of sources whose weights change while training: by a schedule, and by a decision at a checkpoint."""

import argparse
import bisect
import collections

import numpy as np

import grain

NAMES = ("web", "code", "books")


def documents(name: str) -> grain.MapDataset:
    """A stand-in for a source of documents; shuffled anew each epoch, without end."""
    return grain.MapDataset.range(1000).map(lambda n: {"from": name, "number": n}).shuffle(seed=1).repeat()


class Schedule(grain.transforms.DatasetSelectionMap):
    """Which dataset gives element i: `weights` hold from their step on. A pure function of i, so it needs no state.

    The element is drawn by a generator that belongs to a block of positions; what a dataset has given before a block is
    counted once, at construction.
    """

    BLOCK = 256

    def __init__(self, length: int, weights: dict[int, tuple[float, ...]], seed: int) -> None:
        self.length, self.seed = length, seed
        self.starts = sorted(weights)
        self.weights = [np.array(weights[start]) / sum(weights[start]) for start in self.starts]
        blocks = -(-length // self.BLOCK)
        counts = [np.bincount(self.choices(block), minlength=len(self.weights[0])) for block in range(blocks)]
        self.before = np.cumsum([np.zeros_like(counts[0]), *counts], axis=0)

    def choices(self, block: int) -> np.ndarray:
        first = block * self.BLOCK
        draws = np.random.default_rng([self.seed, block]).random(self.BLOCK)
        rows = [self.weights[bisect.bisect(self.starts, first + n) - 1] for n in range(self.BLOCK)]
        return (np.cumsum(rows, axis=1) < draws[:, None]).sum(axis=1)

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[int, int]:
        block, place = divmod(index, self.BLOCK)
        choices = self.choices(block)
        dataset = int(choices[place])
        return dataset, int(self.before[block, dataset] + (choices[:place] == dataset).sum())


def shares(elements: list[dict]) -> str:
    counts = collections.Counter(element["from"] for element in elements)
    return ", ".join(f"{name} {counts[name] / len(elements):.0%}" for name in NAMES)


def follow_a_schedule(length: int) -> None:
    schedule = Schedule(length, {0: (8, 1, 1), length // 3: (4, 4, 2), 2 * length // 3: (1, 1, 8)}, seed=5)
    ds = grain.MapDataset.select_from_datasets([documents(name) for name in NAMES], schedule)
    elements = list(ds)
    for third in range(3):
        part = elements[third * length // 3 : (third + 1) * length // 3]
        print(f"  third {third + 1}: {shares(part)}")
    it = iter(ds.to_iter_dataset())
    it.set_state({"next_index": length // 2})
    assert next(it) == elements[length // 2]
    print("  random access and resuming work as everywhere: the position is all there is to remember")


def decide_at_a_checkpoint(length: int) -> None:
    def mixture(weights: dict[str, float]) -> grain.IterDataset:
        return grain.IterDataset.mix({name: documents(name).to_iter_dataset() for name in weights}, weights)

    it = iter(mixture({"web": 8, "code": 2}))
    first = [next(it) for _ in range(length)]
    print(f"  before: {shares(first)}")
    saved = it.get_state()
    again = iter(mixture({"web": 2, "code": 2, "books": 6}))
    again.set_state(saved)
    second = [next(again) for _ in range(length)]
    print(f"  after:  {shares(second)}")
    numbers = [element["number"] for element in first + second if element["from"] == "web"]
    expected = [element["number"] for element in documents("web")[: len(numbers)]]
    assert numbers == expected
    print("  web went on where it was: no document twice, none left out; books began at its beginning")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true")
    length = 600 if parser.parse_args().short else 6000
    print("weights by a schedule (select_from_datasets):")
    follow_a_schedule(length)
    print("weights changed at a checkpoint (mix of a mapping):")
    decide_at_a_checkpoint(length)


if __name__ == "__main__":
    main()
