"""The tables of a made-up study, in the shape that analysis writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import polars as pl
from study_intervals import comparison_rows, interval_rows, noise_rows, ranking_rows, stability_rows
from study_shape import DIAGNOSTICS, HOSTILE, PROCESS, Row, Study

from loopscope.analysis.parquet import schema
from loopscope.models.tables import TABLES, RunRow


def _mean(values: Sequence[float | None]) -> float | None:
    present = [v for v in values if v is not None]
    return sum(present) / len(present) if present else None


def _filled(kind: type) -> Row:
    """Columns that no test here looks at, with what says the least."""
    least: dict[Any, Any] = {bool: False, int: 0, float: 0.0, str: ""}
    return {
        name: least.get(hint, () if get_origin(hint) is tuple else None) for name, hint in get_type_hints(kind).items()
    }


def _over_agents(process: list[Row]) -> list[Row]:
    keys = sorted({(r["category"], r["measure"]) for r in process if r["category"] != "overall"})
    return [
        {"category": c, "measure": m,
         "value": _mean([r["value"] for r in process if (r["category"], r["measure"]) == (c, m)])}
        for c, m in keys
    ]  # fmt: skip


def _resources(agents: Sequence[str], runs: list[Row]) -> list[Row]:
    rows = []
    for agent in agents:
        for name in ("tokens", "cost_usd", "agent_sec", "tool_calls"):
            amounts = [r[name] for r in runs if r["agent"] == agent]
            known = [a for a in amounts if a is not None]
            rows.append(
                {
                    "agent": agent, "category": "overall", "resource": name, "per_task": _mean(amounts),
                    "total": float(sum(known)) if known else None, "runs": len(known),
                    "unknown": len(amounts) - len(known),
                }
            )  # fmt: skip
    return rows


def _common(tasks: list[Row], category: str) -> set[str]:
    """Tasks of a category on which every agent has a score that has one at all."""
    mine: dict[str, set[str]] = {}
    for row in tasks:
        if row["avg_at_k"] is not None and category in ("overall", row["category"]):
            mine.setdefault(row["agent"], set()).add(row["task"])
    return set.intersection(*mine.values()) if mine else set()


def write_tables(folder: Path, study: Study, runs: list[Row], checkpoints: list[Row], dips: list[Row]) -> None:
    folder.mkdir(parents=True)
    k = len(study.seeds)
    categories = ["overall", *sorted({c for _, c in study.tasks})]
    tasks: list[Row] = []
    outcome: list[Row] = []
    process: list[Row] = []
    diagnostics: list[Row] = []
    for agent in study.agents:
        for task, category in study.tasks:
            mine = [r["final_score"] for r in runs if (r["agent"], r["task"]) == (agent, task)]
            present = [v for v in mine if v is not None]
            tasks.append(
                {
                    "agent": agent, "task": task, "category": category, "k": k, "avg_at_k": _mean(mine),
                    "best_at_k": max(present, default=None), "n_missing": len(mine) - len(present),
                }
            )  # fmt: skip
    for agent in study.agents:
        for category in categories:
            mine_runs = [r for r in runs if r["agent"] == agent and category in ("overall", r["category"])]
            mine_tasks = [t for t in tasks if t["agent"] == agent and category in ("overall", t["category"])]
            common = [t for t in mine_tasks if t["task"] in _common(tasks, category)]
            outcome.append(
                {
                    "agent": agent, "category": category, "k": k, "k_min": k,
                    "n_tasks": sum(t["avg_at_k"] is not None for t in mine_tasks), "n_common": len(common),
                    "common_avg": _mean([t["avg_at_k"] for t in common]),
                    "common_best": _mean([t["best_at_k"] for t in common]), "n_runs": len(mine_runs),
                    "n_missing": sum(t["n_missing"] for t in mine_tasks),
                    "avg_at_k": _mean([t["avg_at_k"] for t in mine_tasks]),
                    "best_at_k": _mean([t["best_at_k"] for t in mine_tasks]),
                }
            )  # fmt: skip
            for measures, rows in ((PROCESS, process), (DIAGNOSTICS, diagnostics)):
                for measure in measures:
                    values = [r[measure] for r in mine_runs]
                    rows.append(
                        {
                            "agent": agent, "category": category, "measure": measure, "value": _mean(values),
                            "n_tasks": len(mine_tasks), "n_runs": sum(v is not None for v in values),
                        }
                    )  # fmt: skip
    tables = {
        "runs": runs, "checkpoints": checkpoints, "dips": dips, "outcome": outcome, "process": process,
        "process_by_category": _over_agents(process), "diagnostics": diagnostics, "task_scores": tasks,
        "resources": _resources(study.agents, runs),
    }  # fmt: skip
    split, noise_dips = noise_rows(study)
    tables |= {
        "intervals": interval_rows(study, outcome, process + diagnostics, tables["resources"], categories),
        "comparisons": comparison_rows(study, outcome, process, categories),
        "rankings": ranking_rows(study, outcome), "stability": stability_rows(study, outcome),
        "noise": split, "noise_dips": noise_dips,
    }  # fmt: skip
    for name, kind in TABLES.items():
        rows = [_filled(kind) | row for row in tables.get(name, [])]
        pl.DataFrame(rows, schema=schema(kind), orient="row").write_parquet(folder / f"{name}.parquet")
    mark = HOSTILE.replace("\x00", "") if study.hostile else ""
    info = {
        "name": f"Three small tasks{' ' + mark if mark else ''}",
        "created_by": "loopscope 0.1.0",
        "k": k,
        "seeds": list(study.seeds),
        "tasks": [
            {"name": t, "title": t.replace("_", " ").capitalize() + mark, "category": c, "timed": i == 0,
             "metric": "seconds", "baseline": 1.5, "reference": None}
            for i, (t, c) in enumerate(study.tasks)
        ],
        "agents": [{"label": a, "harness": f"{a} 1", "model": None} for a in study.agents],
        "environment": "local",
        "generated_from": {"planned": len(runs), "runs": len(runs), "scored_states": len(checkpoints)},
        "warnings": [f"{len(study.failed)} runs have no score{mark}"] if study.failed else [],
    }  # fmt: skip
    (folder / "study.json").write_text(json.dumps(info))


def run_row(
    run_id: str,
    task: tuple[str, str],
    agent: str,
    seed: int,
    final: float | None,
    rows: list[Row],
    dips: list[Row],
    failed: bool,
) -> Row:
    scores = [r["score"] for r in rows if r["canonical"] and r["score"] is not None]
    canonical = [r for r in rows if r["canonical"]]
    best = max(scores, default=None)
    observed: Row = dict.fromkeys((*PROCESS, *DIAGNOSTICS))
    if scores:
        first = scores[1] if len(scores) > 1 else scores[0]
        observed |= {
            "c1": sum(r["high_water"] for r in canonical) / len(canonical),
            "c2": sum(1.0 if r["delivered"] else 0.4 for r in canonical) / len(canonical),
            "c3": 0.9 / (1 + 0.1 * len(dips)),
            "best_observed": best,
            "early_capture": first / max(scores),
            "later_headroom": (max(scores) - first) / (1 - first),
            "builds_per_round": sum(r["builds"] for r in rows) / len(rows),
            "rounds_with_build_errors": sum(r["build_failures"] for r in rows) / len(rows),
            "build_coverage": 1.0,
            "trace_coverage": 1.0,
            "gain_density": 0.7,
            "peak_retention": (final or 0.0) / max(scores),
            "dip_rate": len(dips) / len(scores),
            "dip_depth": sum(d["depth"] for d in dips) / len(dips) if dips else None,
            "recovery_credit": sum(d["credit"] for d in dips) / len(dips) if dips else None,
        }
    observed["rounds"] = observed["rounds_T"] = len(scores) - 1 if scores else None
    return {
        **_filled(RunRow),
        **observed,
        "run_id": run_id,
        "task": task[0],
        "category": task[1],
        "agent": agent,
        "harness": f"{agent} 1",
        "seed": seed,
        "status": "environment_error" if failed else "deadline",
        "final_score": final,
        "final_spread": None if final is None else 0.018,
        "final_status": "not_verified" if final is None else "ok",
        "best_step_score": best,
        "n_commits": len(rows),
        "n_checkpoints": len(canonical),
        "duration_sec": 81.5,
        "agent_sec": 75.0,
        "tool_calls": 40,
        "c2_unobserved_as_zero": None if observed["c2"] is None else observed["c2"] * 0.9,
        "n_dips": len(dips) if scores else None,
        "flags": ["no agent checkpoint: process measures are missing"] if not rows and not failed else [],
        "problems": ["environment: bwrap"] if failed else [],
    }
