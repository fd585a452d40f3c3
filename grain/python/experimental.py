"""The older path of `grain.experimental`."""

from grain.experimental import *  # noqa: F403
from grain.experimental import __all__ as __all__
