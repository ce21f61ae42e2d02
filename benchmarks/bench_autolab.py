"""The table of docs/autolab.md: `bench_autolab.py PATH --work DIR [--try] [--calibrate] [--audit] [--hand FILE]`.

PATH is a directory of Harbor tasks or a git URL. What is measured is kept in DIR/results.json, task by task, so that
the table can be made in pieces; without --try, --calibrate and --audit nothing runs and it is printed from there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from statistics import median

from loopscope.audit.calibrate import Place, calibrate
from loopscope.audit.check import Options, check_task
from loopscope.audit.here import Here
from loopscope.audit.trial import REFERENCE, STARTER, Act, try_task
from loopscope.models import EnvironmentSpec
from loopscope.models.calibration import CalibrationAct
from loopscope.models.pairing import pairing_of
from loopscope.records.durable import publish_new
from loopscope.tasks.intake import Naming, State, Taken, opened, take

_DIFFERS = "task.toml: verifier"


@dataclass
class Row:
    """What is known of one task; rewards as the verifier printed them."""

    starter: list[str] = field(default_factory=list)
    reference: list[str] = field(default_factory=list)
    by_hand_starter: list[str] = field(default_factory=list)
    by_hand_reference: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """Of verifications of the reference here."""
    metrics: dict[str, list[str]] = field(default_factory=dict)
    """By `here starter` and so on: the verifier's metric, where it has one."""
    calibrated: str | None = None
    """Paired reward of the reference, or why there is none."""
    findings: int | None = None


def main() -> None:
    """Do what is asked for, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument(
        "--try", dest="tries", type=int, default=0, metavar="N", help="verify starter and reference N times"
    )
    parser.add_argument("--calibrate", action="store_true")
    parser.add_argument("--audit", action="store_true")
    parser.add_argument(
        "--hand", type=Path, help="JSON lines: task, act, reward, metric; from running the scripts by hand"
    )
    parser.add_argument("--task", action="append", default=[])
    parser.add_argument("--toolchain", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--python", action="append", default=[])
    parser.add_argument("--timeout-multiplier", type=float, default=1.0)
    given = parser.parse_args()
    kwargs: dict[str, object] = {}
    if given.toolchain:
        kwargs["toolchains"] = dict(tool.split("=", 1) for tool in given.toolchain)
    if given.python:
        kwargs["python_packages"] = given.python
    given.work.mkdir(parents=True, exist_ok=True)
    library = given.work / "library"
    tasks = _tasks(given.path, library, Here(kwargs))
    chosen = [t for t in tasks if t.runs_here and (not given.task or t.name in given.task)]
    results = Results(given.work / "results.json")
    if given.hand:
        results.add_by_hand(given.hand)
    asyncio.run(_measure(chosen, library, results, EnvironmentSpec(kwargs=kwargs), given))
    print("\n".join(table(tasks, results.rows)))


class Results:
    """The rows, kept in a file after every change."""

    def __init__(self, file: Path) -> None:
        self._file = file
        kept = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        self.rows = {name: Row(**row) for name, row in kept.items()}

    def row(self, task: str) -> Row:
        """That of a task; made if it is new."""
        return self.rows.setdefault(task, Row())

    def keep(self) -> None:
        """Write it all."""
        text = json.dumps({name: asdict(row) for name, row in self.rows.items()}, indent=1)
        self._file.write_text(text, encoding="utf-8")

    def add_by_hand(self, file: Path) -> None:
        """Put in what was found by hand, in place of what was there."""
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
        for row in self.rows.values():
            row.by_hand_starter, row.by_hand_reference = [], []
        for line in lines:
            row = self.row(line["task"])
            (row.by_hand_starter if line["act"] == "starter" else row.by_hand_reference).append(str(line["reward"]))
            if line.get("metric") is not None:
                row.metrics.setdefault(f"hand {line['act']}", []).append(str(line["metric"]))
        self.keep()


def _tasks(path: str, library: Path, here: Here) -> list[Taken]:
    with opened(path, library.parent) as source:
        return list(take(source, library, Naming(), look=here.obstacles, notes=here.notes, publish=publish_new))


async def _measure(
    tasks: Sequence[Taken], library: Path, results: Results, environment: EnvironmentSpec, given: argparse.Namespace
) -> None:
    for task in tasks:
        row, directory = results.row(task.name), library / task.name
        limit = task.info.verifier_timeout_sec * given.timeout_multiplier if task.info else None
        for act in (STARTER, REFERENCE) * given.tries:
            await _try(row, directory, act, environment, limit)
            results.keep()
        if given.calibrate:
            place = Place(
                directory, given.work / f"calibration-{task.name}.json", environment, given.timeout_multiplier
            )
            row.calibrated = await _calibrated(place)
            results.keep()
        if given.audit:
            audit = await check_task(str(directory), Path(), Options(environment=environment))
            row.findings = len(audit.findings)
            results.keep()


async def _try(row: Row, directory: Path, act: Act, environment: EnvironmentSpec, limit: float | None) -> None:
    trial = await try_task(directory, act, environment=environment, timeout_sec=limit)
    said = trial.status.value if trial.reward is None else str(trial.reward)
    (row.starter if act is STARTER else row.reference).append(said)
    if act is REFERENCE:
        row.seconds.append(round(trial.seconds, 1))
    if (metric := trial.metrics.get("metric")) is not None:
        row.metrics.setdefault(f"here {act.name}", []).append(str(metric))


async def _calibrated(place: Place) -> str:
    done = await calibrate(place, tell=lambda done, total, message: None)
    pairing = pairing_of(done.calibration)
    if isinstance(pairing, str):
        return pairing
    paired = [
        reward
        for trial in done.calibration.of(CalibrationAct.REFERENCE)
        if (reward := pairing.reward(trial.reward, trial.metrics)) is not None
    ]
    return f"{float(median(paired)):.3f}" if paired else "no reward"


def table(tasks: Sequence[Taken], rows: dict[str, Row]) -> list[str]:
    """Lines of Markdown. Empty cells were not measured."""
    heads = ("task", "here", "starter", "by hand", "reference", "by hand", "calibrated", "s", "findings", _DIFFERS)
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for task in tasks:
        row = rows.get(task.name, Row())
        cells = (
            task.name,
            "yes" if task.runs_here else why(task),
            _range(row.starter),
            _range(row.by_hand_starter),
            _range(row.reference),
            _range(row.by_hand_reference),
            row.calibrated or "",
            f"{median(row.seconds):.1f}" if row.seconds else "",
            "" if row.findings is None else str(row.findings),
            "; ".join(f"{m.field} {m.stated}: {m.read}" for m in task.mismatches),
        )
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def why(task: Taken) -> str:
    """Each kind of obstacle once, gravest first as they were found."""
    if task.state is State.REFUSED:
        return f"refused: {task.problem}"
    kinds = dict.fromkeys(o.kind.value for o in task.obstacles)
    missing = [
        re.sub(r"^lacks (the Python module )?", "", o.what) for o in task.obstacles if o.what.startswith("lacks")
    ]
    return ", ".join(kinds) + (f" ({', '.join(missing)})" if 0 < len(missing) <= 2 else "")


def _range(rewards: Sequence[str]) -> str:
    """One value, or from the least to the greatest; words as they are."""
    numbers = sorted(Decimal(r) for r in rewards if re.fullmatch(r"-?[\d.]+(E-?\d+)?", r))
    words = sorted({r for r in rewards if not re.fullmatch(r"-?[\d.]+(E-?\d+)?", r)})
    shown = [f"{float(n):.4g}" for n in dict.fromkeys(numbers[:: max(1, len(numbers) - 1)])]
    return ", ".join([" to ".join(dict.fromkeys(shown)), *words]).strip(", ")


if __name__ == "__main__":
    main()
