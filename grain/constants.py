"""Names of features that datasets add to elements."""

INDEX = "_index"
EPOCH = "_epoch"
RECORD = "_record"
RECORD_KEY = "_record_key"
SEED = "_seed"
DATASET_INDEX = "_dataset_index"
META_FEATURES = frozenset({INDEX, EPOCH, RECORD, RECORD_KEY, SEED, DATASET_INDEX})

__all__ = ["DATASET_INDEX", "EPOCH", "INDEX", "META_FEATURES", "RECORD", "RECORD_KEY", "SEED"]
