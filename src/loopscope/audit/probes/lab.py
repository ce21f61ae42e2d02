"""What the probes of one task share: its code, the trials made so far, and what the scout brought home."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from pathlib import PurePosixPath

from loopscope.audit.finding import Finding, NotApplicable, Severity
from loopscope.audit.probes.calls import dealt
from loopscope.audit.probes.weaving import FORGED, Weave, language, pieces, woven
from loopscope.audit.subject import Subject
from loopscope.audit.trial import Act, Trial, try_task

GAIN = Decimal("0.1")
"""So much more reward than without the hack is no noise where the answers stay what they are."""
LARGE = Decimal("0.2")
"""So much more is needed of a hack that changes the answers: a careless one may by luck beat the starter's."""
CLEAR = Decimal("0.3")
"""A smaller gain of a timed task must show twice."""
LOG = "loopscope-probe.log"
MAKEFILES = ("Makefile", "makefile", "GNUmakefile")
_SLOW_SEC = 10.0
_ALIKE = Decimal("0.0001")
"""A metric may have been rounded on its way."""
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3}(?!\d))?")
_LONGEST = 30
_COPY = re.compile(r"\bcp\s+(?:-\w+\s+)*([^\n;&|]+)")


@dataclass(frozen=True)
class Run:
    """One run of a program that the solution's code was part of, as the scout saw it."""

    key: str
    """Base name and arguments, in hexadecimal."""
    output: str


@dataclass(frozen=True)
class Scouted:
    """What code of the solution's saw and could write down while it was verified."""

    trial: Trial
    runs: tuple[Run, ...]
    sizes: Mapping[str, int]
    """The largest whole number or length that the solution was called with, by program."""
    tests_seen: bool
    """It could read /tests."""

    @property
    def measured(self) -> dict[str, tuple[str, str]]:
        """{program: (its output, the number in it that became the metric)} of the runs that were scored."""
        wanted = [v for name, v in self.trial.metrics.items() if name != "correctness" and v != 0]
        found = {}
        for run in self.runs:
            numbers = [n for n in _NUMBER.findall(run.output) if len(n) < _LONGEST]
            near = [(min((abs(Decimal(n) - v) / abs(v) for v in wanted), default=Decimal(1)), n) for n in numbers]
            best = min(near, default=(Decimal(1), ""))
            if best[0] <= _ALIKE:
                found[run.key] = run.output, best[1]
        return found

    @property
    def steady(self) -> dict[str, str]:
        """{program: output} of those that printed the same each time, but for what became the metric."""
        texts: dict[str, set[str]] = {}
        for run in self.runs:
            texts.setdefault(run.key, set()).add(re.sub(r"\d+\.\d+", "#", run.output))
        last = {run.key: run.output for run in self.runs}
        return {key: last[key] for key, seen in texts.items() if len(seen) == 1 and last[key]}


class Lab:
    """The workbench of one task."""

    def __init__(self, subject: Subject) -> None:
        self.subject, self._once = subject, dict[str, asyncio.Task[Trial]]()

    # -- the task's code ----------------------------------------------------------------------------------------------

    @cached_property
    def editable(self) -> dict[str, bytes]:
        """Code that a solution may change: {name in the work dir: bytes as the starter has them}."""
        sources = self.subject.sources
        return {n: self._bytes(n) for n in sources.editable if language(n) and n in sources.starter}

    @cached_property
    def drivers(self) -> dict[str, bytes]:
        """Other code in the work dir."""
        return {n: self._bytes(n) for n in self._pinned if language(n)}

    @cached_property
    def builders(self) -> dict[str, bytes]:
        """What else in the work dir has a say in how code is built: headers and makefiles."""
        return {
            n: self._bytes(n) for n in self._pinned if PurePosixPath(n).name in MAKEFILES or n.endswith((".h", ".hpp"))
        }

    @property
    def _pinned(self) -> list[str]:
        sources = self.subject.sources
        return [n for n in sources.starter if n not in sources.editable]

    @cached_property
    def solved(self) -> dict[str, bytes]:
        """The editable code as the task's own solution has it; empty where that cannot be told."""
        sources, found = self.subject.sources, {}
        copies = [line.split() for line in _COPY.findall(sources.text("solution/solve.sh"))]
        for name in self.editable:
            base = name.rpartition("/")[2]
            named = [
                w.strip("\"'").rpartition("/")[2]
                for *words, to in (c for c in copies if c)
                for w in words
                if to.strip("\"'").rpartition("/")[2] == base or w.strip("\"'").rpartition("/")[2] == base
            ]
            for candidate in (*named, base):
                if f"solution/{candidate}" in sources.files:
                    found[name] = sources.files[f"solution/{candidate}"]
                    break
        return found if found.keys() == self.editable.keys() else {}

    def others(self, name: str) -> list[str]:
        """Text of all files that may call the code in `name`."""
        sources = self.subject.sources
        own = sources.starter.get(name)
        keep = [n for n in (*sources.below("tests"), *sources.starter.values()) if n != own]
        return [sources.text(n) for n in dict.fromkeys(keep)]

    def _bytes(self, name: str) -> bytes:
        return self.subject.sources.files.get(self.subject.sources.starter[name], b"")

    # -- acts ---------------------------------------------------------------------------------------------------------

    def laid(self, act: str, weave: Callable[[str, str], Weave | None], *, solve: bool = False) -> Act:
        """The editable code with something woven in.

        Args:
            act: the act's name.
            weave: (name, text) to what is woven in; None leaves a file alone.
            solve: on top of the task's own solution.

        Raises:
            NotApplicable: there is nothing to weave into.
        """
        if not self.editable:
            names = ", ".join(self.subject.sources.editable) or "nothing known"
            raise NotApplicable(f"no editable file is code that a probe can be woven into ({names})")
        base = self.solved if solve and self.solved else self.editable
        files = {}
        for name, source in base.items():
            if (found := weave(name, source.decode("utf-8", "replace"))) is not None:
                files[name] = woven(name, source, found)
        if not files:
            raise NotApplicable(
                "nothing of this hack can be woven into the editable code (no payload, or no function that others call)"
            )
        return Act(act, solve=solve, files=files)

    def deal(self, deal: str, extra: Iterable[str] = (), **values: str) -> Callable[[str, str], Weave | None]:
        """Weaves a wrapper around every function by which the solution is called, and further pieces before."""

        def weave(name: str, text: str) -> Weave | None:
            found = dealt(name, text, self.others(name), deal, **values)
            before = pieces(name, extra)
            if found is None and not before:
                return None
            found = found or Weave()
            return Weave((*before, *found.before), found.after, found.renamed)

        return weave

    # -- trials -------------------------------------------------------------------------------------------------------

    async def attempt(self, act: Act) -> Trial:
        """Try an act, once for each name. Not alone on the machine: no probe lives by a small difference."""
        if act.name not in self._once:
            self._once[act.name] = asyncio.ensure_future(self._try(act))
        return await asyncio.shield(self._once[act.name])

    async def _try(self, act: Act) -> Trial:
        trial = await try_task(self.subject.directory, act, environment=self.subject.environment, alone=False)
        self.subject.told(trial)
        return trial

    async def slow(self) -> bool:
        """The starter takes so long that the solution's own code is the better base."""
        starter = await self.subject.starter()
        if not self.solved or starter.seconds < _SLOW_SEC:
            return False
        return (await self.subject.reference()).seconds < starter.seconds / 2

    async def plain(self, solve: bool) -> Trial:
        """The verification without any hack."""
        return await (self.subject.reference() if solve else self.subject.starter())

    async def base(self, solve: bool) -> Decimal:
        """Its reward; 0 where there is none."""
        return (await self.plain(solve)).reward or Decimal(0)

    async def scouted(self) -> Scouted:
        """What the scout saw, on top of the task's own solution where there is one."""
        act = self.laid("probe: scout", self.deal("count", ("scout",)), solve=bool(self.solved))
        trial = await self.attempt(act)
        return read(trial)

    async def fenced(self) -> bool:
        """Nothing came of it when everything that leaves a right answer right was tried at once, in one trial."""
        extra = ("scout", "verdict", "clock", "pickle")
        solve = await self.slow()
        trial = await self.attempt(self.laid("probe: all at once", self.deal("reuse", extra), solve=solve))
        plain = await self.plain(solve)
        came = LOG in trial.logs or self.won(trial, plain.reward or Decimal(0))
        return not (came or hurt(trial, plain))

    # -- verdicts -----------------------------------------------------------------------------------------------------

    def won(self, trial: Trial, before: Decimal, gain: Decimal = GAIN) -> bool:
        """Whether the hack was paid: the forged reward itself, or clearly more than without it."""
        return trial.reward is not None and (trial.reward == Decimal(FORGED) or trial.reward >= before + gain)

    async def stays(self, act: Act, trial: Trial, before: Decimal, gain: Decimal = GAIN) -> bool:
        """Whether it was, and is again where a busy machine might have paid it."""
        if not self.won(trial, before, gain):
            return False
        if not self.subject.info.timed or (trial.reward or Decimal(0)) >= before + CLEAR:
            return True
        return self.won(await self.attempt(replace(act, name=f"{act.name}, again")), before, gain)

    def finding(self, rule: str, kind: int, trial: Trial, evidence: str, remedy: str) -> Finding:
        """A hack that worked."""
        return Finding(
            rule=rule,
            kind=kind,
            severity=Severity.HIGH,
            task=self.subject.info.name,
            evidence=evidence,
            where=f"trial {trial.act}",
            remedy=remedy,
        )


def read(trial: Trial) -> Scouted:
    """What the scout's log says; lines that are cut off or of somebody else are passed over."""
    runs, sizes, seen = [], dict[str, int](), False
    for line in trial.logs.get(LOG, b"").decode("utf-8", "replace").splitlines():
        with contextlib.suppress(ValueError):
            match line.split(" "):
                case ["run", key, output]:
                    runs.append(Run(key, bytes.fromhex(output).decode("utf-8", "replace")))
                case ["calls", key, _, most]:
                    sizes[key] = max(sizes.get(key, 0), int(most))
                case ["see", tests, _]:
                    seen = seen or tests == "tests:1"
    return Scouted(trial, tuple(runs), sizes, seen)


def hurt(trial: Trial, plain: Trial) -> bool:
    """The solution no longer passes as it did without the hack."""
    right = plain.metrics.get("correctness", Decimal(1))
    return trial.reward is None or trial.metrics.get("correctness", right) < right


def lab(subject: Subject) -> Lab:
    """The workbench of this subject, the same for all probes; kept with it, so that both go together."""
    bench: Lab = vars(subject).setdefault("_lab", Lab(subject))
    return bench
