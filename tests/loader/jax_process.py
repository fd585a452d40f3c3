"""One of several real JAX processes: reads its shard, meets the others in a collective at every step, prints what it saw."""

import json
import sys

import jax
import numpy as np
from jax.experimental import multihost_utils

import grain
from grain.sharding import end_together

RECORDS = 23


class KeepSome(grain.transforms.Filter):
    """Leaves the shards with unequal numbers of records."""

    def filter(self, element: int) -> bool:
        return element < 13 or element % 5 == 0


def loader(drop_remainder: bool, operations: list[object]) -> grain.DataLoader:
    sampler = grain.IndexSampler(
        num_records=RECORDS,
        shard_options=grain.ShardByJaxProcess(drop_remainder=drop_remainder),
        shuffle=True,
        num_epochs=1,
        seed=11,
    )
    return grain.DataLoader(data_source=range(RECORDS), sampler=sampler, operations=operations)


def train(batches: object) -> list[list[int]]:
    """A step is a collective: a process that goes on alone would wait for the others for ever."""
    seen = []
    for batch in batches:  # type: ignore[attr-defined]
        multihost_utils.process_allgather(np.int32(len(seen)))
        seen.append(np.asarray(batch).tolist())
    return seen


def main() -> None:
    index, count, port = map(int, sys.argv[1:])
    jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=count, process_id=index, initialization_timeout=60)
    equal = [grain.transforms.Batch(2, drop_remainder=True)]
    uneven = [KeepSome(), grain.transforms.Batch(2)]
    result = {
        "shard": repr(grain.ShardByJaxProcess()),
        "complete": [int(record) for record in loader(False, [])],
        "dropped": [int(record) for record in loader(True, [])],
        "equal": train(loader(True, equal)),
        "uneven": [np.asarray(batch).tolist() for batch in loader(False, uneven)],
        "together": train(end_together(iter(loader(False, uneven)))),
        "ahead": train(end_together(iter(loader(False, uneven)), every=3)),
    }
    print(json.dumps(result))
    multihost_utils.sync_global_devices("done")


if __name__ == "__main__":
    main()
