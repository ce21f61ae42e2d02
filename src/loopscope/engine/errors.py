"""What stops a command, as opposed to what becomes a record of one run."""

from __future__ import annotations


class StudyError(Exception):
    """A study cannot be planned or continued. The message names file and field and says what to do."""
