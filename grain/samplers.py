"""Samplers: which record a loader reads at which index."""

from grain._src.samplers import IndexSampler, Sampler, SequentialSampler

__all__ = ["IndexSampler", "Sampler", "SequentialSampler"]
