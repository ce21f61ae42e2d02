"""What a commit changed: its files and their diffs, and why there is none."""

from __future__ import annotations

from dataclasses import dataclass, replace

from loopscope.models import Commit
from loopscope.models.tables import CheckpointRow
from loopscope.report import format as fmt
from loopscope.report.budget import fair_cuts
from loopscope.report.inputs import RunFiles
from loopscope.report.text import cut, one_line

DIFF_READ = 32 << 10
"""Text of one commit's diff that is read at all."""
MAX_FILES = 30


@dataclass(frozen=True)
class FileView:
    """One file's change."""

    path: str
    change: str
    added: int
    removed: int
    text: str
    note: str


def changes(
    row: CheckpointRow, commit: Commit | None, previous: Commit | None, known: dict[str, Commit], files: RunFiles
) -> tuple[str, tuple[FileView, ...], str]:
    """Against what a commit is compared, the files that it changes, and what is to be said of them.

    Args:
        row: the commit in the tables.
        commit: the commit in the record, where it is there.
        previous: the last recorded commit before it.
        known: all recorded commits, by sha.
        files: the run's files.
    """
    if commit is None and row.source == "transcript":
        return "", (), "Known from the transcript alone: an imported run has no repository, so there is no diff."
    if commit is None:
        return "", (), "The commit is not in the run's record, so there is no diff."
    parent = next((known[p] for p in commit.parents if p in known), previous)
    if parent is None and row.initial:
        return "", (), "The untouched starting point."
    found = files.diff(parent.tree if parent else None, commit.tree, DIFF_READ)
    against = f"against {parent.sha[:10]}" if parent else "against nothing: the first commit"
    if isinstance(found, str):
        return against, (), found
    shown = tuple(
        FileView(one_line(d.path, 200), d.change, d.added, d.removed, d.text, one_line(d.note, 120))
        for d in found[:MAX_FILES]
    )
    more = len(found) - len(shown)
    note = f"{fmt.plural(more, 'more file')} not shown." if more > 0 else "" if found else "No file changed."
    return against, shown, note


def cut_files(files: tuple[FileView, ...], room: int) -> tuple[FileView, ...]:
    """Files whose diffs have `room` characters in all, every cut marked in the text."""
    cuts = fair_cuts([len(f.text) for f in files], room)
    return tuple(replace(f, text=cut(f.text, size)) for f, size in zip(files, cuts, strict=True))
