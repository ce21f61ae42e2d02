"""Right and wrong by what the untouched solution printed, for tasks whose own check only prints a checksum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loopscope.evidence.shell.calls import ShellCall
from loopscope.evidence.shell.evaluations import EvaluationFinding
from loopscope.evidence.shell.rules import EvaluationRule
from loopscope.evidence.shell.searching import find_all

START = "s0"
"""The state that a run begins with."""


class Answers:
    """What the evaluations of a thread printed as the answer, and what is right."""

    def __init__(
        self,
        evaluations: Sequence[EvaluationFinding],
        states: Sequence[str | None],
        shells: Mapping[int, ShellCall],
    ) -> None:
        """`states` are those that the evaluations measured, one for each."""
        self._shells = shells
        self._right: dict[EvaluationRule, str] = {}
        told: dict[EvaluationRule, set[str]] = {}
        for item, state in zip(evaluations, states, strict=True):
            if state == START and item.rule.answer is not None:
                told.setdefault(item.rule, set()).update(self._printed(item))
        for rule, answers in told.items():
            # Two answers of one state say that the answer is not what it is taken for.
            if len(answers) == 1:
                self._right[rule] = next(iter(answers))

    def wrong(self, item: EvaluationFinding) -> str | None:
        """Why an evaluation shows a wrong solution; None where it does not, or where nobody can tell."""
        right = self._right.get(item.rule) if item.rule.answer is not None else None
        if right is None:
            return None
        other = next((answer for answer in self._printed(item) if answer != right), None)
        return f"it printed {other[:60]}, and the untouched solution {right[:60]}" if other is not None else None

    def _printed(self, item: EvaluationFinding) -> list[str]:
        shell, answer = self._shells.get(item.position), item.rule.answer
        if shell is None or answer is None:
            return []
        return [found["value"] for found in find_all(answer, shell.text) if found["value"] is not None]
