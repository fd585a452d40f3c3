"""What the demonstration shows: a line that moves in a terminal, plain lines elsewhere."""

import shutil
import sys
import time
from collections.abc import Callable
from typing import Any

_BAR = 24
_SHORT_BAR = 12
_WIDE = 116  # columns
_PLAIN_EVERY = 100


class Screen:
    """Prints headings, progress and verdicts."""

    def __init__(self) -> None:
        self._live = sys.stdout.isatty()
        self._shown = 0.0

    def _paint(self, text: str, code: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self._live else text

    def heading(self, text: str) -> None:
        """Prints what comes next."""
        print(f"\n{self._paint(text, '1')}", flush=True)

    def note(self, text: str) -> None:
        """Prints a remark."""
        print(f"  {text}", flush=True)

    def verdict(self, good: bool, text: str) -> None:
        """Prints whether something holds."""
        print(f"  {self._paint('✓', '32') if good else self._paint('✗', '31')} {text}", flush=True)

    def progress(self, report: dict[str, Any], steps: int) -> None:
        """Shows how far the training is."""
        step = report["step"]
        now = time.monotonic()
        if self._live:
            if now - self._shown < 0.05 and step != steps:
                return
            self._shown = now
            print(
                f"\r\033[K{_line(report, steps, self._paint, shutil.get_terminal_size().columns)}", end="", flush=True
            )
        elif step % _PLAIN_EVERY == 0 or step == steps:
            print(_line(report, steps, self._paint, _WIDE), flush=True)

    def end_progress(self) -> None:
        """Leaves the line that moves as it is."""
        if self._live:
            print()


def _line(report: dict[str, Any], steps: int, paint: Callable[[str, str], str], columns: int) -> str:
    wide = columns >= _WIDE
    length = _BAR if wide else _SHORT_BAR
    filled = length * report["step"] // steps
    bar = paint("━" * filled, "36") + paint("─" * (length - filled), "90")
    numbers = (f"{report['step']:>4}/{steps}", f"{report['loss']:.3f}", f"{report['accuracy']:6.1%}")
    speed, waiting = f"{report['rate']:>7,.0f}", f"{report['waiting']:5.1%}"
    if wide:
        step, loss, accuracy = numbers
        return f"  {bar} step {step}  loss {loss}  accuracy {accuracy}  {speed} elements/s  waiting for data {waiting}"
    return f"{bar} {' '.join(numbers)} {speed}/s wait {waiting}"
