"""A study whole enough to verify: prepared task, lock, units, manifests, scores, evidence, an earlier attempt."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from pathlib import Path

from made_study import MadeStudy

from loopscope.analysis.build import analyze
from loopscope.models import AgentSpec, Budget, EnvironmentSpec, PreparedTask, ScoringSpec, StudyLock
from loopscope.models.unit import UnitFile, UnitIdentity
from loopscope.records import read_model, write_model
from loopscope.records.manifest import write_manifest
from loopscope.records.store import LOCK_FILE
from loopscope.records.workspace import compress
from loopscope.tasks.copying import tree_hash

ODD = "native/caf\udce9\\x41.log"
"""A log's name that is no UTF-8 and looks as if it were spelled."""


def whole_study(path: Path, agents: tuple[str, ...] = ("a", "b"), seeds: int = 1) -> MadeStudy:
    """One task `t`; each agent has one run a seed, of two commits. The first run of `a` was tried twice."""
    made = MadeStudy(path, list(agents), {"t": "toy"}, seeds)
    task = _prepare(made)
    units = {}
    for agent in agents:
        for seed in range(1, seeds + 1):
            unit = UnitIdentity(
                task="t",
                task_hash=task.content_hash,
                agent=AgentSpec(name=agent),
                environment=EnvironmentSpec(),
                seed=seed,
                budget_sec=60,
            )
            steps = [{"kind": "commit", "commit": 0}, {"kind": "evaluate", "command": "eval"}]
            run_id = made.add(
                "t", agent, seed, ["0.1", "0.5"], "0.5", steps=steps, unit=unit.digest, task_hash=task.content_hash
            )
            units[run_id] = unit.digest
            _complete(made.store.run(run_id).path, unit)
    run = made.store.run("t__a__s1").path
    shutil.copytree(run, path / "first", ignore=shutil.ignore_patterns("scores"))
    (run / "attempts").mkdir()
    (path / "first").rename(run / "attempts" / "1")
    for work in path.glob("work-*"):
        shutil.rmtree(work) if work.is_dir() else work.unlink()
    lock = StudyLock(
        name="made",
        agents={agent: AgentSpec(name=agent) for agent in agents},
        environment=EnvironmentSpec(),
        budget=Budget(),
        record_keeping="standard",
        scoring=ScoringSpec(),
        task_hashes={"t": task.content_hash},
        verifier_hashes={"t": task.verifier_hash},
        versions={},
        machine={},
        units=units,
    )
    write_model(path / LOCK_FILE, lock)
    analyze(path)
    return made


def _prepare(made: MadeStudy) -> PreparedTask:
    folder = made.path / "tasks" / "t"
    (folder / "tests").mkdir(parents=True)
    (folder / "instruction.md").write_text("Do it.\n")
    (folder / "tests" / "test.sh").write_text("#!/bin/sh\n")
    (folder / "tests" / "test.sh").chmod(0o755)
    (folder / "tests" / "same").symlink_to("../instruction.md")
    made.prepare("t", {"a.py": "start\n"})
    record = made.path / "tasks" / "t.json"
    task = read_model(record, PreparedTask).model_copy(update={"content_hash": tree_hash(folder)})
    write_model(record, task)
    return task


def _complete(run: Path, unit: UnitIdentity) -> None:
    for name, text in {"native/agent.log": "said\n", ODD: "odd\n", "harbor/result.json": "{}\n"}.items():
        (run / name).parent.mkdir(exist_ok=True)
        (run / name).write_text(text)
    tar = run / ".tmp-w.tar"
    with tarfile.open(tar, "w") as archive:
        info = tarfile.TarInfo("./a.py")
        info.size = 5
        archive.addfile(info, io.BytesIO(b"work\n"))
    hashed = compress(tar, run / "workspace.tar.zst")
    tar.unlink()
    write_model(run / "unit.json", UnitFile(unit=unit))
    write_manifest(run, {"workspace.tar.zst": hashed})


def snapshot(root: Path) -> dict[str, object]:
    """Everything below a directory: bytes of files, targets of links, modes' executable bits."""
    found: dict[str, object] = {}
    for folder, names, files in os.walk(root):
        for name in (*names, *files):
            path = Path(folder) / name
            key = str(path.relative_to(root))
            if path.is_symlink():
                found[key] = ("link", os.readlink(path))
            elif path.is_file():
                found[key] = (path.read_bytes(), bool(path.stat().st_mode & 0o100))
            else:
                found[key] = path.is_dir()
    found.pop(".lock", None)
    return found
