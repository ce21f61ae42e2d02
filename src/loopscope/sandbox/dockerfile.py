"""Reads a task's Dockerfile as a list of steps that a sandbox on the host's own tools can follow."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from dockerfile_parse import DockerfileParser

from loopscope.models.task import GIT_LAYER
from loopscope.sandbox.errors import DockerfileError
from loopscope.sandbox.requirements import Requirements
from loopscope.sandbox.rootfs import mentioned_roots
from loopscope.sandbox.shellsteps import added_user, without_installs

_IGNORED = frozenset(
    ["CMD", "ENTRYPOINT", "EXPOSE", "LABEL", "HEALTHCHECK", "STOPSIGNAL", "MAINTAINER", "ONBUILD", "COMMENT", "VOLUME"]
)
_VARIABLE = re.compile(r"\\.|\$(?:(\w+)|\{(\w+)(?::([-+])([^}]*))?\})")
_PIECE = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|(?:\\.|[^'"\\])+""", re.DOTALL)
_WORD = re.compile(r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+""", re.DOTALL)


@dataclass(frozen=True)
class CopyStep:
    """COPY or ADD of local files: `sources` relative to the build context, `dest` absolute inside."""

    sources: tuple[str, ...]
    dest: str
    into: bool
    """`dest` is a directory that receives the sources by their names."""
    owner: str | None
    mode: int | None
    line: int


@dataclass(frozen=True)
class RunStep:
    """A command to run inside; package installations are taken out already."""

    command: str
    shell: tuple[str, ...]
    workdir: str
    env: Mapping[str, str]
    user: str | None
    line: int


@dataclass(frozen=True)
class DirStep:
    """WORKDIR: the directory is made if it is absent."""

    path: str
    line: int


Step = CopyStep | RunStep | DirStep


@dataclass
class Plan:
    """What to do to fill a sandbox, and what it must offer."""

    path: Path
    steps: list[Step] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    """From ENV, on top of the sandbox's own environment."""
    workdir: str = "/"
    user: str | None = None
    requirements: Requirements = field(default_factory=Requirements)
    roots: set[str] = field(default_factory=set)
    """Directories that must be writable inside."""
    users: list[tuple[str, int | None]] = field(default_factory=list)
    """Users that the image adds: (name, uid where it is given)."""


@dataclass(frozen=True)
class _Instruction:
    name: str
    value: str
    line: int


class _Reader:
    def __init__(self, path: Path, base_env: Mapping[str, str]) -> None:
        self.plan = Plan(path)
        self.base_env = dict(base_env)
        self.args: dict[str, str] = {}
        self.global_args: dict[str, str] = {}
        self.shell: tuple[str, ...] = ("/bin/sh", "-c")

    def fail(self, at: _Instruction, why: str) -> DockerfileError:
        return DockerfileError(f"{self.plan.path}:{at.line}: {at.name} {at.value[:80]}: {why}")

    def env(self) -> dict[str, str]:
        return {**self.args, **self.base_env, **self.plan.env}

    def fill(self, text: str, values: Mapping[str, str] | None = None) -> str:
        """Replace $NAME, ${NAME}, ${NAME:-word} and ${NAME:+word} outside single quotes, and take quotes off."""
        known = self.env() if values is None else values

        def variable(found: re.Match[str]) -> str:
            name, sign, word = found[1] or found[2], found[3], found[4]
            if name is None:
                return found[0][1]
            if sign == "-":
                return known.get(name) or word
            if sign == "+":
                return word if known.get(name) else ""
            return known.get(name, "")

        def piece(found: re.Match[str]) -> str:
            text = found[0]
            if text[0] == "'":
                return text[1:-1]
            return _VARIABLE.sub(variable, text[1:-1] if text[0] == '"' else text)

        return _PIECE.sub(piece, text)

    def absolute(self, path: str) -> str:
        joined = PurePosixPath(self.plan.workdir, path)
        if ".." in joined.parts:
            raise DockerfileError(f"{self.plan.path}: {path!r}: write the path without '..'")
        return str(joined)

    def read(self, instructions: list[_Instruction]) -> Plan:
        for at in instructions:
            if at.name in _IGNORED:
                continue
            handler = getattr(self, f"on_{at.name.lower()}", None)
            if handler is None:
                raise self.fail(at, "not an instruction that the local sandbox follows (here-documents included)")
            if at.name in ("RUN", "COPY", "ADD") and re.search(r"<<-?['\"]?\w", at.value):
                raise self.fail(at, "here-documents are not followed by the local sandbox; put the text in a file")
            handler(at)
        return self.plan

    def on_from(self, at: _Instruction) -> None:
        image = self.fill(_image(at.value), self.global_args)
        self.plan.requirements.add_image(image)
        self.args = {}

    def on_arg(self, at: _Instruction) -> None:
        for word in _WORD.findall(at.value):
            name, _, default = word.partition("=")
            self.args[name] = self.fill(default) if default else self.global_args.get(name, "")

    def on_env(self, at: _Instruction) -> None:
        if re.match(r"\w+\s+[^=]", at.value) and "=" not in at.value.split(None, 1)[0]:
            name, text = at.value.split(None, 1)
            self.plan.env[name] = self.fill(text)
            return
        known = self.env()
        for word in _WORD.findall(at.value):
            name, _, text = word.partition("=")
            self.plan.env[name] = self.fill(text, known)

    def on_workdir(self, at: _Instruction) -> None:
        self.plan.workdir = self.absolute(self.fill(at.value.strip()))
        self.plan.steps.append(DirStep(self.plan.workdir, at.line))

    def on_user(self, at: _Instruction) -> None:
        self.plan.user = self.fill(at.value).split(":")[0]

    def on_shell(self, at: _Instruction) -> None:
        try:
            self.shell = tuple(str(word) for word in json.loads(at.value))
        except ValueError as exc:
            raise self.fail(at, "SHELL takes a JSON list") from exc

    def on_run(self, at: _Instruction) -> None:
        text = re.sub(r"^(\s*--(mount|network|security)=\S+)+\s*", "", at.value)
        if text.startswith(GIT_LAYER):
            return
        shell = self.shell
        if text.startswith("["):
            with contextlib.suppress(ValueError):  # else a shell command that begins with a test: [ -f x ] && ...
                text, shell = shlex.join(str(word) for word in json.loads(text)), ("/bin/sh", "-c")
        command, installs = without_installs(text)
        for install in installs:
            self.plan.requirements.add_install(install, self.plan.path.parent)
            if user := added_user(install):
                self.plan.users.append(user)
        if command:
            step = RunStep(command, shell, self.plan.workdir, self.env(), self.plan.user, at.line)
            self.plan.steps.append(step)

    def on_copy(self, at: _Instruction) -> None:
        flags, words = _copy_words(at.value)
        words = [self.fill(word) for word in words]
        if "from" in flags:
            raise self.fail(at, "multi-stage builds are not followed by the local sandbox; use `environment: docker`")
        if len(words) < 2:
            raise self.fail(at, "needs a source and a destination")
        *sources, dest = words
        if at.name == "ADD" and (bad := [s for s in sources if re.match(r"\w+://|git@", s)]):
            raise self.fail(at, f"{bad[0]}: there is no network in the local sandbox; keep the file in environment/")
        if at.name == "ADD" and (bad := [s for s in sources if re.search(r"\.(tar|tgz|tar\.\w+)$", s)]):
            raise self.fail(at, f"{bad[0]}: archives are not unpacked; keep the files in environment/")
        mode = flags.get("chmod")
        if mode is not None and not re.fullmatch(r"0?[0-7]{3,4}", mode):
            raise self.fail(at, f"--chmod={mode}: give an octal number")
        into = dest.endswith("/") or dest == "." or len(sources) > 1
        place = self.absolute(dest)
        octal = None if mode is None else int(mode, 8)
        self.plan.steps.append(CopyStep(tuple(sources), place, into, flags.get("chown"), octal, at.line))

    on_add = on_copy


def _image(value: str) -> str:
    return next((word for word in value.split() if not word.startswith("--")), "")


def _copy_words(value: str) -> tuple[dict[str, str], list[str]]:
    """Flags (`--chown=...`) and the remaining words, in either form of COPY."""
    flags: dict[str, str] = {}
    while (found := re.match(r"\s*--([\w-]+)(?:=(\S+))?\s+", value)) is not None:
        flags[found[1]] = found[2] or ""
        value = value[found.end() :]
    if value.lstrip().startswith("["):
        try:
            return flags, [str(word) for word in json.loads(value)]
        except ValueError:
            pass
    return flags, _WORD.findall(value)


def _stages(instructions: list[_Instruction]) -> tuple[list[_Instruction], list[list[_Instruction]]]:
    """What stands before the first FROM, and the stages, each beginning with its FROM."""
    head: list[_Instruction] = []
    stages: list[list[_Instruction]] = []
    for at in instructions:
        if at.name == "FROM":
            stages.append([at])
        else:
            (stages[-1] if stages else head).append(at)
    return head, stages


def _final_chain(stages: list[list[_Instruction]]) -> list[_Instruction]:
    """The last stage, after those it is built FROM by name."""
    names: dict[str, list[_Instruction]] = {}
    for stage in stages:
        words = stage[0].value.split()
        base = names.get(_image(stage[0].value).lower(), [])
        whole = [*base, *(stage[1:] if base else stage)]
        if len(words) >= 3 and words[-2].lower() == "as":
            names[words[-1].lower()] = whole
        last = whole
    return last


def read_dockerfile(path: Path, base_env: Mapping[str, str]) -> Plan:
    """The plan of the Dockerfile at `path`. `base_env` is the sandbox's own environment, for `$PATH` in ENV.

    Raises DockerfileError, naming the line, for what cannot be followed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DockerfileError(f"{path}: not found; the local sandbox is filled by following it") from None
    except UnicodeDecodeError as exc:
        raise DockerfileError(f"{path}: not UTF-8 text: {exc}") from exc
    parsed = DockerfileParser(fileobj=io.BytesIO(text.encode())).structure
    instructions = [
        _Instruction(str(s["instruction"]).upper(), str(s["value"]), int(s["startline"]) + 1) for s in parsed
    ]
    head, stages = _stages(instructions)
    if not stages:
        raise DockerfileError(f"{path}: no FROM")
    reader = _Reader(path, base_env)
    for at in head:
        if at.name == "ARG":
            reader.on_arg(at)
    reader.global_args = dict(reader.args)
    plan = reader.read(_final_chain(stages))
    plan.roots = mentioned_roots(text)
    for step in plan.steps:
        if isinstance(step, CopyStep | DirStep):
            plan.roots |= mentioned_roots(step.dest if isinstance(step, CopyStep) else step.path)
    return plan
