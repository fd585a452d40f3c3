"""How often a row is measured, and with which settings."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from benchmarks.contestants import settings
from benchmarks.process import Failed, Process
from benchmarks.run import Bench


def row(name: str, **more: Any) -> dict[str, Any]:
    plain = {"unit": "records/s", "more": True, "steady": False, "rounds": 1, "fresh": False, "workers": None}
    which = {"workload": "cheap", "about": "", "row": name, "defaults": True, "spread": False, "contestants": ["ours"]}
    return {**plain, **which, **more}


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, list[float]]]:
    """Runs rows whose measurements are given, and says which of them were taken."""

    def run(rows: dict[str, list[Any]], **options: Any) -> dict[str, list[float]]:
        numbers: dict[str, Iterator[Any]] = {name: iter(values) for name, values in rows.items()}

        def once(_bench: Bench, row: dict[str, Any], _name: str, _setting: str) -> float:
            value = next(numbers[row["row"]])
            if isinstance(value, Exception):
                raise value
            return float(value)

        monkeypatch.setattr(Bench, "_install", lambda _bench, _names: None)
        monkeypatch.setattr(Bench, "_once", once)
        monkeypatch.setattr(Bench, "_finish", lambda *_arguments: None)
        bench = Bench(repetitions=5, seconds=0.1, **options)
        results = bench.run([row(name) for name in rows])
        return {name: entry["contestants"]["ours"] for name, entry in results["cheap"]["rows"].items()}

    return run


def test_of_the_rounds_of_a_repetition_rates_count_with_their_mean_and_costs_with_the_least(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    finished = []
    monkeypatch.setattr(Bench, "_install", lambda _bench, _names: None)
    monkeypatch.setattr(Bench, "_once", lambda _bench, row, _name, _setting: next(row["numbers"]))
    monkeypatch.setattr(Bench, "_finish", lambda _bench, row, *_turn: finished.append(row["row"]))
    rows = [row(name, more=name == "rate", rounds=3, numbers=iter([10.0, 30.0, 20.0])) for name in ("rate", "cost")]
    results = Bench(repetitions=1, seconds=0.1).run(rows)["cheap"]["rows"]
    assert {name: entry["contestants"]["ours"]["values"] for name, entry in results.items()} == {
        "rate": [20],
        "cost": [10],
    }
    assert finished == ["rate", "cost"]


@pytest.mark.parametrize("fresh", [True, False])
def test_a_row_that_needs_new_processes_has_them(monkeypatch: pytest.MonkeyPatch, fresh: bool) -> None:
    done: list[str] = []
    monkeypatch.setattr(Bench, "_install", lambda _bench, _names: None)
    monkeypatch.setattr(Process, "stop", lambda _process: done.append("stop"))
    monkeypatch.setattr(Process, "ask", lambda _process, _deadline, do, **_request: done.append(do) or 1.0)
    Bench(repetitions=1, seconds=0.1).run([row("start", fresh=fresh)])
    assert done == (["stop", "measure", "stop"] if fresh else ["measure", "finish"])


def test_a_row_is_measured_twice_and_again_until_its_two_best_values_agree(measured: Any) -> None:
    found = measured({"steady": [100, 102, 50], "wild": [100, 50, 120, 118, 7]})
    assert found["steady"]["values"] == [100, 102]
    assert found["wild"]["values"] == [100, 50, 120, 118]
    assert found["wild"]["best"] == 120


def test_all_contestants_of_a_row_are_measured_equally_often(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = {"ours": iter([100, 101, 50, 103, 7]), "reference": iter([100, 50, 120, 118, 7])}
    monkeypatch.setattr(Bench, "_install", lambda _bench, _names: None)
    monkeypatch.setattr(Bench, "_once", lambda _bench, _row, name, _setting: next(numbers[name]))
    monkeypatch.setattr(Bench, "_finish", lambda *_arguments: None)
    results = Bench(repetitions=5, seconds=0.1).run([row("uneven", contestants=["ours", "reference"])])
    values = {who: entry["values"] for who, entry in results["cheap"]["rows"]["uneven"]["contestants"].items()}
    assert values == {"ours": [100, 101, 50, 103], "reference": [100, 50, 120, 118]}


def test_values_that_never_agree_are_given_up_after_so_many_repetitions(measured: Any) -> None:
    assert measured({"wild": [1, 2, 4, 8, 16, 32]})["wild"]["values"] == [1, 2, 4, 8, 16]


def test_what_is_beyond_the_time_is_left_out(measured: Any) -> None:
    assert measured({"wild": [1, 2, 4, 8, 16, 32]}, budget=0.0)["wild"]["values"] == [1]


def test_who_failed_is_not_asked_again_and_keeps_what_it_reached(measured: Any) -> None:
    found = measured({"breaks": [100, Failed("it died"), 100]})["breaks"]
    assert found["failed"] == "it died"
    assert found["values"] == [100]


def test_a_row_that_nobody_takes_part_in_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bench, "_install", lambda _bench, _names: None)
    results = Bench(repetitions=5, seconds=0.1).run([row("lonely", contestants=[])])
    assert results["cheap"]["rows"]["lonely"]["contestants"] == {}


def test_two_workers_are_tried_where_a_row_wants_it_and_sets_none_itself() -> None:
    for who in ("ours", "reference", "limit"):  # a share of the limit is one of as many processes
        assert "2 workers" in settings(who, None, spread=True, defaults=False)
    assert "2 workers" not in settings("reference", None, spread=False, defaults=False)
    assert "2 workers" not in settings("reference", 1, spread=True, defaults=False)
    assert settings("ours", None, spread=True, defaults=True) == ["default"]
