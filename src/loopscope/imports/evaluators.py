"""Evaluator files that a study brings along: checked, then kept as `evaluators/<task>.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from loopscope.evidence.evaluator import evaluator_for, load_evaluator
from loopscope.imports.naming import NAME
from loopscope.models.evaluator import Evaluator
from loopscope.records import RecordError, StudyStore, write_bytes


@dataclass(frozen=True)
class Evaluators:
    """The files that a person named, by task."""

    given: Mapping[str, tuple[Path, Evaluator, bytes]]

    @classmethod
    def load(cls, files: tuple[Path, ...]) -> Evaluators:
        """Read them all before anything is written.

        Raises:
            RecordError: one cannot be used, or two speak of one task.
        """
        given: dict[str, tuple[Path, Evaluator, bytes]] = {}
        for file in files:
            found = load_evaluator(file)
            if not NAME.fullmatch(found.task):
                raise RecordError(
                    f"{file}: task: {found.task!a} is not as imported runs name one; use letters, digits and . _ @ + - "
                    "only (what else a log has in a task's name is written -)"
                )
            if found.task in given:
                raise RecordError(f"{file}: task: {given[found.task][0]} speaks of {found.task} too; give one of them")
            given[found.task] = (file, found, file.read_bytes())
        return cls(given)

    def check(self, store: StudyStore) -> None:
        """Refuse to replace an evaluator that the study has: scores were reconstructed by it.

        Raises:
            RecordError: the study has another for a task.
        """
        for task, (file, _, data) in self.given.items():
            kept = _place(store, task)
            if kept.is_file() and kept.read_bytes() != data:
                raise RecordError(
                    f"{file}: {kept} is another evaluator of {task}, and nothing is overwritten; remove or change that "
                    "one, then `loopscope analyze` again"
                )

    def keep(self, store: StudyStore) -> tuple[str, ...]:
        """Copy them into the study, durably; their tasks."""
        for task, (_, _, data) in self.given.items():
            if not _place(store, task).is_file():
                write_bytes(_place(store, task), data)
        return tuple(self.given)

    def category(self, store: StudyStore, task: str) -> str | None:
        """The family that the evaluator of a task names, given, of the study, or shipped; None where it names none."""
        found = self.given[task][1] if task in self.given else evaluator_for(task, store.evaluators)
        return found.category if found and found.category != "uncategorized" else None


def _place(store: StudyStore, task: str) -> Path:
    return store.evaluators / f"{task}.yaml"
