"""What a user's own module has: functions that workers import, with nothing of the harness behind them."""

from typing import Any

import numpy as np

_SCALE = np.float32(1 / 255)


def normalise(element: dict[str, Any]) -> dict[str, Any]:
    return {"image": element["image"] * _SCALE, "label": element["label"]}


def relabel(element: dict[str, Any]) -> dict[str, Any]:
    return {"image": element["image"], "label": element["label"] % 2}
