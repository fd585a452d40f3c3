"""Shards of real JAX processes on this machine."""

import json
import pathlib
import socket
import subprocess
import sys
from itertools import chain

import pytest

pytest.importorskip("jax")
PROGRAM = pathlib.Path(__file__).with_name("jax_process.py")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture(scope="module", params=[2, 4])
def results(request):
    """What each of 2 and 4 processes saw; a process that hangs fails the test."""
    port = free_port()
    environment = {"JAX_PLATFORMS": "cpu", "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(filter(None, sys.path))}
    processes = [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), str(index), str(request.param), str(port)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for index in range(request.param)
    ]
    try:
        outputs = [process.communicate(timeout=100) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0] * request.param, outputs
    return [json.loads(stdout.splitlines()[-1]) for stdout, _ in outputs]


def test_each_process_knows_its_shard(results):
    expected = f"shard_count={len(results)}, drop_remainder=False)"
    assert [result["shard"] for result in results] == [
        f"ShardByJaxProcess(shard_index={index}, {expected}" for index in range(len(results))
    ]


def test_shards_are_disjoint_and_complete(results):
    assert sorted(chain.from_iterable(result["complete"] for result in results)) == list(range(23))


def test_with_drop_remainder_shards_are_disjoint_and_equally_long(results):
    records = list(chain.from_iterable(result["dropped"] for result in results))
    assert len(set(records)) == len(records) == 23 // len(results) * len(results)
    assert len({len(result["dropped"]) for result in results}) == 1


def test_with_drop_remainder_every_process_takes_as_many_steps(results):
    assert len({len(result["equal"]) for result in results}) == 1


@pytest.mark.parametrize("way", ["together", "ahead"])
def test_uneven_shards_end_together_instead_of_hanging_a_collective(results, way):
    steps = {len(result["uneven"]) for result in results}
    assert len(steps) > 1
    assert [result[way] for result in results] == [result["uneven"][: min(steps)] for result in results]
