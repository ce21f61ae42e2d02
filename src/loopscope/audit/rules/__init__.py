"""Rules: what is read from a task's files."""

from __future__ import annotations

from loopscope.audit.rule import Rule

RULES: tuple[Rule, ...] = ()
"""All of them."""
