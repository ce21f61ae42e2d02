"""Rows that say how sure the numbers of a made-up study are: of the shape that analysis writes, by a rule of thumb.

The report must show what the tables say; so the ends lie at round distances from the values, and findings are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from study_shape import Row, Study

READINGS = (("random tasks", 0.1), ("fixed tasks", 0.05))
ONE_TASK = "one task: its spread is unknown"
FEW = "2 tasks are few: the interval rests on them alone"


def interval_rows(
    study: Study, outcome: list[Row], measures: list[Row], resources: list[Row], categories: Sequence[str]
) -> list[Row]:
    """One row per number and reading; a category of one task has no interval for random tasks."""
    numbers = [
        *(
            (r, measure, r[measure], r["n_missing"])
            for r in outcome
            for measure in ("avg_at_k", "best_at_k")
        ),
        *((r, r["measure"], r["value"], 0) for r in measures),
        *(({"n_tasks": len(study.tasks), "n_runs": r["runs"]} | r, r["resource"], r["per_task"], r["unknown"])
          for r in resources),
    ]  # fmt: skip
    assert {r["category"] for r, *_ in numbers} <= set(categories)
    return [_interval(study, *number, reading, width) for number in numbers for reading, width in READINGS]


def _interval(
    study: Study, row: Row, measure: str, value: float | None, missing: int, reading: str, width: float
) -> Row:
    known = value is not None and (reading == "fixed tasks" or row["n_tasks"] != 1 or study.sure)
    bounded = missing and measure.endswith("at_k") and value is not None
    spread = width * max(1.0, value or 0.0)
    return {
        "agent": row["agent"], "category": row["category"], "measure": measure, "reading": reading, "value": value,
        "low": max(0.0, value - spread) if known and value is not None else None,
        "high": value + spread if known and value is not None else None,
        "level": 0.95, "method": "score" if known else None, "k": len(study.seeds), "n_tasks": row["n_tasks"],
        "n_runs": row["n_runs"], "n_missing": missing,
        "missing_low": value * 0.8 if bounded and value is not None else None,
        "missing_high": min(1.0, value * 1.2) if bounded and value is not None else None,
        "guard": (FEW if known else ONE_TASK) if value is not None and reading == "random tasks" else None,
    }  # fmt: skip


def comparison_rows(study: Study, outcome: list[Row], process: list[Row], categories: Sequence[str]) -> list[Row]:
    """Each pair by label, with the finding that the study gives its pairs."""
    found = []
    for category in categories:
        numbers = {
            (r["agent"], m): r[m] for r in outcome for m in ("avg_at_k", "best_at_k") if r["category"] == category
        } | {(r["agent"], r["measure"]): r["value"] for r in process if r["category"] == category}
        pairs = list(combinations(sorted(study.agents), 2))
        for measure in ("avg_at_k", "best_at_k", "c1", "c2", "c3"):
            for reading, width in READINGS:
                found += [
                    _comparison(study, a, b, category, measure, reading, width, len(pairs), numbers) for a, b in pairs
                ]
    return found


def _comparison(
    study: Study, first: str, second: str, category: str, measure: str, reading: str, width: float, family: int,
    numbers: dict[tuple[str, str], float | None],
) -> Row:  # fmt: skip
    one, other = numbers.get((first, measure)), numbers.get((second, measure))
    apart = None if one is None or other is None else one - other
    finding = study.finding if apart is not None else "nothing"
    if finding == "higher":
        finding = "no_evidence" if not apart else "first_higher" if apart > 0 else "second_higher"
    tasks = len(study.tasks) if apart is not None else 0
    return {
        "first": first, "second": second, "category": category, "measure": measure, "reading": reading,
        "difference": apart, "low": None if apart is None else apart - width,
        "high": None if apart is None else apart + width, "level": 0.95, "method": "score",
        "p": None if apart is None else 0.25, "p_adjusted": None if apart is None else 0.25 if "no" in finding else 0.03,
        "p_least": 0.25 if tasks else None, "family": family, "wins": tasks if (apart or 0) > 0 else 0,
        "losses": tasks if (apart or 0) < 0 else 0, "ties": 0 if apart else tasks, "k": len(study.seeds),
        "n_tasks": tasks, "finding": finding, "verdict": "", "guard": FEW if tasks == 2 else None,
    }  # fmt: skip


def ranking_rows(study: Study, outcome: list[Row]) -> list[Row]:
    """Places of the agents with a score: three quarters of the resamples in the place of the estimate."""
    scored = [r for r in outcome if r["category"] == "overall" and r["avg_at_k"] is not None]
    order = sorted(scored, key=lambda r: (-r["avg_at_k"], r["agent"]))
    n = len(order)
    if n < 2:
        return []
    return [
        {
            "agent": r["agent"], "category": "overall", "measure": "avg_at_k", "reading": "random tasks", "rank": rank,
            "place": place, "probability": 0.75 if place == rank else 0.25 / (n - 1), "draws": 10_000,
            "n_tasks": len(study.tasks), "best_place": 1 if r["n_missing"] else rank, "worst_place": rank,
        }
        for rank, r in enumerate(order, 1)
        for place in range(1, n + 1)
    ]  # fmt: skip


def stability_rows(study: Study, outcome: list[Row]) -> list[Row]:
    """Two ways to look at less: one that was drawn, and one that there is only one of."""
    n = sum(r["category"] == "overall" and r["avg_at_k"] is not None for r in outcome)
    if n < 2:
        return []
    rest = {"n_tasks": len(study.tasks)}
    agents, models, tasks = (
        {"ordered": what, "n_ordered": size} | rest
        for what, size in (("agents", n), ("models", 2), ("tasks", len(study.tasks)))
    )
    return [
        {"measure": "avg_at_k", "what": "1 of 2 seeds", "tau": 0.5, "tau_low": -0.25, "tau_high": 1.0, "same_first": 0.75,
         "same_order": 0.3, "draws": 1000} | agents,
        {"measure": "best_at_k", "what": f"without {study.tasks[0][1]}", "tau": None, "tau_low": None, "tau_high": None,
         "same_first": 1.0, "same_order": 0.0, "draws": 1} | agents,
        {"measure": "avg_at_k", "what": "one 1.0 against other 2.0", "tau": -1.0, "tau_low": -1.0, "tau_high": 1.0,
         "same_first": 0.4, "same_order": 0.4, "draws": 1000} | models,
        {"measure": "avg_at_k", "what": "one 1.0 against other 2.0", "tau": 0.8, "tau_low": 0.6, "tau_high": 1.0,
         "same_first": None, "same_order": None, "draws": 1000} | tasks,
    ]  # fmt: skip


def noise_rows(study: Study) -> tuple[list[Row], list[Row]]:
    """The sources of spread, and dips beside those by noise."""
    split = [
        {
            "agent": agent, "category": "overall", "source": source, "variance": None if sd is None else sd * sd,
            "sd": sd, "low": None, "high": None, "df": 0 if sd is None else 4, "n_tasks": len(study.tasks),
            "n_runs": len(study.tasks) * len(study.seeds), "guard": "one seed per task" if sd is None else None,
        }
        for agent in study.agents
        for source, sd in (
            ("task", 0.2), ("seed", 0.05 if len(study.seeds) > 1 else None), ("verification", 0.012),
        )
    ]  # fmt: skip
    dips = [
        {
            "agent": agent, "category": "overall", "dips": 6, "expected": 1.5, "share": 0.25, "n_runs": 4,
            "guard": "noise of one task stands for the others",
        }
        for agent in study.agents
    ]  # fmt: skip
    return split, dips
