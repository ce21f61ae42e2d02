"""Which state of the artifact an evaluation measured: the sources as they are, or what a binary or model came from."""

from __future__ import annotations

import posixpath

from loopscope.evidence.artifact.products import outputs
from loopscope.evidence.artifact.variants import in_words, told
from loopscope.evidence.artifact.world import Snapshot, World, flagged
from loopscope.evidence.shell.builds import NOT_MADE, UP_TO_DATE, BuildFinding
from loopscope.evidence.shell.calls import ShellCall
from loopscope.evidence.shell.commands import SimpleCommand, resolve
from loopscope.evidence.shell.evaluations import EvaluationFinding
from loopscope.evidence.shell.rules import EvaluationRule, names_of

_SCRIPTS = (".py", ".sh", ".js", ".rb", ".pl")

Measured = tuple[Snapshot | None, bool, str]
"""(the state, None where there is none; whether that is sure; why)."""


def measured_state(
    world: World, shell: ShellCall, command: SimpleCommand, evaluation: EvaluationFinding, build: BuildFinding | None
) -> Measured:
    """The state that an evaluation measured.

    Args:
        world: as the command finds it.
        shell: the call.
        command: of the call, which evaluates.
        evaluation: what was found of it.
        build: the same command as a build, where it is one.
    """
    if build is not None:
        return _built_and_run(world, shell, command, build)
    path = measured_file(world, evaluation.rule, command) or _binary(command, evaluation)
    if path is None:
        return world.snapshot(), True, "it reads the sources as they are"
    product, name = world.product(path), posixpath.basename(path)
    if product is None:
        return (), False, f"nothing was seen to build {name}"
    if product.snapshot is None:
        return None, product.certain, f"{name} was put in its place from elsewhere"
    reason = f"{name} was built in message {product.index}{in_words(product.snapshot)}"
    return product.snapshot, product.certain, reason


def _built_and_run(world: World, shell: ShellCall, command: SimpleCommand, build: BuildFinding) -> Measured:
    flags, certain = told(shell, command, build, world)
    snapshot = flagged(world.snapshot(), flags)
    if build.outcome in NOT_MADE:
        return None, certain, "its build failed"
    if build.signature == UP_TO_DATE:
        made = [world.product(item) for item in outputs(shell, command, build)]
        if made and made[0] is not None and made[0].snapshot != snapshot:
            reason = f"nothing was compiled; what it ran was built in message {made[0].index}"
            return made[0].snapshot, False, reason
    return snapshot, certain, f"it builds and runs the sources as they are{in_words(snapshot)}"


def measured_file(world: World, rule: EvaluationRule, command: SimpleCommand) -> str | None:
    """The file that a rule measures instead of the sources; None where it names none."""
    return resolve(world.scope.root or command.cwd, rule.measures) if rule.measures else None


def _binary(command: SimpleCommand, evaluation: EvaluationFinding) -> str | None:
    """The compiled program that an evaluation runs; None for a script."""
    name = names_of(command)[0]
    return None if name.endswith(_SCRIPTS) or " " in name else evaluation.program
