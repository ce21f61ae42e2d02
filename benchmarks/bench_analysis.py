"""Import and analysis of transcripts: how fast, how large, how far several processes help, and what a change costs.

    python benchmarks/bench_analysis.py LOGS [--copies 12] [--keep DIR]

LOGS is a file or directory that `loopscope import` takes. Every number is of a process of its own, after its start-up,
which is told beside it: Python and the modules that the step needs. CPU seconds are those of the process and of those
that it started, so that a busy machine spoils them least.
Targets, for the 21 public transcripts: import and analysis within 0.6 CPU seconds, 300 MB; one changed run is
analysed alone. The last lines say which holds. The exit code is 1 when the memory target, or that of the changed run,
is missed: what seconds are depends on the machine and on what else it does.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

MOST_SEC = 0.6
MOST_MB = 300.0


@dataclass(frozen=True)
class Cost:
    """What one step took."""

    cpu: float
    own: float
    """CPU seconds of the process that began it; the rest are of those that it started."""
    wall: float
    mb: float
    """Most memory of any of its processes together with that of the one that began it, at their largest."""
    renewed: int
    start: float
    """CPU seconds that the process took before."""


def cost(step: Callable[[], int]) -> Cost:
    """Run a step in this process."""
    before, began = os.times(), time.perf_counter()
    renewed = step()
    wall, after = time.perf_counter() - began, os.times()
    spent, itself = sum(after[:4]) - sum(before[:4]), sum(after[:2]) - sum(before[:2])
    own, others = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return Cost(spent, itself, wall, (own + others) / 1024, renewed, sum(before[:2]))


def parse(logs: Path) -> int:
    """Plain JSON of the same bytes, one file after the other."""
    for path in files(logs):
        orjson.loads(path.read_bytes())
    return 0


def take_in(logs: Path, study: Path) -> int:
    """Import."""
    from loopscope.imports import Options, import_logs

    report = import_logs([logs], study, Options())
    if report.unread:
        sys.exit(f"bench_analysis: {report.unread[0]}")
    return sum(taken.new for taken in report.taken)


def analysis(study: Path, workers: int) -> int:
    """Evidence, measures, tables."""
    from loopscope.analysis.build import analyze

    return len(analyze(study, workers=workers).renewed)


def files(logs: Path) -> list[Path]:
    """The logs themselves."""
    return sorted(path for path in logs.rglob("*") if path.is_file()) if logs.is_dir() else [logs]


def alone(*command: str) -> Cost:
    """A step in a process of its own."""
    done = subprocess.run([sys.executable, __file__, "--step", *command], check=True, capture_output=True, text=True)
    return Cost(**json.loads(done.stdout))


_NEEDED = {
    "parse": (),
    "import": ("loopscope.imports",),
    "analyze": ("loopscope.analysis.build", "loopscope.analysis.anew"),
    "again": ("loopscope.analysis.build",),
}
"""The modules of each step."""


def step(name: str, *arguments: str) -> Cost:
    """What `--step` does."""
    for module in _NEEDED[name]:
        importlib.import_module(module)
    steps: dict[str, Callable[[], int]] = {
        "parse": lambda: parse(Path(arguments[0])),
        "import": lambda: take_in(Path(arguments[0]), Path(arguments[1])),
        "analyze": lambda: analysis(Path(arguments[0]), int(arguments[1])),
        "again": lambda: analysis(Path(arguments[0]), 1),
    }
    return cost(steps[name])


def copies(logs: Path, folder: Path, count: int) -> Path:
    """Every page export so many times, as runs of other seeds."""
    folder.mkdir()
    for path in files(logs):
        document = orjson.loads(path.read_bytes())
        for number in range(count):
            changed = document | {"seed": f"seed-{100 * number + int(''.join(filter(str.isdigit, document['seed'])))}"}
            changed["id"] = f"{document['id']}-{number}"
            (folder / f"{path.stem}-{number}.json").write_bytes(orjson.dumps(changed))
    return folder


def forget(study: Path) -> None:
    """Take evidence and tables away, so that all is analysed anew."""
    for path in (*study.glob("runs/*/evidence.json"), *study.glob("tables/*")):
        path.unlink()


def show(what: str, found: Cost) -> Cost:
    """One line."""
    took = f"{found.cpu:7.2f} s CPU  {found.wall:7.2f} s  {found.mb:5.0f} MB  {found.renewed:4d} anew"
    print(f"{what:<46} {took}  start-up {found.start:.2f}")
    return found


def one(logs: Path, folder: Path) -> bool:
    """The logs as they are; whether the targets that no machine excuses hold."""
    size = sum(path.stat().st_size for path in files(logs)) / 1e6
    print(f"{len(files(logs))} files, {size:.1f} MB")
    study = folder / "study"
    plain = show("plain JSON parse of the same bytes", alone("parse", str(logs)))
    imported = show("import", alone("import", str(logs), str(study)))
    fresh = show("analysis, one process", alone("analyze", str(study), "1"))
    again = show("analysis again, nothing changed", alone("again", str(study)))
    next(iter(sorted(study.glob("runs/*/evidence.json")))).unlink()
    changed = show("analysis again, one run changed", alone("analyze", str(study), "1"))
    both = imported.cpu + fresh.cpu
    print(
        f"import and analysis: {both:.2f} s CPU (wanted: <= {MOST_SEC}) {'holds' if both <= MOST_SEC else 'MISSED'}; "
        f"{both / plain.cpu:.1f} plain parses"
    )
    most = max(imported.mb, fresh.mb)
    print(f"memory: {most:.0f} MB (wanted: <= {MOST_MB:.0f}) {'holds' if most <= MOST_MB else 'MISSED'}")
    print(f"one changed run is analysed alone: {'holds' if changed.renewed == 1 else 'MISSED'}")
    return most <= MOST_MB and changed.renewed == 1 and again.renewed == 0


def many(logs: Path, folder: Path, count: int) -> bool:
    """Copies of the logs, by one process and by two; whether the memory target holds."""
    study = folder / "many"
    show(f"import of {count} copies", alone("import", str(copies(logs, folder / "copies", count)), str(study)))
    single = show(f"analysis of {count} copies, one process", alone("analyze", str(study), "1"))
    forget(study)
    double = show(f"analysis of {count} copies, two processes", alone("analyze", str(study), "2"))
    started = double.cpu - double.own
    print(
        f"two processes: {single.wall / double.wall:.2f} times as fast by the clock, "
        f"{single.cpu / max(double.own, started):.2f} times if each had a core to itself "
        f"({double.own:.2f} and {started:.2f} s CPU, the start of the second included)"
    )
    print(f"memory of one: {single.mb:.0f} MB (wanted: <= {MOST_MB:.0f})")
    return single.mb <= MOST_MB


@contextlib.contextmanager
def place(keep: Path | None) -> Iterator[Path]:
    """Where studies are made: a directory to keep, or one that is gone afterwards."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="loopscope-analysis-") as folder:
            yield Path(folder)
    else:
        keep.mkdir(parents=True)
        yield keep


def main() -> None:
    """Entry point."""
    if sys.argv[1:2] == ["--step"]:
        print(json.dumps(asdict(step(*sys.argv[2:]))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=Path)
    parser.add_argument("--copies", type=int, default=12, help="0: only the logs as they are")
    parser.add_argument("--keep", type=Path, help="a new directory for the studies")
    options = parser.parse_args()
    with place(options.keep) as folder:
        holds = one(options.logs, folder)
        if options.copies:
            holds &= many(options.logs, folder, options.copies)
    sys.exit(not holds)


if __name__ == "__main__":
    main()
