"""Sharding: which part of the data one host of several reads, and how all hosts end together."""

from grain._src.api.together import end_together
from grain._src.sharding import NoSharding, ShardByJaxProcess, ShardOptions

__all__ = ["NoSharding", "ShardByJaxProcess", "ShardOptions", "end_together"]
