"""Probes: hacks that are done for real, generically, and scored by the task's own verifier."""

from __future__ import annotations

from loopscope.audit.probes import artifacts, attacks, planting, repeating, shadowing
from loopscope.audit.rule import Probe

PROBES: tuple[Probe, ...] = (
    Probe("work-left-out", 1, "at benchmark size the solution does nothing", attacks.work_left_out),
    Probe("first-result-reused", 2, "equal calls get the first one's result", attacks.first_result_reused),
    Probe("clock-slowed", 3, "the solution replaces the clock", attacks.clock_slowed),
    Probe("line-forged", 3, "the solution prints the result line", attacks.line_forged),
    Probe("module-shadowed", 3, "the verifier imports modules from the work dir", shadowing.module_shadowed),
    Probe("driver-replaced", 4, "code is added to the driver", planting.driver_replaced),
    Probe("binary-planted", 5, "a program built from other code is left", planting.binary_planted),
    Probe("question-overwritten", 6, "the input is made trivial in memory", attacks.question_overwritten),
    Probe("answers-written-down", 7, "outputs of one verification serve the next", attacks.answers_written_down),
    Probe("inputs-repeat", 7, "two verifications measure the same to the last digit", repeating.inputs_repeat),
    Probe("verdict-written", 8, "the solution writes the reward file", attacks.verdict_written),
    Probe("answers-taken", 8, "the answer is found in variables or files", attacks.answers_taken),
    Probe("pickle-loaded", 9, "what the solution saves runs code when loaded", artifacts.artifact_loaded),
)
"""All of them, in the order they run."""
