"""What the demonstration shows: a line that moves in a terminal, plain lines elsewhere."""

import shutil
import sys
import time
from typing import Any

_BAR = 24
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
            width = shutil.get_terminal_size().columns
            print(f"\r\033[K{_line(report, steps, self._paint)[: width + 40]}", end="", flush=True)
        elif step % _PLAIN_EVERY == 0 or step == steps:
            print(_line(report, steps, self._paint), flush=True)

    def end_progress(self) -> None:
        """Leaves the line that moves as it is."""
        if self._live:
            print()


def _line(report: dict[str, Any], steps: int, paint: Any) -> str:
    filled = _BAR * report["step"] // steps
    bar = paint("━" * filled, "36") + paint("─" * (_BAR - filled), "90")
    return (
        f"  {bar} step {report['step']:>4}/{steps}  loss {report['loss']:.3f}  accuracy {report['accuracy']:6.1%}"
        f"  {report['rate']:>7,.0f} elements/s  waiting for data {report['waiting']:5.1%}"
    )
