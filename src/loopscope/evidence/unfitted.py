"""Runs of a task's own program that no rule of its evaluator fits: they may be evaluations, and nobody can tell."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from loopscope.evidence.artifact.products import outputs
from loopscope.evidence.shell.builds import BuildFinding, Outcome
from loopscope.evidence.shell.calls import ShellCall
from loopscope.evidence.shell.commands import SimpleCommand
from loopscope.evidence.shell.evaluations import EvaluationFinding, unfitted_run
from loopscope.evidence.shell.rules import EvaluationRule, Role, names_of
from loopscope.evidence.shell.searching import found
from loopscope.evidence.shell.wrappers import PROFILERS

_ASKS = re.compile(r"(?:^| )(?:-h|--?help|-V|--version|--list)(?: |$)")
_MADE = (Outcome.SUCCEEDED, Outcome.UNKNOWN)


def find_unfitted(
    shells: Sequence[ShellCall],
    rules: Sequence[EvaluationRule],
    builds: Sequence[BuildFinding],
    evaluations: Sequence[EvaluationFinding],
) -> list[EvaluationFinding]:
    """Commands that look like evaluations and fit no rule, in order.

    They run a program that a rule names, with arguments that no rule wants; or what a build of the artifact made; or
    they build and run, and print a number that a rule of role `score` looks for. Without rules nothing is told.
    """
    if not rules:
        return []
    known = {(item.position, item.order) for item in evaluations}
    evaluated = {item.position for item in evaluations}
    built = {(item.position, item.order): item for item in builds}
    programs = _Programs(rules)
    unfitted: list[EvaluationFinding] = []
    for shell in shells:
        for command in shell.script.commands:
            place = (shell.position, command.order)
            if command.function is not None or place in known or not shell.outputs or shell.unreached(command):
                continue
            build = built.get(place)
            if build is not None:
                programs.built(shell, command, build)
                looks = build.tool.runs and not build.scratch and shell.position not in evaluated
                looks = looks and build.outcome is Outcome.SUCCEEDED and programs.printed(shell)
            else:
                looks = programs.runs(command)
            if looks and not PROFILERS.intersection(command.wrappers):
                unfitted.append(unfitted_run(shell, command))
    return unfitted


class _Programs:
    """The programs that evaluate: those of the rules, and what was built of the artifact so far."""

    def __init__(self, rules: Sequence[EvaluationRule]) -> None:
        self._rules = rules
        self._named: dict[str, bool] = {}
        self._files: set[str] = set()
        self._places: set[str] = set()

    def built(self, shell: ShellCall, command: SimpleCommand, build: BuildFinding) -> None:
        """Note what a build made."""
        if build.scratch or build.outcome not in _MADE:
            return
        for path in outputs(shell, command, build):
            (self._places if path.endswith("/") else self._files).add(path)

    def printed(self, shell: ShellCall) -> bool:
        """Whether a call shows a number that is looked for."""
        wanted = (rule.value for rule in self._rules if rule.role is Role.SCORE and rule.value is not None)
        return any(found(value, shell.text) for value in wanted)

    def runs(self, command: SimpleCommand) -> bool:
        """Whether a command runs one of the programs, and does not only ask it what it can do."""
        named = any(self._is_named(name) for name in names_of(command))
        if not named and not self._is_made(command):
            return False
        return not _ASKS.search(" ".join(command.arguments))

    def _is_named(self, name: str) -> bool:
        if name not in self._named:
            # What a tool runs may be any program; what it was is seen by what it prints.
            single = " " not in name
            self._named[name] = single and any(rule.program.fullmatch(name) for rule in self._rules)
        return self._named[name]

    def _is_made(self, command: SimpleCommand) -> bool:
        word = command.words[0].text if command.words else ""
        if "/" not in word or not (self._files or self._places):
            return False
        path = command.path(word)
        if path is None:
            return False
        if path in self._files:
            return True
        return not posixpath.splitext(path)[1] and any(place in self._places for place in _around(path))


def _around(path: str) -> Iterator[str]:
    """The directory of a program, and where cargo would have put it."""
    place = posixpath.dirname(path)
    yield f"{place}/"
    if posixpath.basename(place) in ("release", "debug"):
        yield f"{posixpath.dirname(place)}/"
