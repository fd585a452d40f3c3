"""`python -m grain demo`: a training that is killed and resumed, on any machine with NumPy."""

import sys

from grain._src.demo import story
from grain._src.demo.numpy_model import NumpyModel


def main(arguments: list[str]) -> int:
    """Runs the command that the arguments name."""
    if arguments[:1] != ["demo"]:
        print("usage: python -m grain demo [--steps N] [--kill-at N]", file=sys.stderr)
        return 2
    command = [sys.executable, "-m", "grain", "demo"]
    return story.main(command, NumpyModel, "Training a small classifier in NumPy", arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
