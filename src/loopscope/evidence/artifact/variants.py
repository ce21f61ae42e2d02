"""Programs that are built of the same files with other flags than the files say: candidates of their own."""

from __future__ import annotations

from loopscope.evidence.artifact.world import Snapshot, World, unflagged
from loopscope.evidence.shell.build_flags import build_flags, departing
from loopscope.evidence.shell.builds import BuildFinding
from loopscope.evidence.shell.calls import ShellCall
from loopscope.evidence.shell.commands import SimpleCommand, resolve

_STEERING = ("Makefile", "makefile", "GNUmakefile", "Cargo.toml", ".cargo/config.toml")


def told(shell: ShellCall, command: SimpleCommand, build: BuildFinding, world: World) -> tuple[str, bool]:
    """(What a build is told that its files do not say, always in the same form; whether all of it is known)."""
    given = () if build.scratch else build_flags(shell, command, build.tool)
    if not given:
        return "", True
    flags = departing(given, _texts(world, build.tool.directory))
    return " ".join(map(str, flags)), all(item.literal for item in flags)


def _texts(world: World, directory: str | None) -> dict[str, str]:
    """What is known of the artifact's files, and of those that steer a build in a directory."""
    steering = (resolve(directory, name) for name in _STEERING)
    keys = {*world.scope.files, *world.working(), *(world.key(path) for path in steering if path)}
    return {key: text for key in sorted(keys) if (text := world.files.get(key).text) is not None}


def in_words(snapshot: Snapshot | None) -> str:
    """The flags of a state, to be said behind what it is."""
    return f", with {snapshot[-1][1]}" if snapshot and unflagged(snapshot) != snapshot else ""
