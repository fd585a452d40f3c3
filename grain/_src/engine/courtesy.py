"""When a thread that reads ahead holds back: so that a consumer that comes for its next element need not wait for it."""

_LATE = 1.5  # times as long as usual stays away who is not coming soon
# What is usual is about the tenth part of the visits that come soonest: others may have been held up, or come in pairs.
_SOONER, _LATER, _MUCH_LATER = 0.8, 1.02, 1.2
_MARGIN = 1.1
_VISITS = 8  # after so many one block is begun all the same, so that the buffer fills up in time


class Courtesy:
    """Says how long a thread should wait before it begins a block.

    Code that keeps the interpreter lock keeps it from the consumer, too, whose training step may be over. With enough
    elements ready there is no hurry: a block is begun where it will be done by the time the consumer is expected, which is
    mostly at once after its visit.
    """

    def __init__(self) -> None:
        self._usual = 0.0  # seconds between two visits; 0 if nothing is known
        self._visits = 0

    def visit(self, away: float) -> None:
        """Takes note that the consumer came back after so many seconds."""
        usual = self._usual or away
        later = _MUCH_LATER if away > 2 * usual else _LATER
        self._usual = min(max(away, _SOONER * usual), later * usual)
        self._visits += 1

    def pause(self, away: float, seconds: float) -> float:
        """Returns how long to wait, unless the consumer comes before that: seconds, 0 for a block to be begun now.

        Args:
          away: for how long the consumer has been away.
          seconds: how long the block is going to take.
        """
        keeps_up = _MARGIN * seconds <= self._usual  # one a visit is enough
        if not keeps_up or away + _MARGIN * seconds <= self._usual or away >= _LATE * self._usual:
            return 0.0
        if self._visits >= _VISITS:
            self._visits = 0
            return 0.0
        return _LATE * self._usual - away
