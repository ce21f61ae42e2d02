"""Lines of an explanation: wrapped, and with nothing of an agent's that moves a terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from fractions import Fraction

from rich.text import Text

from loopscope.analysis.explain.told import BuildTold, CandidateTold, EvaluationTold, Step
from loopscope.cli.console import plain
from loopscope.cli.shown import MISSING
from loopscope.models import Moment

SHORT = 12
"""Signs of a commit's id."""
_EXACT = 12
"""An exact number of so many signs stands for itself; a longer one is rounded, and follows in brackets."""
_FRACTION = re.compile(r"\((-?\d+/\d+)\)")
_COMMAND = 160
"""Signs of a command."""


class Page:
    """Lines of at most `width` columns, but for words that are longer."""

    def __init__(self, width: int) -> None:
        self.width = max(40, width)
        self.text = Text()

    def head(self, title: str, said: str = "") -> None:
        """A section."""
        if self.text:
            self.text.append("\n")
        self.line(f"{title}  {said}".rstrip(), 0, "bold")

    def line(self, said: str, indent: int = 2, style: str = "") -> None:
        """A line; what does not fit goes on below, further in."""
        room = self.width - indent
        lines = textwrap.wrap(
            _clean(said), room, subsequent_indent="    ", break_on_hyphens=False, break_long_words=False
        )
        for one in lines or [""]:
            self.text.append(" " * indent + one + "\n", style)

    def steps(self, steps: Iterable[Step], indent: int = 2) -> None:
        """A line for each."""
        for step in steps:
            self.line(step_line(step), indent)


def _clean(said: str) -> str:
    return Text.from_markup(plain(said)).plain


def value_text(step: Step) -> str:
    """The number as a person reads it: short, and exactly where that is another."""
    if step.value is None:
        return MISSING
    if isinstance(step.value, bool):
        return "yes" if step.value else "no"
    if step.exact is None:
        return f"{step.value:.6g}"
    if len(step.exact) <= _EXACT and "/" not in step.exact:
        return step.exact
    return f"{step.value:.6f}" + (f" (exactly {step.exact})" if len(step.exact) <= 2 * _EXACT else "")


def step_line(step: Step) -> str:
    """`name = value: formula = terms; note`."""
    return f"{step.name} = {value_text(step)}{how_made(step)}"


def how_made(step: Step) -> str:
    """`: formula = terms; note`, as far as there is something to say."""
    value = value_text(step)
    made = " = ".join(part for part in (step.formula, _short_terms(step.terms or "")) if part and part != value)
    said = "; ".join(part for part in (made, step.note) if part)
    return f": {said}" if said else ""


def _short_terms(terms: str) -> str:
    """Fractions that nobody would read are rounded, and marked so; the JSON has them exactly."""
    return _FRACTION.sub(lambda found: found[0] if len(found[0]) <= 2 * _EXACT else f"~{_rounded(found[1])}", terms)


def _rounded(fraction: str) -> str:
    return f"{float(Fraction(fraction)):.6f}"


def evaluation_in_short(told: EvaluationTold) -> str:
    """`m12 0.41 -> 0.4633`."""
    seen = told.seen
    raw, rewards = (", ".join(f"{number:f}" for number in numbers) for numbers in (seen.raw, seen.rewards))
    return f"{moment_text(seen.at)} {f'{raw} -> ' if raw else ''}{rewards or seen.status}"


def evaluation_line(told: EvaluationTold) -> str:
    """An evaluation with everything that is known of it."""
    seen = told.seen
    shown = f" (shown in m{seen.result_message})" if seen.result_message not in (None, seen.at.message) else ""
    raw = f": {', '.join(map(str, seen.raw))}" if seen.raw else ""
    rewards = f" -> {', '.join(map(str, seen.rewards))}" if seen.rewards else ""
    state = f" on state {seen.state}{'' if seen.certain else ' (not certain)'}" if seen.state is not None else ""
    left = "" if seen.counted else "; does not count"
    why = f"; {seen.reason}" if seen.reason else ""
    return (
        f"{moment_text(seen.at)} {cut(seen.command)}{state}: {seen.role}, {seen.status}{raw}{rewards}{shown}{left}{why}"
    )


def build_line(told: BuildTold) -> str:
    """A build with everything that is known of it."""
    seen = told.seen
    state = f" of state {seen.state}" if seen.state is not None else ""
    left = "" if seen.counted else "; does not count"
    after = "; what it then ran failed" if seen.runtime_failure else ""
    return f"{moment_text(seen.at)} {cut(seen.tool)}{state}: {seen.status}, {seen.reason}{after}{left}"


def candidate_line(told: CandidateTold) -> str:
    """A pair of state and command, with every time that it was run."""
    return f"{', '.join(map(moment_text, told.at))} {cut(told.command)} on state {told.state}"


def moment_text(moment: Moment) -> str:
    """`m12`, and the thread where it is a subagent's."""
    return f"m{moment.message}" + ("" if moment.thread == "main" else f" of {moment.thread}")


def cut(text: str) -> str:
    """An agent's text, as much of it as fits."""
    return text if len(text) <= _COMMAND else text[: _COMMAND - 1] + "…"
