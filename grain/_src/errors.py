"""The errors that this library raises on its own account.

GrainError
├── StateError (ValueError)         a state does not fit the pipeline it is given to
├── PositionError (ValueError, NotImplementedError)  an iterator does not know its position as an index
├── CheckpointError (ValueError)    a checkpoint file is missing, damaged, foreign or of another pipeline
├── WorkerError (RuntimeError)      worker processes could not do the work
│   ├── WorkerDied                  elements that kill the worker that computes them
│   └── UnpicklableError (TypeError)  a pipeline holds an object that cannot be sent to workers
└── SourceError (ValueError)        a file is damaged or not of the format it is opened as

A failing function of the user's keeps its own type.
"""


class GrainError(Exception):
    """The root of this library's own errors."""


class StateError(GrainError, ValueError):
    """A state does not fit the pipeline it is given to."""


class PositionError(GrainError, ValueError, NotImplementedError):
    """An iterator does not know its position as an index."""


class CheckpointError(GrainError, ValueError):
    """A checkpoint file is missing, damaged, foreign or of another pipeline."""


class WorkerError(GrainError, RuntimeError):
    """Worker processes could not do the work."""


class WorkerDied(WorkerError):
    """Elements killed the worker that computed them, more than once."""


class UnpicklableError(WorkerError, TypeError):
    """A pipeline holds an object that cannot be sent to worker processes."""


class SourceError(GrainError, ValueError):
    """A file is damaged or not of the format it is opened as."""
