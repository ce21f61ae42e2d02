"""Findings as rules and probes make them."""

from __future__ import annotations

from loopscope.models.audit import HACK_KINDS, AuditFinding, FindingSeverity

Finding = AuditFinding
Severity = FindingSeverity

__all__ = ["HACK_KINDS", "Finding", "NotApplicable", "Severity"]


class NotApplicable(Exception):
    """Raised by a rule or a probe that cannot say anything of this task; the message says why, in a few words."""
