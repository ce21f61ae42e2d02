"""Where a run and its scores come from, and what follows for reading them."""

from __future__ import annotations

from collections.abc import Sequence

from loopscope.models.tables import CheckpointRow, RunRow
from loopscope.report import format as fmt
from loopscope.report.inputs import RunFiles
from loopscope.report.pages.reconstruction import RECONSTRUCTED, REPORTED, RebuiltView, rebuilt_view
from loopscope.report.pages.runs import final_missing
from loopscope.report.text import one_line


def told_first(run: RunRow, rows: Sequence[CheckpointRow]) -> tuple[tuple[str, str], ...]:
    """(words, sentence) of what must be known before any number is read."""
    marks = []
    if run.imported:
        marks.append(("imported", "loopscope did not do this run itself."))
    if run.final_source == RECONSTRUCTED or any(row.score_source == RECONSTRUCTED for row in rows):
        made = "of what the agent's own evaluations printed, by the task's formula: no verifier ran."
        marks.append((f"scores {RECONSTRUCTED}", f"Scores are {RECONSTRUCTED} {made}"))
    if run.final_source == REPORTED:
        marks.append(
            ("final score reported", "The final score is the one that the log states: no verification was made here.")
        )
    return tuple(marks)


def source(files: RunFiles) -> str:
    """Where an imported run comes from; empty of one that was done here."""
    imported = files.record.imported if files.record is not None else None
    if imported is None:
        return ""
    version = f" {one_line(imported.format_version, 40)}" if imported.format_version else ""
    return f"Imported from {one_line(imported.log, 200)} ({one_line(imported.format, 40)}{version})"


def reported(files: RunFiles) -> str:
    """Where the log itself states the final score; empty where it states none."""
    imported = files.record.imported if files.record is not None else None
    if imported is None or imported.reported is None:
        return ""
    said = f"{fmt.score(float(imported.reported.reward))} by the log itself ({one_line(imported.reported.where, 200)})"
    return f"{said}: the task’s verifier gave it, in the agent’s own sandbox."


def final_rebuilt(run: RunRow, files: RunFiles) -> RebuiltView | None:
    """The final score of an imported run by its transcript."""
    evidence = files.evidence
    if evidence is None or not run.imported:
        return None
    return rebuilt_view(evidence.final, evidence.final_grade.value, evidence)


def no_final(run: RunRow, files: RunFiles) -> str:
    """Why there is no final score: as evidence tells it of an imported run."""
    told = files.evidence.final_reason if files.evidence is not None and run.imported else ""
    return _sentence(one_line(told, 600) if told and run.final_score is None else final_missing(run))


def _sentence(reason: str | None) -> str:
    return f"{reason[:1].upper()}{reason[1:]}." if reason else ""
