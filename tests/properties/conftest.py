"""Makes the random pipelines importable, here and in worker processes."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parent))
