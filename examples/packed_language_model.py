"""A small language model on packed text: several documents share a row, and none looks into another.

The text is what every Python brings along: the documentation strings of its standard library, as bytes.
"""

import argparse
import ast
import sysconfig
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

import grain
from grain.experimental import FirstFitPackIterDataset

LENGTH = 256
BATCH = 8
VOCABULARY = 257  # bytes, and an end of document


def documentation() -> list[str]:
    """Returns the docstrings of the standard library."""
    found = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node)
                if text:
                    found.append(text)
    return found


def encode(text: str) -> dict[str, np.ndarray]:
    tokens = np.frombuffer(text.encode()[: LENGTH - 1], np.uint8).astype(np.int32)
    return {"tokens": np.append(tokens, 256).astype(np.int32)}


def pipeline(texts: list[str]) -> grain.IterDataset:
    ds = grain.MapDataset.source(texts).seed(1).shuffle().repeat().map(encode).to_iter_dataset()
    # Each row holds documents one after the other; `tokens_segment_ids` numbers them from 1, 0 is padding.
    ds = FirstFitPackIterDataset(ds, length_struct={"tokens": LENGTH}, num_packing_bins=4 * BATCH)
    return ds.batch(BATCH, drop_remainder=True)


class Block(nnx.Module):
    def __init__(self, width: int, rngs: nnx.Rngs) -> None:
        self.norm1, self.norm2 = nnx.LayerNorm(width, rngs=rngs), nnx.LayerNorm(width, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(4, width, decode=False, rngs=rngs)
        self.up, self.down = nnx.Linear(width, 4 * width, rngs=rngs), nnx.Linear(4 * width, width, rngs=rngs)

    def __call__(self, x: jax.Array, mask: jax.Array) -> jax.Array:
        x = x + self.attention(self.norm1(x), mask=mask)
        return x + self.down(nnx.gelu(self.up(self.norm2(x))))


class LanguageModel(nnx.Module):
    def __init__(self, width: int, rngs: nnx.Rngs) -> None:
        self.tokens = nnx.Embed(VOCABULARY, width, rngs=rngs)
        self.places = nnx.Embed(LENGTH, width, rngs=rngs)
        self.first, self.second = Block(width, rngs), Block(width, rngs)
        self.out = nnx.Linear(width, VOCABULARY, rngs=rngs)

    def __call__(self, tokens: jax.Array, segments: jax.Array, positions: jax.Array) -> jax.Array:
        # A token sees the tokens before it, and only those of its own document.
        same = segments[:, :, None] == segments[:, None, :]
        mask = (same & jnp.tril(jnp.ones((LENGTH, LENGTH), bool)))[:, None]
        x = self.tokens(tokens) + self.places(positions)
        return self.out(self.second(self.first(x, mask), mask))


def loss_of(model: LanguageModel, batch: dict[str, jax.Array]) -> jax.Array:
    tokens, segments = batch["tokens"], batch["tokens_segment_ids"]
    logits = model(tokens, segments, batch["tokens_positions"])[:, :-1]
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:])
    # The next token counts where it is of the same document.
    counts = (segments[:, 1:] == segments[:, :-1]) & (segments[:, 1:] > 0)
    return (losses * counts).sum() / counts.sum()


@nnx.jit
def train_step(model: LanguageModel, optimizer: nnx.Optimizer, batch: dict[str, jax.Array]) -> jax.Array:
    loss, gradients = nnx.value_and_grad(loss_of)(model, batch)
    optimizer.update(model, gradients)
    return loss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true")
    short = parser.parse_args().short
    steps, width = (3, 32) if short else (300, 128)
    texts = documentation()[: 300 if short else None]
    ds = pipeline(texts)
    print(ds, "\n")
    model = LanguageModel(width, nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)
    used = []
    with iter(ds) as it:
        for step in range(1, steps + 1):
            batch = next(it)
            used.append((batch["tokens_segment_ids"] > 0).mean())
            loss = train_step(model, optimizer, batch)
            if step % (steps // 3) == 0:
                print(f"step {step}: loss {float(loss):.2f}, {np.mean(used):.1%} of the cells hold text", flush=True)
    alone = np.mean([len(encode(text)["tokens"]) for text in texts]) / LENGTH
    print(f"{len(texts)} documents; padded instead of packed, {alone:.1%} of the cells would hold text")


if __name__ == "__main__":
    main()
