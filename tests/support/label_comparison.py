"""Hold what is found in public transcripts against the labels in tests/labels, entry by entry.

    python tests/support/label_comparison.py      print the tables of docs/evidence-quality.md

Everything here counts by the guide of tests/labels/README.md; where metrics and guide define a thing differently, the
comment at the place says so.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from loopscope.evidence.artifact.budget import Budget
from loopscope.evidence.artifact.scope import instruction_of, scope_of
from loopscope.evidence.artifact.timeline import Timeline, commit_changes
from loopscope.evidence.shell.builds import BuildFinding, Outcome
from loopscope.evidence.shell.calls import ShellCall
from loopscope.evidence.shell.commit_kinds import classify
from loopscope.evidence.shell.evaluations import EvaluationFinding, EvaluationStatus
from loopscope.evidence.shell.rules import Role, names_of, rules_for
from loopscope.evidence.threads import read_thread
from loopscope.transcripts import formats
from loopscope.transcripts.canonical import MAIN

LABELS = Path(__file__).parents[1] / "labels"
PUBLIC = Path(__file__).parents[3] / "shared/data/trajectories"
PASSES = ("first", "second")
LATER = "third"
"""Labels of other transcripts, which came when the extractor had been mended after the first."""
COMPILED = frozenset(["make", "c", "rust", "go", "asm"])
"""The guide counts builds of compiled languages; checks of Python's and the shell's syntax are builds only to us."""
Call = tuple[int, int]
"""Index of a message, and position of a call among its calls."""


class _Labelled(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    call: Call


class LabelledCommit(_Labelled):
    happened: bool
    confirmed_by: Literal["output", "log", "none"]
    kind: Literal["initial", "change", "revert", "administrative", "other"]
    hash: str | None


class LabelledBuild(_Labelled):
    outcome: Literal["ok", "code", "env", "unknown"]
    scratch: bool


class LabelledEvaluation(_Labelled):
    output: int | None
    state: float
    ok: bool


class LabelledState(_Labelled):
    state: float


class Labels(BaseModel):
    """One file of labels."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: str
    commits: tuple[LabelledCommit, ...]
    builds: tuple[LabelledBuild, ...]
    evaluations: tuple[LabelledEvaluation, ...]
    states: tuple[LabelledState, ...]


def labels(made_in: str) -> list[Labels]:
    """The labels of one pass, by run."""
    paths = sorted((LABELS / made_in).glob("*.json"))
    return [Labels.model_validate_json(path.read_bytes()) for path in paths]


@dataclass(frozen=True)
class Found:
    """What the extractor finds in one run, in the terms of the labels."""

    commits: Mapping[Call, Sequence[str]]
    """Kinds of the commits that happened."""
    tries: Mapping[Call, Sequence[bool | None]]
    """Invocations: whether they made a commit."""
    builds: Mapping[Call, Sequence[BuildFinding]]
    evaluations: Mapping[Call, Sequence[tuple[EvaluationFinding, int | None]]]
    """With the state that was measured; one that printed n values, in a loop that was not unrolled, stands n times."""
    states: Mapping[Call, Sequence[int]]
    """States that a call made, in turn."""
    compiled: Mapping[int, Sequence[int | None]]
    """By a message the states that its builds compiled, in turn."""
    trained: Mapping[Call, int]
    """Calls that train what is evaluated, with the state of the sources at that moment."""


@cache
def find(run: str) -> Found:
    """Run the extractor over a public transcript."""
    [transcript] = formats.read(PUBLIC / f"{run}.json")
    calls = transcript.calls_of()
    where: dict[int, Call] = {}
    seen: Counter[int] = Counter()
    for position, call in enumerate(calls):
        where[position] = (call.index, seen[call.index])
        seen[call.index] += 1
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
    # To the guide a training is none of the evaluations, whatever it prints on the way.
    trains = {rule.made_by.pattern for rule in rules if rule.made_by is not None}
    scores = [
        item
        for item in evaluations
        if item.role is Role.SCORE
        and item.status is not EvaluationStatus.NOT_RUN
        and item.rule.program.pattern not in trains
    ]
    return Found(
        _by_call((where[item.commit.position], item.kind.value) for item in kinds if item.commit.happened),
        _by_call((where[item.position], item.happened) for item in commits),
        _by_call((where[item.position], item) for item in builds if _counts_as_build(item)),
        _by_call(
            (where[item.position], (item, _state_of(timeline, item)))
            for item in scores
            for _ in range(max(1, len(item.values)))
        ),
        _by_call((where[change.position], change.state) for change in timeline.changes),
        _compiled(timeline, builds),
        {where[position]: state for position, state in _trainings(thread.shells, timeline, rules_made(rules))},
    )


def rules_made(rules: Iterable[object]) -> list[Callable[[str], object]]:
    """How programs that train are known by their names."""
    return [made.fullmatch for rule in rules if (made := getattr(rule, "made_by", None)) is not None]


def _counts_as_build(item: BuildFinding) -> bool:
    return item.outcome is not Outcome.NOT_RUN and item.tool.family in COMPILED


def _by_call[T](pairs: Iterable[tuple[Call, T]]) -> dict[Call, list[T]]:
    found: dict[Call, list[T]] = defaultdict(list)
    for call, item in pairs:
        found[call].append(item)
    return found


def _state_of(timeline: Timeline, item: EvaluationFinding) -> int | None:
    moment = timeline.evaluations.get((item.position, item.order))
    return moment.state if moment is not None else None


def _compiled(timeline: Timeline, builds: Sequence[BuildFinding]) -> dict[int, list[int | None]]:
    found: dict[int, list[int | None]] = defaultdict(list)
    for item in builds:
        if _counts_as_build(item):
            found[item.index].append(timeline.builds[item.position, item.order].state)
    return found


def _trainings(
    shells: Sequence[ShellCall], timeline: Timeline, makes: Sequence[Callable[[str], object]]
) -> Iterator[tuple[int, int]]:
    for shell in shells:
        if any(make(name) for command in shell.script.commands for name in names_of(command) for make in makes):
            before = [change.state for change in timeline.changes if change.position < shell.position]
            yield shell.position, before[-1] if before else 0


def names(labelled: Labels, found: Found) -> dict[float, int]:
    """Which of our states is meant by each name of the guide.

    The guide names a state by the message that first made it; where a call makes several in turn, and the label has
    only the one that it ends in, that one is meant. To the guide, weights are part of the artifact, so training makes a
    state; to us weights belong to the sources that they were trained from, as a binary does (metrics: which state a
    commit holds must be told from its files, and weights need not be committed); so are those that it saves on the way.

    A build with other flags makes a state without changing a file: `m.k` is what the call's build k, from 0, compiled.
    """
    meant: dict[float, int] = {0.0: 0}
    for call, group in _by_call((item.call, item.state) for item in labelled.states).items():
        ours = list(found.states.get(call, ()))
        if call in found.trained and not ours:
            ours = [found.trained[call]] * len(group)
        if len(ours) > len(group):
            ours = ours[-len(group) :]
        for name, state in zip(group, ours, strict=False):
            meant.setdefault(name, state)
    for one in labelled.evaluations:
        compiled = found.compiled.get(int(one.state), ())
        turn = round((one.state - int(one.state)) * 10)
        if one.state not in meant and turn < len(compiled) and (own := compiled[turn]) is not None:
            meant[one.state] = own
    return meant


@dataclass(frozen=True)
class Miss:
    """An entry that only one side has."""

    run: str
    call: Call
    side: str
    """`label` or `extractor`: who has it."""
    what: str


@dataclass(frozen=True)
class Measured:
    """How many entries both sides have."""

    name: str
    both: int
    labelled: int
    found: int
    misses: tuple[Miss, ...]

    @property
    def recall(self) -> float:
        return self.both / self.labelled if self.labelled else math.nan

    @property
    def precision(self) -> float:
        return self.both / self.found if self.found else math.nan


def wilson(hits: int, tries: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's score interval of a share, 95 %; (0, 1) without tries."""
    if not tries:
        return 0.0, 1.0
    share, square = hits / tries, z * z
    middle = (share + square / (2 * tries)) / (1 + square / tries)
    half = z * math.sqrt(share * (1 - share) / tries + square / (4 * tries * tries)) / (1 + square / tries)
    return max(0.0, middle - half), min(1.0, middle + half)


type Entries = Mapping[Call, Sequence[Hashable]]


def matched(name: str, pairs: Iterable[tuple[str, Entries, Entries]]) -> Measured:
    """Compare entries call by call, as bags: (run, labelled, found) for each run."""
    both = labelled = found = 0
    misses: list[Miss] = []
    for run, left, right in pairs:
        for call in sorted({*left, *right}):
            mine, theirs = Counter(left.get(call, ())), Counter(right.get(call, ()))
            both += (mine & theirs).total()
            labelled += mine.total()
            found += theirs.total()
            misses += [Miss(run, call, "label", str(item)) for item in (mine - theirs).elements()]
            misses += [Miss(run, call, "extractor", str(item)) for item in (theirs - mine).elements()]
    return Measured(name, both, labelled, found, tuple(misses))


def compare(made_in: str) -> list[Measured]:
    """All comparisons with the labels of one pass."""
    pairs = [(item, find(item.run)) for item in labels(made_in)]

    def over(
        name: str, left: Callable[[Labels, Found], Entries], right: Callable[[Labels, Found], Entries]
    ) -> Measured:
        return matched(name, [(item.run, left(item, found), right(item, found)) for item, found in pairs])

    return [
        over(
            "commits, with their kind",
            lambda item, _: _by_call((one.call, one.kind) for one in item.commits if one.happened),
            lambda _, found: found.commits,
        ),
        over(
            "invocations of git commit, and whether they committed",
            lambda item, _: _by_call((one.call, str(one.happened)) for one in item.commits),
            lambda _, found: {call: [str(one) for one in group] for call, group in found.tries.items()},
        ),
        over(
            "build calls",
            lambda item, _: _by_call((one.call, "build") for one in item.builds),
            lambda _, found: {call: ["build"] * len(group) for call, group in found.builds.items()},
        ),
        over(
            "code failures",
            lambda item, _: _by_call((one.call, "code") for one in item.builds if one.outcome == "code"),
            lambda _, found: _kept(found.builds, lambda one: one.outcome is Outcome.CODE_FAILURE, "code"),
        ),
        over(
            "environment failures",
            lambda item, _: _by_call((one.call, "env") for one in item.builds if one.outcome == "env"),
            lambda _, found: _kept(found.builds, lambda one: one.outcome is Outcome.ENVIRONMENT_FAILURE, "env"),
        ),
        over(
            "scratch builds",
            lambda item, _: _by_call((one.call, "scratch") for one in item.builds if one.scratch),
            lambda _, found: _kept(found.builds, lambda one: one.scratch, "scratch"),
        ),
        over("evaluations with a number", lambda item, _: _evaluated(item), lambda _, found: _measured(found)),
        over(
            "evaluations and their state",
            lambda item, found: _attributed(item, names(item, found)),
            lambda _, found: _states(found),
        ),
        over(
            "calls that evaluate, and their states",
            lambda item, found: _once(_attributed(item, names(item, found))),
            lambda _, found: _once(_states(found)),
        ),
    ]


def _kept(builds: Mapping[Call, Sequence[BuildFinding]], keep: Callable[[BuildFinding], bool], word: str) -> Entries:
    return {call: [word for one in group if keep(one)] for call, group in builds.items()}


def _evaluated(item: Labels) -> Entries:
    return _by_call((one.call, f"number in {one.output}") for one in item.evaluations if one.ok)


def _numbers(found: Found) -> Iterator[tuple[Call, EvaluationFinding, int | None]]:
    """What printed its number under normal conditions.

    The guide asks no more, so a solution that breaks on every input and is charged 8 bits per byte counts. A time of 0
    beside `wrong` is no number: nothing was timed.
    """
    for call, group in found.evaluations.items():
        for one, state in group:
            charged = one.status is EvaluationStatus.FAILED and any(float(value) > 0 for value in one.values)
            if not one.profiled and (charged or one.status is EvaluationStatus.RESULT):
                yield call, one, state


def _measured(found: Found) -> Entries:
    return _by_call((call, f"number in {one.result_index}") for call, one, _ in _numbers(found))


def _attributed(item: Labels, meant: Mapping[float, int]) -> Entries:
    return _by_call(
        (one.call, f"state {meant.get(one.state, f'{one.state:g}, which is not ours')}")
        for one in item.evaluations
        if one.ok
    )


def _states(found: Found) -> Entries:
    return _by_call((call, f"state {state}") for call, _, state in _numbers(found))


def _once(entries: Entries) -> Entries:
    """Each call once, with all its states: loops of twenty runs count no more than a single one."""
    return {call: [tuple(sorted(set(map(str, group))))] for call, group in entries.items() if group}


def agreement() -> list[tuple[str, int, int]]:
    """How many entries of the two passes are equal: (kind, equal, of all)."""
    left, right = (labels(name) for name in PASSES)
    rows = []
    for kind in ("commits", "builds", "evaluations", "states"):
        bags = [Counter((item.run, one) for item in made for one in getattr(item, kind)) for made in (left, right)]
        rows.append((kind, (bags[0] & bags[1]).total(), (bags[0] | bags[1]).total()))
    return rows


def report() -> str:
    """The tables, in Markdown."""
    lines = [*_table(PASSES[0]), "", "| labels | equal in both passes | of |", "|---|---|---|"]
    lines += [f"| {kind} | {equal} | {all_} |" for kind, equal, all_ in agreement()]
    return "\n".join([*lines, "", *_listing(PASSES[0])]) + "\n"


def later_report() -> str:
    """The tables of the later labels, in Markdown."""
    return "\n".join([*_table(LATER), "", *_listing(LATER)]) + "\n"


def _table(made_in: str) -> list[str]:
    lines = ["| what | both | labelled | found | recall | precision |", "|---|---|---|---|---|---|"]
    for item in compare(made_in):
        recall, precision = _share(item.both, item.labelled), _share(item.both, item.found)
        lines.append(f"| {item.name} | {item.both} | {item.labelled} | {item.found} | {recall} | {precision} |")
    return lines


def _listing(made_in: str) -> list[str]:
    """Every miss."""
    lines = ["| what | run | call | only in | which |", "|---|---|---|---|---|"]
    for item in compare(made_in):
        rows = Counter((miss.run, miss.call, miss.side, miss.what) for miss in item.misses)
        lines += [
            f"| {item.name} | {run} | {call[0]}, {call[1]} | {side} | {what}{f', {times} times' if times > 1 else ''} |"
            for (run, call, side, what), times in rows.items()
        ]
    return lines


def _share(hits: int, tries: int) -> str:
    if not tries:
        return "none"
    low, high = wilson(hits, tries)
    return f"{hits / tries:.3f} ({low:.3f} to {high:.3f})"


if __name__ == "__main__":
    print(report(), later_report(), sep="\n", end="")
