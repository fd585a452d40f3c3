"""What several tests of nodes look with."""

import pytest


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
