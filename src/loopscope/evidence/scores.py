"""Scores of states, made of the evaluations that a transcript shows. Never official, and told with their reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from loopscope.evidence.events import CommitSeen, Place, Seen
from loopscope.evidence.shell.build_tools import SYNTAX_CHECKS
from loopscope.models import BuildStatus, EvaluationSeen, EvaluationStatus, Grade, Reconstructed
from loopscope.models.evaluator import EvaluationRole, Evaluator

_NAMED = 5
"""So many messages are named in a reason."""


@dataclass(frozen=True)
class StateScores:
    """The scores of a run's states."""

    seen: Seen
    evaluator: Evaluator | None

    @cached_property
    def _by_state(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for position, item in enumerate(self.seen.evaluations):
            if item.state is not None and item.counted:
                found.setdefault(item.state, []).append(position)
        return found

    @cached_property
    def _variants(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for variant, files in self.seen.variants.items():
            found.setdefault(files, []).append(variant)
        return found

    def _of(self, state: str) -> list[tuple[int, EvaluationSeen]]:
        """The evaluations of a state; of one that was only run with other flags than its files say, those."""
        positions = self._by_state.get(state) or sorted(
            position for variant in self._variants.get(state, ()) for position in self._by_state.get(variant, ())
        )
        return [(position, self.seen.evaluations[position]) for position in positions]

    @cached_property
    def measures_file(self) -> bool:
        """What is measured is a file that a program makes: one state of the sources may make better and better ones."""
        return self.evaluator is not None and any(entry.measures for entry in self.evaluator.evaluations)

    def reconstructed(self, state: str | None, until: Place | None = None) -> Reconstructed | None:
        """The score of a state: the median of what its evaluations are worth; None when none is known.

        Evaluations that surely measured the state come before those that may have; a check that fails and never passes
        makes the score that of a wrong solution. Where a file is measured, the last evaluation counts that gave a
        result, since the file may have changed in between.

        Args:
            state: of the artifact.
            until: for a measured file, the place of the next commit: the file as it was by then.
        """
        if state is None or self.evaluator is None:
            return None
        worth = [(position, item) for position, item in self._of(state) if item.rewards]
        worth = [pair for pair in worth if pair[1].certain] or worth
        wrong = self._wrong(state, worth)
        chosen = wrong or (self._latest(worth, until) if self.measures_file else worth)
        rewards = sorted(reward for _, item in chosen for reward in item.rewards)
        if not rewards:
            return None
        why = (
            "wrong by its own check" if wrong else f"median of {len(rewards)} rewards" if rewards[1:] else "one reward"
        )
        values = [str(value) for _, item in chosen for value in item.raw][:_NAMED]
        measured = f", {' '.join(values)} {self.evaluator.unit}".rstrip() if values and not wrong else ""
        sure = "" if all(item.certain for _, item in chosen) else "; its state is not certain"
        if any(item.state != state for _, item in chosen):
            sure += "; built with other flags than its files say"
        return Reconstructed(
            value=rewards[(len(rewards) - 1) // 2],
            low=rewards[0],
            high=rewards[-1],
            evaluations=tuple(position for position, _ in chosen),
            reason=f"{why} ({_messages([item for _, item in chosen])}{measured}){sure}",
        )

    @cached_property
    def of_commits(self) -> list[Reconstructed | None]:
        """The score of each commit that the transcript shows; of a measured file, as it was by the next commit."""
        return [
            self.reconstructed(commit.state, self.seen.next_commit(position))
            for position, commit in enumerate(self.seen.commits)
        ]

    def _latest(self, worth: list[tuple[int, EvaluationSeen]], until: Place | None) -> list[tuple[int, EvaluationSeen]]:
        given = [pair for pair in worth if pair[1].status is EvaluationStatus.RESULT] or worth
        early = [pair for pair in given if until is None or (self.seen.place(pair[1].at) or until) < until]
        return early[-1:] or given[:1]

    def _wrong(self, state: str, worth: list[tuple[int, EvaluationSeen]]) -> list[tuple[int, EvaluationSeen]]:
        """The failed checks of a state that no check passed."""
        certain = any(item.certain for _, item in worth)
        checks = [
            pair for pair in self._of(state) if pair[1].role == EvaluationRole.CHECK and pair[1].certain >= certain
        ]
        if any(item.status is EvaluationStatus.RESULT for _, item in checks):
            return []
        return [pair for pair in checks if pair[1].rewards]

    def grade(self, commit: CommitSeen, made: Reconstructed | None, claimed: Decimal | None) -> Grade:
        """How well a commit's score is known."""
        if made is None:
            parts = commit.state is not None and any(
                item.role == EvaluationRole.PART and item.status is EvaluationStatus.RESULT
                for _, item in self._of(commit.state)
            )
            return Grade.PROXY if parts or claimed is not None else Grade.MISSING
        return Grade.CONFIRMED if commit.confirmed and self._sure(made, commit.state) else Grade.INFERRED

    def _sure(self, made: Reconstructed, state: str | None) -> bool:
        used = [self.seen.evaluations[at] for at in made.evaluations]
        return self.seen.order_checked and all(item.certain and item.state == state for item in used)

    def delivered(self, state: str | None) -> tuple[bool | None, str]:
        """g of Appendix C.3 for a state, and what shows it."""
        if state is None:
            return None, "it is not known which state of the artifact it holds"
        ran = [item for _, item in self._of(state) if item.role != EvaluationRole.PART]
        ran = [item for item in ran if item.certain] or ran
        passed = [item for item in ran if item.status is EvaluationStatus.RESULT]
        failed = [item for item in ran if item.status is EvaluationStatus.FAILED]
        checks = [item for item in passed if item.role == EvaluationRole.CHECK]
        wrong = [item for item in failed if item.role == EvaluationRole.CHECK]
        if wrong and not checks:
            return False, f"its check failed ({_messages(wrong)})"
        if passed and len(passed) > len(failed):
            what = "its verdict is right" if len(checks) == len(passed) else "it gave a result"
            return True, f"{what} ({_messages(passed)})"
        if failed:
            return False, f"its evaluation failed ({_messages(failed)})"
        return self._built(state)

    def _built(self, state: str) -> tuple[bool | None, str]:
        """g of a state of which no evaluation tells: what its builds say.

        A clean build without a result is a failed delivery, except where its program ran and no rule says what that
        was. Whether text can be parsed is no build: the artifact is interpreted, and nothing of it has run.
        """
        same = {state, *self._variants.get(state, ())}
        builds = [item for item in self.seen.builds if item.counted and item.state in same]
        made = [item for item in builds if item.tool not in SYNTAX_CHECKS]
        clean = [item for item in made if item.status is BuildStatus.SUCCEEDED]
        unfitted = [item for item in self.seen.unfitted if item.state in same]
        if unfitted:
            at = unfitted[0].at.message
            return None, f"its program was run in a way that no rule of the evaluator fits (message {at})"
        if clean:
            return False, f"it builds (message {clean[-1].at.message}), and no evaluation of it gave a result"
        broken = [item for item in builds if item.status is BuildStatus.CODE_FAILURE]
        if broken:
            return False, f"it does not build (message {broken[-1].at.message})"
        if builds and not made:
            return None, "its text can be parsed, and it was not seen to run"
        tried = [item for item in self.seen.evaluations if item.state == state]
        if tried:
            return None, f"its evaluation shows nothing that is looked for (message {tried[-1].at.message})"
        return None, "nothing was seen to be built or evaluated on its state"

    def final(self) -> tuple[Reconstructed | None, Grade]:
        """The score of the state that the run ended with, committed or not.

        Where a file is measured that a program makes, the last evaluation tells what that file is worth, whatever
        became of the sources since.
        """
        state, certain = self.seen.last, self.seen.last_certain
        if self.measures_file:
            scored = [item for item in self.seen.evaluations if item.counted and item.rewards]
            state, certain = (scored[-1].state if scored else None), False
        made = self.reconstructed(state)
        if made is None:
            return None, Grade.MISSING
        return made, Grade.CONFIRMED if certain and self._sure(made, state) else Grade.INFERRED

    @cached_property
    def spreads(self) -> dict[str, Decimal]:
        """Largest spread of rewards among evaluations with the same command, by state; only of repeated ones.

        A check that passes and fails on one state moves its reward between nothing and what it is worth. Where a file
        is measured, nobody can tell noise from progress.
        """
        if self.measures_file:
            return {}
        groups: dict[tuple[str, str], list[EvaluationSeen]] = {}
        for item in self.seen.evaluations:
            if item.counted and item.certain and item.state is not None:
                groups.setdefault((item.state, item.command), []).append(item)
        spreads: dict[str, Decimal] = {}
        for (state, _), items in groups.items():
            rewards = [reward for item in items for reward in item.rewards]
            if {item.status for item in items} >= {EvaluationStatus.RESULT, EvaluationStatus.FAILED} and rewards:
                rewards += [reward for _, item in self._of(state) if item.certain for reward in item.rewards]
            if len(rewards) > 1:
                spread = max(rewards) - min(rewards)
                spreads[state] = max(spread, spreads.get(state, spread))
        return spreads


def _messages(items: Sequence[EvaluationSeen]) -> str:
    shown = list(dict.fromkeys(item.result_message or item.at.message for item in items))
    named = ", ".join(str(message) for message in shown[:_NAMED])
    more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    return f"message{'s' if len(shown) > 1 else ''} {named}{more}"
