"""One trial of a task outside any study: a known actor in a fresh sandbox, then the task's own verifier."""

from __future__ import annotations

import asyncio
import io
import shutil
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from harbor.models.trial.config import AgentConfig, VerifierConfig

from loopscope.agents.actor import ACTED
from loopscope.engine.jobs import TrialOutcome, run_trial
from loopscope.engine.lock import machine, nobody
from loopscope.engine.verifier import VERDICT_FILE, VerdictFile
from loopscope.models import EnvironmentSpec, VerificationStatus
from loopscope.models.task import TaskInfo
from loopscope.records import read_model
from loopscope.tasks.load import load_task

ACTOR = "loopscope.agents.actor:ActorAgent"
VERIFIER = "loopscope.engine.verifier:LenientVerifier"
_MARGIN_SEC = 120.0
_MAX_KEPT = 1 << 20


@dataclass(frozen=True)
class Act:
    """What is done to the workspace before the verifier looks; nothing of it: the untouched starter."""

    name: str
    """For people: `starter`, `reference`, or what is tried."""
    solve: bool = False
    """Run the task's own solution first."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Laid over the work dir; names relative to it."""
    command: str | None = None
    """A shell command, run last, in the work dir, as the agent."""


STARTER = Act("starter")
REFERENCE = Act("reference", solve=True)


@dataclass(frozen=True)
class Trial:
    """What the verifier said of an act."""

    act: str
    status: VerificationStatus
    reward: Decimal | None
    metrics: Mapping[str, Decimal]
    reason: str | None
    """Why there is no reward, or what was odd about it."""
    output: str
    """The end of what the verifier printed."""
    seconds: float
    """Of the verifier's test script."""
    logs: Mapping[str, bytes]
    """What it left in /logs/verifier, by name: files up to 1 MiB each."""
    acted: str = ""
    """Exit code of the act's command, a line break, and what it printed."""


async def try_task(
    task_dir: Path,
    act: Act,
    *,
    environment: EnvironmentSpec | None = None,
    timeout_sec: float | None = None,
    scratch: Path | None = None,
    alone: bool | None = None,
) -> Trial:
    """Run one act and the task's verifier in a fresh sandbox.

    Args:
        task_dir: a Harbor task directory; nothing in it is changed.
        act: what is done before.
        environment: where; the local sandbox by default.
        timeout_sec: of the verifier; the task's own by default.
        scratch: a directory to work in, which stays; a temporary one by default.
        alone: hold the machine's lock for timed work; by default where the task measures time.

    Whatever goes wrong inside is told in the trial's `status` and `reason`; what has no verdict has status `error`.

    Raises:
        TaskError: the directory is no task.
        NoRoomError: the machine has too little disk for the sandbox.
    """
    info = await asyncio.to_thread(load_task, task_dir)
    place = Path(tempfile.mkdtemp(prefix="loopscope-trial-", dir=scratch))
    timeout = timeout_sec or info.verifier_timeout_sec
    try:
        async with machine(alone=info.timed if alone is None else alone, tell=nobody):
            outcome = await run_trial(
                place,
                name="trial",
                task_dir=task_dir.resolve(),
                agent=_agent(task_dir.resolve(), info, act, place),
                environment=environment or EnvironmentSpec(),
                verifier=VerifierConfig(
                    import_path=VERIFIER,
                    kwargs={"timeout_sec": timeout},
                    override_timeout_sec=timeout + _MARGIN_SEC,
                ),
            )
        return await asyncio.to_thread(_read, act.name, outcome)
    finally:
        if scratch is None:
            await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)


def _agent(task_dir: Path, info: TaskInfo, act: Act, place: Path) -> AgentConfig:
    kwargs: dict[str, str | bool] = {"task_dir": str(task_dir), "workdir": info.workdir, "solve": act.solve}
    if act.files:
        overlay = place / "overlay.tar"
        with tarfile.open(overlay, "w") as archive:
            for name, data in sorted(act.files.items()):
                member = tarfile.TarInfo(name)
                member.size, member.mode = len(data), 0o755 if data.startswith(b"#!") else 0o644
                archive.addfile(member, io.BytesIO(data))
        kwargs["overlay"] = str(overlay)
    if act.command is not None:
        kwargs["command"] = act.command
    return AgentConfig(import_path=ACTOR, kwargs=kwargs, override_timeout_sec=3600)


def _read(act: str, outcome: TrialOutcome) -> Trial:
    folder = outcome.trial_dir
    if folder is None or not (folder / VERDICT_FILE).is_file():
        kind, message = outcome.failure or ("NoVerdict", "the trial ended without a verdict")
        reason = " ".join(f"{kind}: {message}".split())[:500]
        return Trial(act, VerificationStatus.ERROR, None, {}, reason, "", 0.0, {}, _acted(folder))
    verdict = read_model(folder / VERDICT_FILE, VerdictFile)
    reward = None if verdict.reward is None else Decimal(verdict.reward)
    metrics = {name: Decimal(value) for name, value in verdict.metrics.items()}
    return Trial(
        act=act,
        status=verdict.status,
        reward=reward,
        metrics=metrics,
        reason=verdict.verdict_reason,
        output=verdict.output,
        seconds=verdict.duration_sec,
        logs=_logs(folder / "verifier"),
        acted=_acted(folder),
    )


def _logs(folder: Path) -> dict[str, bytes]:
    kept = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= _MAX_KEPT:
            kept[path.name] = path.read_bytes()
    return kept


def _acted(folder: Path | None) -> str:
    path = folder / "agent" / ACTED if folder else None
    return path.read_text(encoding="utf-8", errors="replace") if path is not None and path.is_file() else ""
