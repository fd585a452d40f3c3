"""What several tests of nodes look with."""

import pytest

from grain._src import trees


@pytest.fixture(scope="session")
def steps():
    """Returns what an iterator gives, with the states after it; an error, by what it says, in the place of its element."""

    def run(ds):
        it, found = iter(ds), []
        while True:
            try:
                element = next(it)
            except StopIteration:
                return found
            except ValueError as error:
                element = str(error).split(",")[0]
            found.append((element, it.get_state()))

    return run


@pytest.fixture(scope="session")
def stacked():
    """Returns what `steps` of batches should be, made by hand of those of their rows."""

    def stack(rows, size):
        return [
            (trees.stack([row for row, _ in rows[at : at + size]]), rows[min(at + size, len(rows)) - 1][1])
            for at in range(0, len(rows), size)
        ]

    return stack
