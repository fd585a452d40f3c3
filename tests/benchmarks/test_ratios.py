"""What `python -m benchmarks check` concludes from the numbers of a run."""

import json
from typing import Any

import pytest

from benchmarks import ratios


def numbers(more: bool = True, **contestants: float | str) -> dict[str, Any]:
    """A measured row; a text stands for a contestant that failed with it."""
    entries = {
        who.replace("_", " "): {"failed": value} if isinstance(value, str) else {"best": value}
        for who, value in contestants.items()
    }
    return {"unit": "records/s" if more else "s", "more": more, "contestants": entries}


def run(**rows: dict[str, Any]) -> dict[str, Any]:
    return {"workloads": {"work": {"rows": rows}}}


@pytest.fixture
def floors(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets the committed floors."""
    file = tmp_path / "floors.json"
    monkeypatch.setattr(ratios, "FLOORS", file)

    def write(asserted: dict[str, Any], shown: dict[str, Any] | None = None) -> None:
        file.write_text(json.dumps({"asserted": {"work": asserted}, "shown": {"work": shown or {}}}))

    return write


def test_ratio_of_rates_says_how_many_times_faster_we_are() -> None:
    rows = {"a": numbers(ours=300, reference=10)}
    assert ratios.evaluate(rows, "a", "ours / reference") == 30


def test_ratio_of_costs_is_above_one_when_we_need_less() -> None:
    rows = {"a": numbers(more=False, ours=0.1, reference=0.5)}
    assert ratios.evaluate(rows, "a", "ours / reference") == 5


def test_best_is_the_better_of_all_settings_of_one_library_only() -> None:
    rows = {"a": numbers(ours=300, torch=10, torch_2_workers=20, torchdata=50)}
    assert ratios.evaluate(rows, "a", "ours / torch best") == 15


def test_limit_of_another_row_can_be_multiplied() -> None:
    rows = {"2 workers": numbers(ours=90), "0 workers": numbers(limit=50)}
    assert ratios.evaluate(rows, "2 workers", "ours / limit @ 0 workers × 2") == 0.9


def test_goal_fails_below_its_floor_and_holds_at_it(floors: Any) -> None:
    floors({"a": {"ours / reference best": 10}})
    assert ratios.goals(run(a=numbers(ours=100, reference=10)))[0].holds
    assert not ratios.goals(run(a=numbers(ours=99, reference=10)))[0].holds


def test_row_without_a_floor_must_not_be_slower_than_the_reference(floors: Any) -> None:
    floors({})
    (goal,) = ratios.goals(run(a=numbers(ours=9, reference=8, reference_inline=10)))
    assert (goal.expression, goal.floor, goal.value, goal.holds) == ("ours / reference best", 1.0, 0.9, False)


@pytest.mark.parametrize(("ours", "verdict"), [(100, "holds"), (99, "even"), (95, "even"), (94, "FAILS")])
def test_two_that_a_run_cannot_tell_apart_are_even(floors: Any, ours: float, verdict: str) -> None:
    floors({})
    (goal,) = ratios.goals(run(a=numbers(ours=ours, reference=100)))
    assert goal.line().startswith(verdict)
    assert goal.even == (verdict == "even")


def test_a_goal_above_par_is_never_even(floors: Any) -> None:
    floors({"a": {"ours / reference best": 5}})
    (goal,) = ratios.goals(run(a=numbers(ours=49.9, reference=10)))
    assert not goal.even


def test_failed_contestant_leaves_the_goal_open_with_its_reason(floors: Any) -> None:
    floors({"a": {"ours / reference best": 10}})
    (goal,) = ratios.goals(run(a=numbers(ours="ValueError: no", reference=10)))
    assert not goal.holds
    assert goal.line().startswith("not measured")
    assert "ours failed: ValueError: no" in goal.line()


def test_times_are_shown_and_not_asserted(floors: Any) -> None:
    floors({}, shown={"a": {"ours": 0.2}})
    (goal,) = ratios.goals(run(a=numbers(more=False, ours=0.3)))
    assert (goal.asserted, goal.holds, goal.unit) == (False, False, "s")


def test_committed_floors_can_be_read() -> None:
    for *_, expression, floor, _asserted in ratios.floors():
        assert floor is None or floor > 0
        for term in expression.split(" / "):
            assert ratios._TERM.match(term)
