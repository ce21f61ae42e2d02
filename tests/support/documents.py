"""A specimen of every document in every version it ever had: `tests/fixtures/documents/<Type>.v<n>.json`.

`python tests/support/documents.py` writes those of current versions that are absent; it never changes one that is
there, for a specimen is what some loopscope wrote.
"""

from __future__ import annotations

import ast
import importlib
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from loopscope.evidence.evaluator import shipped_evaluators
from loopscope.models import (
    ArchiveIndex,
    Imported,
    ImportedStudy,
    Limit,
    LimitState,
    Manifest,
    Part,
    PreparedTask,
    RunEvidence,
    RunRecord,
    StateScore,
    StudyLock,
    StudySpec,
    VerificationStatus,
    Versioned,
)
from loopscope.models.calibration import Calibration, CalibrationAct, CalibrationTrial, Machine, SeenMachines
from loopscope.models.seal import document
from loopscope.models.unit import UnitFile
from loopscope.records import StudyStore, load_study, read_model

SPECIMENS = Path(__file__).parents[1] / "fixtures" / "documents"
_SOURCE = Path(__file__).parents[2] / "src" / "loopscope"
_IMPORTED = Imported(
    format="codex",
    format_version="0.142.4",
    log="sessions/rollout.jsonl",
    digest="0" * 64,
    sessions=("01a22eeb-cabb-7b31-9ddf-267ab9861bc6",),
    usage_source="running total",
    usage_completeness="partial",
    claimed_cost_usd=Decimal("0.25"),
    notes=("truncated: the last line ends in the middle, and is passed over (at 40)",),
)
_OF_A_STUDY = {
    RunRecord: "runs/t__a__s1/record.json",
    Manifest: "runs/t__a__s1/manifest.json",
    UnitFile: "runs/t__a__s1/unit.json",
    StateScore: "runs/t__a__s1/scores/final.json",
    RunEvidence: "runs/t__a__s1/evidence.json",
    PreparedTask: "tasks/t.json",
    StudyLock: "study.lock.json",
}


def versioned_types() -> dict[str, type[Versioned]]:
    """Every document type of the package, found in its sources, whoever imports it."""
    found: dict[str, type[Versioned]] = {}
    for path in _SOURCE.rglob("*.py"):
        if path.is_relative_to(_SOURCE / "tasks" / "suite"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and any(
                isinstance(b, ast.Name) and b.id == "Versioned" for b in node.bases
            ):
                name = ".".join(("loopscope", *path.relative_to(_SOURCE).with_suffix("").parts))
                found[node.name] = getattr(importlib.import_module(name), node.name)
    return found


def current(kind: type[Versioned]) -> int:
    """The version that is written now."""
    version = kind.model_fields["schema_version"].default
    assert isinstance(version, int)
    return version


def specimen(kind: type[Versioned], version: int) -> Path:
    """Where the specimen of a version lies."""
    return SPECIMENS / f"{kind.__name__}.v{version}.json"


def _now(folder: Path) -> Iterator[Versioned]:
    """One of each type, as it is written now."""
    from whole_study import whole_study

    from loopscope.records.archive import export_study, open_archive, read_index
    from loopscope.records.manifest import removal
    from loopscope.tasks.copying import tree_hash

    whole_study(folder / "study")
    for kind, place in _OF_A_STUDY.items():
        found = read_model(folder / "study" / place, kind)
        if isinstance(found, RunRecord):
            limits = {
                "memory": Limit(state=LimitState.ENFORCED, means="cgroup v2", value=1 << 30, peak=1 << 20, hits=0),
                "cpu": Limit(state=LimitState.ABSENT, means="one processor for all"),
            }
            found = found.model_copy(update={"limits": limits, "imported": _IMPORTED})
        yield found
    yield load_study(folder / "study" / "study.yaml")
    yield ImportedStudy(name="logs")
    yield shipped_evaluators()["regex_engine"]
    machine = Machine(
        cpu="A processor", cores=2, memory_gib=8, architecture="x86_64", kernel="6.1.0", compilers={"gcc": "gcc 12.2.0"}
    )
    yield SeenMachines(machines=(machine,))
    yield Calibration(
        task="t",
        verifier_hash="0" * 64,
        environment="local",
        machine=machine,
        nominal=Decimal("0.5"),
        timed=True,
        trials=tuple(
            CalibrationTrial(
                act=act,
                status=VerificationStatus.OK,
                reward=reward,
                metrics={"speedup": speedup},
                seconds=1.25,
                timeout_sec=60.0,
                load=0.5,
                at=datetime(2026, 12, 1, tzinfo=UTC),
            )
            for act, reward, speedup in (
                (CalibrationAct.STARTER, Decimal(0), Decimal(1)),
                (CalibrationAct.REFERENCE, Decimal("0.48"), Decimal("17.5")),
            )
        ),
    )
    yield removal(frozenset({Part.NATIVE, Part.WORKSPACE}))
    archive = export_study(StudyStore(folder / "study"), folder / "x", tree_hash, left_out=[Part.NATIVE]).file
    with open_archive(archive) as reader:
        yield read_index(archive, reader)


def main() -> None:
    """Write the specimens that are absent."""
    SPECIMENS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for found in _now(Path(folder)):
            path = specimen(type(found), current(type(found)))
            if not path.exists():
                path.write_bytes(document(found))
                sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()

__all__ = ["SPECIMENS", "ArchiveIndex", "StudySpec", "current", "specimen", "versioned_types"]
