"""The handles: what a user writes."""

from grain._src.checkpoint.storage import DirectoryStorage
from grain._src.nodes.stream import DatasetIterator

DatasetIterator._storage = DirectoryStorage()
