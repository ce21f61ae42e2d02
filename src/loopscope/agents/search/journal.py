"""Journal entries of a run (`output/journal.md`)."""

from __future__ import annotations

from collections.abc import Sequence

from loopscope.agents.search.proposals import Proposal
from loopscope.agents.search.reading import Reading

HARDWARE_COMMAND = (
    "uname -srm; nproc; grep -m1 'model name' /proc/cpuinfo; grep MemTotal /proc/meminfo; "
    "nvidia-smi -L 2>/dev/null || echo 'no accelerator'"
)


def opening(hardware: str, reading: Reading) -> str:
    """First entry: the hardware, and what was read from the instruction."""
    direction = "lower" if reading.lower_is_better else "higher"
    return (
        f"# Journal\n\n## Hardware\n\n{_indented(hardware)}\n\n## What the instruction says\n\n"
        f"- may be edited: {', '.join(reading.editable) or 'nothing found'}\n"
        f"- build: {reading.commands.build or 'none of its own'}\n"
        f"- local evaluation: {reading.commands.evaluate or 'none found'} ({direction} is better)\n\n"
    )


def baseline_entry(scores: Sequence[str], note: str) -> str:
    """What the untouched files reach."""
    return f"## Baseline\n\n- result: {', '.join(scores) or 'no score'}\n- next: {note}\n\n"


def round_entry(number: int, proposal: Proposal, commands: Sequence[str], results: Sequence[str], decision: str) -> str:
    """One round, written after its evaluation and so part of the next commit."""
    return (
        f"## Round {number}\n\n- change: {proposal.change}\n- hypothesis: {proposal.hypothesis}\n"
        f"- commands: {'; '.join(commands)}\n- result: {'; '.join(results)}\n- next: {decision}\n\n"
    )


def closing(reason: str, rounds: int, best_round: int, best: str | None) -> str:
    """Last entry."""
    return f"## End\n\n- stopped after round {rounds}: {reason}\n- best: round {best_round}, score {best or 'none'}\n\n"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.strip().splitlines()[:12])
