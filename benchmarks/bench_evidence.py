"""The public transcripts read and measured: seconds, memory, and the ratio to parsing the same bytes as JSON.

    python benchmarks/bench_evidence.py [FOLDER] [--rounds N] [--copies N] [--workers N]

What is timed, after start-up, on one core: finding the format, reading, commits, builds, evaluations, states and kinds
of commits, as the analysis does it: without a search for cycles meanwhile. Start-up is told beside it: Python and its
modules, and the files that say what an evaluation and a failed build look like. CPU seconds, the least of some rounds,
since a busy machine takes its share of the rest. Copies are read again by processes beside each other: their CPU
seconds for each copy against those of one process, and how much sooner they are done, which says something only where
nothing else runs. Targets: at most 0.6 s for the 21 and 300 MB; copies cost in proportion, alone and beside each other.
The exit code is 1 when one is missed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import orjson

from loopscope.analysis.work import no_search_for_cycles
from loopscope.evidence.artifact.budget import Budget
from loopscope.evidence.artifact.scope import instruction_of, scope_of
from loopscope.evidence.artifact.timeline import commit_changes
from loopscope.evidence.shell.commit_kinds import classify
from loopscope.evidence.shell.parse import parse
from loopscope.evidence.shell.rules import rules_for, task_rules
from loopscope.evidence.shell.signatures import signatures
from loopscope.evidence.threads import read_thread
from loopscope.transcripts import formats
from loopscope.transcripts.canonical import MAIN

PUBLIC = Path(__file__).parents[2] / "shared/data/trajectories"
MOST_SEC = 0.6
MOST_MB = 300
MOST_GROWTH = 1.15
"""Times what copies cost in proportion."""


def analyse(path: Path) -> int:
    """All findings of one file; how many there are."""
    [transcript] = formats.read(path)
    rules = rules_for(transcript.source.task, instruction_of(transcript))
    thread = read_thread(transcript, MAIN, scope_of(transcript), rules, Budget())
    commits, builds, evaluations, timeline = thread.commits, thread.builds, thread.evaluations, thread.timeline
    changed = commit_changes(timeline, [(item.position, item.order) for item in commits if item.happened is not False])
    unknown = (None, None)
    kinds = classify(
        commits,
        lambda item: changed.get((item.position, item.order), unknown)[0],
        lambda item: changed.get((item.position, item.order), unknown)[1],
    )
    return len(kinds) + len(builds) + len(evaluations) + len(timeline.changes)


def least(rounds: int, work: Callable[[], object]) -> float:
    """CPU seconds of the quickest of some rounds, none of which profits from the one before."""
    found = []
    for _ in range(rounds):
        parse.cache_clear()
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    return min(found)


def analyse_all(paths: Sequence[Path], copies: int) -> None:
    """Analyse some files, each some times, the caches emptied between copies."""
    for _ in range(copies):
        parse.cache_clear()
        for path in paths:
            with no_search_for_cycles():
                analyse(path)


def used(given: tuple[Sequence[Path], int]) -> float:
    """CPU seconds of a process of its own for some copies, its start-up and a first copy left out."""
    paths, copies = given
    analyse_all(paths, 1)
    started = time.process_time()
    analyse_all(paths, copies)
    return time.process_time() - started


def beside(paths: Sequence[Path], copies: int, workers: int) -> tuple[float, float]:
    """(CPU seconds for each copy, seconds in all) where the copies are dealt out to some processes."""
    shares = [copies // workers + (number < copies % workers) for number in range(workers)]
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        started = time.perf_counter()
        spent = pool.map(used, [(paths, share) for share in shares], chunksize=1)
        return sum(spent) / copies, time.perf_counter() - started


def main() -> None:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=PUBLIC)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--copies", type=int, default=12)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    paths = sorted(given.folder.glob("*.json"))
    if not paths:
        sys.exit(f"bench_evidence: no transcripts in {given.folder}; give the folder with them")
    imported = time.process_time()
    task_rules(), signatures(), parse("true")
    started = time.process_time()
    size = sum(path.stat().st_size for path in paths)
    plain = least(given.rounds, lambda: [orjson.loads(path.read_bytes()) for path in paths])
    reading = least(given.rounds, lambda: [list(formats.read(path)) for path in paths])
    all_of_it = least(given.rounds, lambda: analyse_all(paths, 1))
    copied = least(1, lambda: analyse_all(paths, given.copies)) / given.copies
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{len(paths)} files, {size / 1e6:.1f} MB")
    print(f"start-up        {started:.3f} s, {imported:.3f} s of it for Python and its modules; not in what follows")
    print(f"plain JSON      {plain:.3f} s")
    print(f"reading         {reading:.3f} s, {reading / plain:.1f} times plain JSON")
    print(f"all of it       {all_of_it:.3f} s, {all_of_it / plain:.1f} times plain JSON (target {MOST_SEC} s)")
    print("the target      " + ("holds" if all_of_it <= MOST_SEC else "is MISSED"))
    print(f"each of {given.copies} copies {copied:.3f} s")
    one, alone = beside(paths, given.copies, 1)
    each, together = beside(paths, given.copies, given.workers)
    print(
        f"{given.workers} processes     {each:.3f} s of CPU for each copy, {each / one:.2f} times that of one process; "
        f"done {alone / together:.2f} times as soon"
    )
    print(f"memory          {memory:.0f} MB at most (target {MOST_MB} MB)")
    missed = all_of_it > MOST_SEC or memory > MOST_MB or copied > all_of_it * MOST_GROWTH or each > one * MOST_GROWTH
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
