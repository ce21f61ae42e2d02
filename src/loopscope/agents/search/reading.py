"""What an instruction tells an agent that cannot read: editable files, build, local evaluation, direction, budget.

The conventions are those of docs/tasks.md. Everything here looks at words around paths and commands; where the text is
silent, the files of the work dir decide.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from loopscope.agents.search.commands import Commands, find_commands
from loopscope.agents.search.editable import find_editable
from loopscope.agents.search.markdown import Block, blocks

_RECORDS = re.compile(r"\brecord|\bjournal|working time|book-?keeping|housekeeping|version control|commit")
_LOWER = re.compile(
    r"\b(?:lower|smaller|less|fewer|shorter)\b[^.`\n]{0,30}\bbetter|\bthe (?:lower|smaller)\b,? the better"
    r"|\b(?:lower|smaller) (?:is|=) best",
    re.I,
)
_HIGHER = re.compile(r"\b(?:higher|larger|bigger|greater|more)\b[^.`\n]{0,30}\bbetter", re.I)
_BUDGET = re.compile(r"\bwall-?clock|\btime budget|\bbudget of")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|sec|second|m|min|minute|h|hour)s?\b", re.I)
_UNIT = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class Reading:
    """What the agent works with."""

    editable: tuple[str, ...]
    """Existing files it may change, relative to the work dir."""
    commands: Commands
    lower_is_better: bool
    budget_sec: float | None
    """Wall clock that the record-keeping addition grants."""


def read_instruction(text: str, listing: Sequence[str], workdir: str, makefile: str = "") -> Reading:
    """Read an instruction.

    Args:
        text: the instruction as the agent got it, record-keeping addition included.
        listing: files of the work dir, relative to it.
        workdir: absolute path of the work dir; paths in the text may start with it.
        makefile: the work dir's Makefile, for its targets, where the text names no command.
    """
    every = list(blocks(text))
    task = [block for block in every if not _is_record_keeping(block)]
    commands = find_commands(task, listing, makefile)
    return Reading(
        editable=find_editable(task, listing, workdir, commands),
        commands=commands,
        lower_is_better=_direction(task),
        budget_sec=_budget(every),
    )


def _is_record_keeping(block: Block) -> bool:
    return any(_RECORDS.search(heading.lower()) for heading in block.headings)


def _direction(task: Sequence[Block]) -> bool:
    """True when lower is better. Where the text says both, the words nearest to the local evaluation count."""
    near = [b for b in task if re.search(r"evaluat|measur|local", b.heading)]
    for part in (near, task):
        text = "\n".join(block.text for block in part)
        lower, higher = _LOWER.search(text), _HIGHER.search(text)
        if lower or higher:
            return lower is not None and (higher is None or lower.start() < higher.start())
    return False


def _budget(every: Sequence[Block]) -> float | None:
    for block in every:
        if _is_record_keeping(block) and not block.code and (found := _BUDGET.search(block.text.lower())):
            span = block.text[max(0, found.start() - 60) : found.end() + 40]
            if durations := _DURATION.findall(span):
                return sum(float(amount) * _UNIT[unit[0].lower()] for amount, unit in durations)
    return None
