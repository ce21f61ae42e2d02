"""What the report room raises."""

from __future__ import annotations


class ReportError(Exception):
    """The report cannot be made. The message names the file, what is wrong with it and what to do."""
