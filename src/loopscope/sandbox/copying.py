"""COPY of a Dockerfile: which files of the build context go where in a sandbox."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from pathlib import Path

from loopscope.sandbox.dockerfile import CopyStep
from loopscope.sandbox.errors import DockerfileError
from loopscope.sandbox.rootfs import private_root
from loopscope.sandbox.transfer import Entry


def ignore_rules(context: Path) -> list[tuple[bool, str]]:
    """Rules of `.dockerignore`, in order, as (ignored, pattern)."""
    file = context / ".dockerignore"
    if not file.is_file():
        return []
    lines = (line.strip() for line in file.read_text(encoding="utf-8", errors="replace").splitlines())
    rules = [(not line.startswith("!"), line.lstrip("!").strip("/")) for line in lines if line and line[0] != "#"]
    return [(ignored, pattern) for ignored, pattern in rules if pattern]


def is_ignored(name: str, rules: list[tuple[bool, str]]) -> bool:
    """Whether the last rule that matches `name` or one of its parents leaves it out."""
    parents = [name]
    while "/" in parents[-1]:
        parents.append(parents[-1].rsplit("/", 1)[0])
    ignored = False
    for ignores, pattern in rules:
        anywhere = pattern.removeprefix("**/")
        tails = [p.rsplit("/", 1)[-1] for p in parents] if anywhere != pattern else []
        if any(_same_depth(p, pattern) for p in parents) or any(fnmatch.fnmatchcase(t, anywhere) for t in tails):
            ignored = ignores
    return ignored


def _same_depth(name: str, pattern: str) -> bool:
    return name.count("/") == pattern.count("/") and fnmatch.fnmatchcase(name, pattern)


def entries(step: CopyStep, context: Path, where: Path, owner: tuple[int, int], is_dir_inside: bool) -> Iterator[Entry]:
    """The archive of one COPY, names relative to /. `owner`: the ids inside that its files get."""
    rules = ignore_rules(context)
    uid, gid = owner
    if private_root(step.dest) is None:
        raise DockerfileError(f"{where}:{step.line}: {step.dest} is read-only in the local sandbox; copy below /app")
    base = step.dest.strip("/")
    for pattern in step.sources:
        found = _sources(context, pattern)
        if not found:
            raise DockerfileError(f"{where}:{step.line}: COPY {pattern}: no such file in {context}")
        for source in found:
            if source.is_dir():
                yield Entry(source, base, uid, gid, 0o755)
                yield from _tree(source, base, context, rules, (uid, gid, step.mode))
            elif not is_ignored(source.relative_to(context).as_posix(), rules):
                name = f"{base}/{source.name}" if step.into or len(found) > 1 or is_dir_inside else base
                yield Entry(source, name, uid, gid, step.mode)


def _tree(
    folder: Path, base: str, context: Path, rules: list[tuple[bool, str]], given: tuple[int, int, int | None]
) -> Iterator[Entry]:
    uid, gid, mode = given
    for path in sorted(folder.rglob("*")):
        if not is_ignored(path.relative_to(context).as_posix(), rules):
            name = f"{base}/{path.relative_to(folder).as_posix()}"
            yield Entry(path, name, uid, gid, None if path.is_symlink() or path.is_dir() else mode)


def _sources(context: Path, pattern: str) -> list[Path]:
    """Files and directories of the context that a COPY source names; links out of it are refused."""
    relative = pattern.strip("/")
    relative = "." if relative in ("", ".") else relative
    found = [context] if relative == "." else sorted(context.glob(relative)) if relative else []
    root = context.resolve()
    for path in found:
        if path.resolve() != root and root not in path.resolve().parents:
            raise DockerfileError(f"COPY {pattern}: {path} leads out of {context}")
    return found
