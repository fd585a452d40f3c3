"""`import grain` costs little, and loads nothing that is optional."""

import subprocess
import sys

import pytest

OPTIONAL = (
    "jax torch tensorflow orbax pyarrow datasets tensorflow_datasets ray array_record cloudpickle psutil hypothesis"
)


def run(code):
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize(
    "code",
    [
        "import grain",
        "import grain; grain.MapDataset.range(3).shuffle(seed=1).map(str).batch(2)[0]",
        "import grain; list(grain.MapDataset.range(3).to_iter_dataset().filter(bool).batch(2))",
        "import grain.python as grain; grain.MapDataset.range(3)",
    ],
)
def test_no_optional_package_is_loaded(code):
    loaded = run(f"{code}\nimport sys\nprint(*sys.modules)").split()
    assert sorted(set(OPTIONAL.split()) & set(loaded)) == []


def test_nothing_optional_is_loaded_by_any_public_module():
    modules = "checkpoint constants experimental multiprocessing python samplers sharding sources testing transforms"
    code = "\n".join(f"import grain.{name}" for name in modules.split())
    loaded = run(f"{code}\nimport sys\nprint(*sys.modules)").split()
    heavy = {"jax", "torch", "tensorflow", "orbax", "pyarrow", "datasets", "tensorflow_datasets", "ray"}
    assert sorted(heavy & set(loaded)) == []


def test_the_options_of_workers_come_without_named_shared_memory():
    loaded = run("import grain\ngrain.multiprocessing.MultiprocessingOptions\nimport sys\nprint(*sys.modules)").split()
    assert not {"multiprocessing.shared_memory", "concurrent.futures"} & set(loaded)


@pytest.mark.parametrize("workers", [0, 1])
def test_what_starts_workers_is_loaded_when_they_are_asked_for_and_not_before(workers):
    code = f"""
import grain, sys
ds = grain.MapDataset.range(3).to_iter_dataset()
before = "grain._src.engine.processes.pool" in sys.modules
ds.mp_prefetch(grain.MultiprocessingOptions({workers}))
print(before, "grain._src.engine.processes.pool" in sys.modules, "cloudpickle" in sys.modules)
"""
    assert run(code) == f"False {bool(workers)} False\n"


def test_import_has_no_side_effects():
    code = """
import threading, signal, warnings, logging, numpy
before = threading.active_count(), signal.getsignal(signal.SIGINT), warnings.filters[:], logging.root.handlers[:]
import grain
grain.MapDataset, grain.IterDataset, grain.DataLoader
after = threading.active_count(), signal.getsignal(signal.SIGINT), warnings.filters[:], logging.root.handlers[:]
print(before == after)
"""
    assert run(code) == "True\n"


MEASURE = """
import sys, time
began = time.process_time()
import {module}
print(time.process_time() - began)
"""


def test_import_takes_at_most_half_again_as_long_as_numpy():
    def best(module):
        return min(float(run(MEASURE.format(module=module))) for _ in range(7))

    numpy = best("numpy")
    assert best("grain") <= 1.5 * numpy
    assert best("grain; grain.MapDataset; grain.IterDataset") <= 2.5 * numpy, (
        "names are loaded when they are first used"
    )
