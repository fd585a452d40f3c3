"""One file a workload: the same work for every library, and the rows that are measured of it."""
