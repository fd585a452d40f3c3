"""Train-ready batches from a folder of images, decoded and augmented by worker processes.

The folder is made here: a subfolder a class, images of different sizes. Replace `ROOT` by your own.
"""

import argparse
import io
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import grain

SIZE = 64
CLASSES = ("circle", "cross", "square")


def make_folder(root: Path, count: int) -> None:
    """Draws `count` images of random sizes and colours, as JPEG files."""
    rng = np.random.default_rng(0)
    for number in range(count):
        kind = CLASSES[number % len(CLASSES)]
        width, height = (int(side) for side in rng.integers(80, 160, 2))
        image = Image.new("RGB", (width, height), tuple(rng.integers(0, 120, 3).tolist()))
        draw, colour = ImageDraw.Draw(image), tuple(rng.integers(150, 256, 3).tolist())
        box = (width * 0.2, height * 0.2, width * 0.8, height * 0.8)
        if kind == "circle":
            draw.ellipse(box, fill=colour)
        elif kind == "square":
            draw.rectangle(box, fill=colour)
        else:
            draw.line((box[0], box[1], box[2], box[3]), colour, 8)
            draw.line((box[0], box[3], box[2], box[1]), colour, 8)
        path = root / kind / f"{number:05}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        image.save(path, quality=90)


class ImageFolder:
    """A source: the files under `root`, one subfolder a class. Reading happens where the record is needed."""

    def __init__(self, root: Path) -> None:
        self.paths = sorted(root.glob("*/*.jpg"))  # sorted: the order must be the same on every run
        self.classes = sorted({path.parent.name for path in self.paths})
        if not self.paths:
            raise FileNotFoundError(f"no *.jpg in the subfolders of {root}")

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> dict:
        path = self.paths[index]
        return {"jpeg": path.read_bytes(), "label": self.classes.index(path.parent.name)}


def decode(record: dict) -> dict:
    image = Image.open(io.BytesIO(record["jpeg"])).convert("RGB").resize((SIZE, SIZE))
    return {"image": np.asarray(image), "label": np.int32(record["label"])}


class RandomFlip(grain.transforms.RandomMap):
    """Mirrors half of the images. Its generator depends on the seed and the position only, not on who runs it."""

    def random_map(self, element: dict, rng: np.random.Generator) -> dict:
        return {**element, "image": element["image"][:, ::-1]} if rng.random() < 0.5 else element


def pipeline(root: Path, workers: int) -> grain.IterDataset:
    return (
        grain.MapDataset.source(ImageFolder(root))
        .seed(7)
        .shuffle()
        .map(decode)
        .random_map(RandomFlip())
        .batch(32, drop_remainder=True)
        .to_iter_dataset()
        .mp_prefetch(grain.MultiprocessingOptions(num_workers=workers))
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true")
    count = 192 if parser.parse_args().short else 3000
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        make_folder(root, count)
        print(pipeline(root, 2), "\n")
        sums = {}
        for workers in (0, 2):
            began, batches = time.perf_counter(), []
            with iter(pipeline(root, workers)) as it:
                for batch in it:
                    batches.append(int(batch["image"].sum()))
            seconds = time.perf_counter() - began
            sums[workers] = batches
            print(f"{workers} workers: {len(batches)} batches, {32 * len(batches) / seconds:,.0f} images/s")
        assert sums[0] == sums[2]
        print("the batches are the same")


if __name__ == "__main__":
    main()
