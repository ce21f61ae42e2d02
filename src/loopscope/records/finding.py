"""What a check of a study found: one line each, with what to do."""

from __future__ import annotations

from enum import StrEnum

from loopscope.models import Record


class Severity(StrEnum):
    """What a finding means for the study."""

    DAMAGED = "damaged"
    """Something is not as it was written: its numbers cannot be vouched for."""
    INCOMPLETE = "incomplete"
    """Something was not done yet, or its directory is gone; the study can go on."""
    NOTE = "note"
    """Worth knowing, and no fault."""


class Finding(Record):
    """One thing that is not as it should be."""

    severity: Severity
    place: str
    """Path below the study's directory."""
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what}; {self.remedy}"


class StudyCheck(Record):
    """What `verify_study` looked at and found."""

    study: str
    """Its directory."""
    runs: int
    """Run directories that were looked at, retired ones among them."""
    unsealed: tuple[str, ...]
    """Of these, runs that the first version wrote: they have no manifest and no seal to be held against."""
    findings: tuple[Finding, ...]

    def of(self, severity: Severity) -> list[Finding]:
        """The findings of one severity, in the order they were made."""
        return [finding for finding in self.findings if finding.severity is severity]

    @property
    def whole(self) -> bool:
        """Nothing is damaged and nothing missing."""
        return all(finding.severity is Severity.NOTE for finding in self.findings)


def damaged(place: str, what: str, remedy: str) -> Finding:
    """Something is not as it was written."""
    return Finding(severity=Severity.DAMAGED, place=place, what=what, remedy=remedy)


def incomplete(place: str, what: str, remedy: str) -> Finding:
    """Something was not done yet."""
    return Finding(severity=Severity.INCOMPLETE, place=place, what=what, remedy=remedy)


def note(place: str, what: str, remedy: str) -> Finding:
    """Worth knowing."""
    return Finding(severity=Severity.NOTE, place=place, what=what, remedy=remedy)
