"""Checks to run on your own sources, datasets and iterators."""

from grain._src.conformance.dataset import check_dataset
from grain._src.conformance.iterator import check_iterator
from grain._src.conformance.resume import assert_equal_output_after_checkpoint
from grain._src.conformance.source import check_source

__all__ = ["assert_equal_output_after_checkpoint", "check_dataset", "check_iterator", "check_source"]
