"""Studies made without running anything: real repositories, records and scores, written as the engine writes them."""

from __future__ import annotations

import io
import tarfile
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import yaml
from git_work import Work

from loopscope.models import (
    Anchors,
    PreparedTask,
    RunRecord,
    RunStatus,
    StateScore,
    TaskInfo,
    Timings,
    Usage,
    Verification,
    VerificationStatus,
)
from loopscope.records import StudyStore, write_model
from loopscope.records.history import read_history
from loopscope.records.repository import Repository
from loopscope.records.salvage import salvage
from loopscope.records.workspace import compress

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def verification(reward: str | None, status: VerificationStatus = VerificationStatus.OK, **more: Any) -> Verification:
    metrics = {"correctness": Decimal(1)} if reward is not None else {}
    return Verification(
        status=status if reward is not None or status is not VerificationStatus.OK else VerificationStatus.NO_REWARD,
        reward=None if reward is None else Decimal(reward),
        metrics=more.pop("metrics", metrics),
        started_at=NOON,
        duration_sec=0.1,
        verifier_timeout_sec=10,
        **more,
    )


class MadeStudy:
    """Adds tasks and runs to a study directory."""

    def prepare(self, task: str, files: dict[str, str]) -> None:
        """Keep the archive of a task's untouched work directory."""
        archive = self.path / "tasks" / f"{task}.baseline.tar"
        with tarfile.open(archive, "w") as tar:
            for name, text in files.items():
                info = tarfile.TarInfo(f"./{name}")
                info.size = len(text)
                tar.addfile(info, io.BytesIO(text.encode()))
        compress(archive, archive.with_suffix(".tar.zst"))
        archive.unlink()

    def __init__(self, path: Path, agents: list[str], tasks: dict[str, str], seeds: int) -> None:
        self.path = path
        self.store = StudyStore(path)
        (path / "runs").mkdir(parents=True)
        spec = {"name": "made", "tasks": list(tasks), "agents": agents, "seeds": seeds}
        (path / "study.yaml").write_text(yaml.safe_dump(spec))
        for name, category in tasks.items():
            info = TaskInfo(
                name=name,
                title=name.title(),
                category=category,
                agent_timeout_sec=60,
                verifier_timeout_sec=10,
                timed=False,
                editable=("a.py",),
                anchors=Anchors(metric="points"),
            )
            prepared = PreparedTask(info=info, source=name, content_hash="c", verifier_hash="v")
            write_model(path / "tasks" / f"{name}.json", prepared)

    def add(
        self,
        task: str,
        agent: str,
        seed: int,
        scores: list[str | None],
        final: str | None,
        *,
        messages: list[str] | None = None,
        initial: str = "clean",
        steps: list[dict[str, Any]] | None = None,
        repeats: int = 1,
        **record: Any,
    ) -> str:
        """A run whose commits have these scores.

        `steps` become the transcript; {commit: i} stands for commit i's id. `initial`: what the path audit said of the
        first commit, `clean`, `ambiguous` or nothing.
        """
        run = self.store.run(f"{task}__{agent}__s{seed}")
        scratch = self.path / f"work-{run.run_id}"
        work = Work(scratch)
        work.git("init", "-q", "-b", "main")
        for index, _ in enumerate(scores):
            work.write("a.py", f"{run.run_id} {index}\n")
            work.commit(messages[index] if messages else f"round {index}: change=x hypothesis=y")
        run.path.mkdir(parents=True)
        commits: tuple[Any, ...] = ()
        if scores:
            salvage(work.tar(scratch.with_suffix(".tar")), run.path / "repository")
            repository = Repository(run.path / "repository")
            commits = read_history(repository).commits
            repository.close()
        values = {
            "run_id": run.run_id,
            "study": "made",
            "task": task,
            "task_hash": "c",
            "category": self.store.task(task).info.category,
            "agent": agent,
            "harness": f"{agent} 1",
            "seed": seed,
            "status": RunStatus.COMPLETED,
            "started_at": NOON,
            "finished_at": NOON,
            "timings": Timings(agent_sec=5, total_sec=6),
            "budget_sec": 60,
            "environment": "local",
            "usage": Usage(input_uncached=0, output=0, cost_usd=Decimal(0)),
            "commits": commits,
            "clean_initial": commits[0].sha if commits and initial == "clean" else None,
            "ambiguous_initial": commits[0].sha if commits and initial == "ambiguous" else None,
            "head": commits[-1].sha if commits else None,
            "has_transcript": steps is not None,
            **record,
        }
        write_model(run.path / "record.json", RunRecord.model_validate(values))
        for commit, score in zip(commits, scores, strict=True):
            if score != "unverified":
                self._score(run, commit.state, score, repeats)
        self._score(run, "final", final, repeats)
        if steps is not None:
            self._transcript(run.transcript, steps, [c.sha for c in commits])
        return run.run_id

    def _score(self, run: Any, state: str, score: str | None, repeats: int) -> None:
        verifications = tuple(verification(score) for _ in range(repeats))
        run.write_score(StateScore(state=state, run_id=run.run_id, verifier_hash="v", verifications=verifications))

    @staticmethod
    def _transcript(path: Path, steps: list[dict[str, Any]], shas: list[str]) -> None:
        made: list[dict[str, Any]] = [{"step_id": 1, "source": "user", "message": "do it"}]
        for number, step in enumerate(steps, 2):
            said = {key: value for key, value in step.items() if key not in ("command", "output")}
            block = {key: shas[value] if key == "commit" else value for key, value in said.items()}
            made.append(
                {
                    "step_id": number,
                    "source": "agent",
                    "message": "",
                    "tool_calls": [
                        {
                            "tool_call_id": f"c{number}",
                            "function_name": "bash",
                            "arguments": {"command": step.get("command", "x")},
                        }
                    ],
                    "observation": {"results": [{"source_call_id": f"c{number}", "content": step.get("output", "")}]},
                    "extra": {"loopscope": {"status": "ok", **block}},
                }
            )
        path.write_bytes(orjson.dumps({"schema_version": "ATIF-v1.7", "agent": {"name": "a"}, "steps": made}))
