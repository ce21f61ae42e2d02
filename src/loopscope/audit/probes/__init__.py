"""Probes: hacks that are done for real, generically, and scored by the task's own verifier."""

from __future__ import annotations

from loopscope.audit.rule import Probe

PROBES: tuple[Probe, ...] = ()
"""All of them, in the order they run."""
