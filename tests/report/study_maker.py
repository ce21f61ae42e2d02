"""A study made up for the report's tests: real records, real repositories, tables in the shape that analysis writes.

The numbers are drawn, not computed by the measures: the report must show what the tables say, whatever it is.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

from dulwich.objects import Blob, Tree
from dulwich.repo import Repo
from study_shape import HOSTILE, START, Row, Study
from study_tables import run_row, write_tables

from loopscope.models import (
    Commit,
    CommitOrigin,
    Limit,
    LimitState,
    Problem,
    RunRecord,
    RunStatus,
    StateScore,
    Usage,
    Verification,
)
from loopscope.models import VerificationStatus as Ended
from loopscope.records import StudyStore, write_model

__all__ = ["HOSTILE", "Study", "make"]


def make(path: Path, study: Study | None = None) -> Path:
    """Write the study and give its directory back."""
    study = study or Study()
    rows: list[Row] = []
    checkpoints: list[Row] = []
    dips: list[Row] = []
    for task, category in study.tasks:
        for agent in study.agents:
            for seed in study.seeds:
                rows.append(_run(path, study, (task, category), agent, seed, checkpoints, dips))
    (path / "runs").mkdir(parents=True, exist_ok=True)
    write_tables(path / "tables", study, rows, checkpoints, dips)
    return path


def _run(
    path: Path,
    study: Study,
    task: tuple[str, str],
    agent: str,
    seed: int,
    checkpoints: list[Row],
    dips: list[Row],
) -> Row:
    run_id = f"{task[0]}__{agent}__s{seed}"
    draw = random.Random(run_id)
    failed = run_id in study.failed
    n = 0 if failed or agent == "nop" else 2 if agent == "oracle" else study.commits if agent == "search" else 6
    directory = path / "runs" / run_id
    directory.mkdir(parents=True)
    commits = _repository(directory / "repository", study, draw, n) if n else ()
    curve = _curve(draw, n, study.dips)
    store = StudyStore(path).run(run_id)
    mine = _checkpoints(run_id, study, commits, curve, draw)
    _mark_dips(run_id, mine, dips)
    checkpoints += mine
    for commit, row in zip(commits, mine, strict=True):
        store.write_score(_score(commit.scored_tree, run_id, row["score"], study, draw))
    final = None if failed else (mine[-1]["score"] if mine and mine[-1]["score"] is not None else 0.05)
    if final is not None:
        store.write_score(_score("final", run_id, final, study, draw))
    problem = Problem(
        kind="bwrap", stage="environment", message="no user namespace " + (HOSTILE if study.hostile else "")
    )
    write_model(
        directory / "record.json",
        RunRecord(
            run_id=run_id,
            study="synthetic",
            task=task[0],
            task_hash="0" * 8,
            category=task[1],
            agent=agent,
            harness=f"{agent} 1",
            seed=seed,
            status=RunStatus.ENVIRONMENT_ERROR if failed else RunStatus.DEADLINE,
            problems=(problem,) if failed else (),
            limits={"memory": Limit(state=LimitState.ENFORCED, means="cgroup v2", value=1 << 30, peak=1 << 30, hits=1)},
            started_at=START,
            finished_at=START + timedelta(minutes=2),
            timings={"agent_sec": 75.0, "total_sec": 81.5},
            budget_sec=90,
            environment="local",
            usage=Usage(),
            commits=commits,
            has_transcript=False,
        ),
    )
    return run_row(run_id, task, agent, seed, final, mine, [d for d in dips if d["run_id"] == run_id], failed)


def _repository(path: Path, study: Study, draw: random.Random, n: int) -> tuple[Commit, ...]:
    path.mkdir()
    repo = Repo.init_bare(str(path))
    lines = [f"value_{i} = {draw.randint(0, 99)}" for i in range(60)]
    found: list[Commit] = []
    for i in range(n):
        if i:
            for _ in range(3):
                lines[draw.randrange(60)] = f"value_{draw.randrange(60)} = {draw.randint(0, 99)}  # step {i}"
        text = "\n".join(lines) + "\n"
        if study.hostile:
            text += HOSTILE.replace("\x00", "") + "\n"
        tree = Tree()
        names = {"solve.py": text, "NOTES.md": f"step {i}\n", **study.files}
        if study.hostile:
            names["<img src=x onerror=alert(1)>\u202e.py"] = f"print({i})\n"
        for name, content in sorted(names.items()):
            blob = Blob.from_string(content.encode())
            repo.object_store.add_object(blob)
            tree.add(name.encode(), 0o100644, blob.id)
        repo.object_store.add_object(tree)
        words = "initial commit" if i == 0 else f"Try a wider window, step {i}\n\nKeep the cache, drop the second pass."
        if study.hostile and i:
            words = HOSTILE + f" {i}\n\n" + HOSTILE * 3
        found.append(
            Commit(
                sha=f"{draw.getrandbits(160):040x}",
                tree=tree.id.decode(),
                scored_tree=tree.id.decode(),
                parents=(found[-1].sha,) if found else (),
                message=words,
                commit_time=START + timedelta(seconds=20 * i),
                origin=CommitOrigin.HEAD,
            )
        )
    repo.close()
    return tuple(found)


def _curve(draw: random.Random, n: int, dips: bool) -> list[float | None]:
    curve: list[float | None] = []
    level = draw.uniform(0.05, 0.25)
    for i in range(n):
        if i:
            level += (0.93 - level) * draw.uniform(0.02, 0.4)
        shown = level
        if dips and i > 2 and i % 5 == 3:
            shown = draw.choice((0.0, level * draw.uniform(0.5, 0.9)))
        curve.append(None if dips and n > 6 and i == 6 else round(shown, 4))
    return curve


def _checkpoints(
    run_id: str, study: Study, commits: Sequence[Commit], curve: Sequence[float | None], draw: random.Random
) -> list[Row]:
    rows: list[Row] = []
    water, index = 0.0, 0
    for i, (commit, score) in enumerate(zip(commits, curve, strict=True)):
        canonical = not (len(commits) > 8 and i == 4)
        if canonical and score is not None:
            water = max(water, score)
        spread = 0.0 if not score else draw.uniform(0.005, 0.03)
        rows.append(
            {
                "run_id": run_id,
                "position": i,
                "canonical_index": index if canonical else None,
                "sha": commit.sha,
                "subject": commit.subject,
                "commit_time": commit.commit_time.isoformat() if commit.commit_time else None,
                "score": score,
                "score_min": None if score is None else max(0.0, score - spread),
                "score_max": None if score is None else min(1.0, score + spread),
                "n_verifications": 3,
                "status": "timeout" if score is None else "ok",
                "high_water": water,
                "canonical": canonical,
                "initial": i == 0,
                "ambiguous_initial": False,
                "gate_reason": "artifact changed: solve.py"
                if canonical
                else "no artifact changed; message keeps the books",
                "grade": "missing" if score is None else "official",
                "delivered": None if score is None else score > 0,
                "builds": draw.randint(0, 4),
                "build_failures": 1 if i % 5 == 3 else 0,
                "candidates": draw.randint(1, 3),
                "builds_by_state": 1,
                "build_failures_by_state": 0,
                "candidates_by_state": 1,
                "is_dip_start": False,
                "is_recovery": False,
                "dip_episode": None,
            }
        )
        index += canonical
    return rows


def _mark_dips(run_id: str, rows: list[Row], dips: list[Row]) -> None:
    kept = [r for r in rows if r["canonical"] and r["score"] is not None]
    episode = 0
    for before, row in pairwise(kept):
        if row["score"] >= before["score"] - 0.01:
            continue
        later = [r for r in kept if r["position"] > row["position"]]
        target = next((r for r in later if r["score"] >= before["score"] - 0.01), None)
        row["is_dip_start"], row["dip_episode"] = True, episode
        if target:
            target["is_recovery"] = True
        dips.append(
            {
                "run_id": run_id,
                "episode": episode,
                "start_sha": row["sha"],
                "low_sha": row["sha"],
                "target_sha": target["sha"] if target else None,
                "before": before["score"],
                "low": row["score"],
                "recovered_to": before["score"] if target else row["score"],
                "depth": before["score"] - row["score"],
                "length": target["position"] - row["position"] if target else 1,
                "rho": 1.0 if target else 0.0,
                "credit": 1.0 if target else 0.0,
            }
        )
        episode += 1


def _score(state: str, run_id: str, score: float | None, study: Study, draw: random.Random) -> StateScore:
    def one(offset: float) -> Verification:
        output = "checking 12 cases\n" + "\n".join(f"case {i}: ok" for i in range(12))
        if study.hostile:
            output += "\n" + HOSTILE + "\n" + "A" * 1_000_000
        return Verification(
            status=Ended.TIMEOUT if score is None else Ended.OK,
            reward=None if score is None else Decimal(f"{min(1.0, max(0.0, score + offset)):.4f}"),
            metrics={} if score is None else {"seconds": Decimal("0.4123"), "correctness": Decimal(1)},
            reason="killed after 60 s" if score is None else None,
            output=output,
            started_at=START,
            duration_sec=0.43,
            verifier_timeout_sec=60,
            alone=True,
        )

    spread = draw.uniform(0.002, 0.02) if score else 0.0
    return StateScore(
        state=state, run_id=run_id, verifier_hash="0" * 8, verifications=(one(-spread), one(0.0), one(spread))
    )
