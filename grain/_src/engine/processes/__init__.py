"""The process executor: a pool of stateless workers, and the iterators that feed and read it."""
