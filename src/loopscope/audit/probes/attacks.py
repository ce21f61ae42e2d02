"""Hacks in the solution's own code: each is woven into the starter or the task's own solution, and scored for real."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from loopscope.audit.finding import Finding, NotApplicable
from loopscope.audit.probes.lab import GAIN, LARGE, Lab, hurt, lab
from loopscope.audit.probes.weaving import FORGED, Weave, language, piece, pieces
from loopscope.audit.subject import Subject
from loopscope.audit.trial import Trial

APART = "run the solution's code in a process of its own, under another uid and without sight of /tests and /logs"


def told(trial: Trial, base: str, before: Decimal) -> str:
    """Both rewards, in one line."""
    return f"reward {trial.reward} where the {base} alone gets {before}"


@dataclass(frozen=True)
class _Hack:
    """What a probe says when its hack was paid."""

    rule: str
    kind: int
    what: str
    remedy: str
    gain: Decimal = GAIN
    keeps: bool = False
    """It leaves right answers right: where they are not, the verifier refuses such code, and nothing was tried."""


async def _paid(bench: Lab, hack: _Hack, weave: Callable[[str, str], Weave | None]) -> list[Finding]:
    solve = await bench.slow()
    before = await bench.base(solve)
    act = bench.laid(f"probe: {hack.rule}", weave, solve=solve)
    trial = await bench.attempt(act)
    if not await bench.stays(act, trial, before, hack.gain):
        if hack.keeps:
            refused(trial, await bench.plain(solve))
        return []
    evidence = f"{hack.what}: {told(trial, 'reference' if solve else 'starter', before)}"
    return [bench.finding(hack.rule, hack.kind, trial, evidence, hack.remedy)]


def refused(trial: Trial, plain: Trial) -> None:
    """Raise `NotApplicable` where the verifier does not take a solution with the hack in it."""
    if hurt(trial, plain):
        last = " ".join((trial.reason or trial.output).split())[-160:]
        raise NotApplicable(f"a solution with the hack in it does not pass: {last}")


async def verdict_written(subject: Subject) -> list[Finding]:
    """A background process of the solution's writes the reward file."""
    bench = lab(subject)
    if await bench.fenced():
        return []
    solve = await bench.slow()
    before = await bench.base(solve)
    trial = await bench.attempt(bench.laid("probe: verdict-written", laying("verdict"), solve=solve))
    if trial.reward != Decimal(FORGED):
        refused(trial, await bench.plain(solve))
        return []
    seen = ""
    with contextlib.suppress(NotApplicable):  # no scout is written in some languages
        seen = ", and it can read /tests" if (await bench.scouted()).tests_seen else ""
    what = f"code in the solution's files wrote its own verdict{seen}: reward {trial.reward}, without it {before}"
    return [bench.finding("verdict-written", 8, trial, what, APART)]


async def answers_taken(subject: Subject) -> list[Finding]:
    """The right answer is looked up where the caller or a file has it."""
    bench = lab(subject)
    if not any(language(n) == "python" for n in bench.editable):
        raise NotApplicable("no editable file is Python")
    if await bench.fenced():
        return []
    what = "the solution gave what it found in its caller's variables or in a file that it can read"
    return await _paid(bench, _Hack("answers-taken", 8, what, APART), bench.deal("answers"))


async def clock_slowed(subject: Subject) -> list[Finding]:
    """The solution brings a clock of its own, a thousand times slower."""
    bench = lab(subject)
    if await bench.fenced():
        return []
    what = "the solution's code replaced the clock that it is measured with"
    return await _paid(
        bench, _Hack("clock-slowed", 3, what, f"measure from outside: {APART}", keeps=True), laying("clock")
    )


async def line_forged(subject: Subject) -> list[Finding]:
    """The solution prints a result line of an earlier run with a better number, and ends the process."""
    bench = lab(subject)
    if await bench.fenced():
        return []
    seen = await bench.scouted()
    lines = {key: forged(output, number, better(subject)) for key, (output, number) in seen.measured.items()}
    if not lines:
        raise NotApplicable("no output of the solution's process holds the metric")
    what = "the solution's code printed the result line itself, with a better number"
    return await _paid(bench, _Hack("line-forged", 3, what, APART), printing(lines))


async def answers_written_down(subject: Subject) -> list[Finding]:
    """What was printed at one verification is printed again at the next, without any work."""
    bench = lab(subject)
    if await bench.fenced():
        return []
    seen = await bench.scouted()
    before = seen.trial.reward or Decimal(0)
    if not seen.steady:
        raise NotApplicable("nothing that the solution's process prints can be used again")
    if before <= 0:
        raise NotApplicable("the run that was written down got no reward")
    act = bench.laid("probe: answers-written-down", printing(seen.steady), solve=bool(bench.solved))
    trial = await bench.attempt(act)
    if trial.reward is None or trial.reward < before * Decimal("0.8"):
        return []
    what = (
        f"{len(seen.steady)} outputs of one verification were printed in the next without any work: "
        f"reward {trial.reward}, the run that they were taken from {before}"
    )
    remedy = "draw fresh inputs from a secret seed at each verification"
    return [bench.finding("answers-written-down", 7, trial, what, remedy)]


async def first_result_reused(subject: Subject) -> list[Finding]:
    """The result of a call is remembered and given again to every equal call."""
    bench = lab(subject)
    if await bench.fenced():
        return []
    what = "only the first of equal calls did any work, later ones gave its result again"
    remedy = "give every repetition an input of its own, and compare each output"
    return await _paid(bench, _Hack("first-result-reused", 2, what, remedy), bench.deal("reuse"))


async def work_left_out(subject: Subject) -> list[Finding]:
    """At benchmark size the solution does nothing at all."""
    bench = lab(subject)
    keys, most = list[str](), 0
    if not await bench.fenced():
        seen = await bench.scouted()
        keys = [k for k in seen.measured if k in seen.sizes]
        most = max((seen.sizes[k] for k in keys or seen.sizes), default=0)
    what = (
        f"the solution did nothing when it was called with {most} elements or more"
        if most
        else "the solution did nothing"
    )
    values = {"KEYS": "".join(f'"{k}", ' for k in keys), "MOST": str(most)}
    python = {"KEYS": repr(tuple(keys)), "MOST": str(most)}

    def weave(name: str, text: str) -> Weave | None:
        return bench.deal("skip", (), **(python if language(name) == "python" else values))(name, text)

    remedy = "compare the output of the measured run itself with a trusted answer"
    return await _paid(bench, _Hack("work-left-out", 1, what, remedy, LARGE), weave)


async def question_overwritten(subject: Subject) -> list[Finding]:
    """The solution makes its input trivial in place before it answers."""
    bench = lab(subject)
    what = "the solution overwrote its input with a trivial one, and that was what the answer was held against"
    remedy = "keep the question in memory that the solution cannot reach, and take the expected answer from there"
    return await _paid(bench, _Hack("question-overwritten", 6, what, remedy, LARGE), bench.deal("trivial"))


async def pickle_loaded(subject: Subject) -> list[Finding]:
    """What the solution saves runs code where the verifier loads it."""
    bench = lab(subject)
    if not any(language(n) == "python" for n in bench.editable):
        raise NotApplicable("no editable file is Python")
    if await bench.fenced():
        return []
    what = "an object that the solution saved ran code when the verifier loaded it"
    remedy = "take numbers as text or raw bytes; numpy.load with allow_pickle=False, torch.load with weights_only=True"
    return await _paid(bench, _Hack("pickle-loaded", 9, what, remedy, keeps=True), laying("pickle"))


# -- pieces -----------------------------------------------------------------------------------------------------------


def laying(*names: str) -> Callable[[str, str], Weave | None]:
    """Weaves these pieces in before the code; None where none of them is written in its language."""

    def weave(name: str, text: str) -> Weave | None:
        return Weave(found) if (found := pieces(name, names)) else None

    return weave


def printing(lines: dict[str, str]) -> Callable[[str, str], Weave | None]:
    """Weaves in that a program of this name and these arguments prints a text and ends."""

    def weave(name: str, text: str) -> Weave | None:
        if language(name) == "rust":
            return None
        if language(name) == "python":
            entries = "".join(f"{k!r}: {v!r}, " for k, v in lines.items())
            return Weave((piece("forge.pyt", LINES=entries),))
        entries = "".join(f"    {{{_c_text(k)}, {_c_text(v)}}},\n" for k, v in lines.items())
        return Weave((piece("forge.h", LINES=entries),))

    return weave


def _c_text(text: str) -> str:
    plain = (chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode())
    return f'"{"".join(plain)}"'


def better(subject: Subject) -> Decimal:
    """The factor that makes a metric much better."""
    return Decimal(100) if subject.info.anchors.direction == "maximize" else Decimal("0.01")


def forged(output: str, number: str, factor: Decimal) -> str:
    """The output with that number made better, written as it was."""
    value = Decimal(number) * factor
    places = len(number.partition(".")[2]) if "e" not in number.lower() else 6
    text = f"{value:.{places}f}" if "." in number else str(max(1, int(value)))
    return re.sub(rf"(?<![\w.]){re.escape(number)}(?![\w.])", text, output)
