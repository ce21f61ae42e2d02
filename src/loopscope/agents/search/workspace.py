"""The agent's hands: commands and file writes in the sandbox, each one a step of the transcript."""

from __future__ import annotations

import math
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harbor.environments.base import BaseEnvironment

from loopscope.agents.atif import Call, TranscriptWriter, artifact_state, clip
from loopscope.agents.git import COMMIT_FAILED, GIT_ENV, INITIAL_COMMAND, commit_command, sha_of
from loopscope.agents.search.evaluation import judge, read_score
from loopscope.models.annotation import StepAnnotation, StepKind, StepStatus

JOURNAL = "output/journal.md"
MAX_FILE = 1_000_000
"""Bytes of a file that is still worth mutating."""
_GRACE_SEC = 10
_KILLED = 124
"""Exit code of a command that was stopped at its timeout."""
_UPLOAD = "/tmp/.edit"  # noqa: S108 - in the sandbox, whose /tmp is private
_ASIDE = "/tmp/.aside"  # noqa: S108 - the same

_ENV = GIT_ENV | {"PYTHONDONTWRITEBYTECODE": "1"}
"""Python takes a cached module for fresh when its source has the same size and second: two quick edits of a digit."""


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    status: StepStatus
    output: str
    exit_code: int
    seconds: float


class Workspace:
    """The work dir of one run.

    Attributes:
        files: editable files as they now stand in the sandbox.
        round: round that the next calls belong to.
    """

    def __init__(
        self, environment: BaseEnvironment, transcript: TranscriptWriter, lower_is_better: bool = False
    ) -> None:
        self._environment = environment
        self._transcript = transcript
        self.lower_is_better = lower_is_better
        self.files: dict[str, bytes] = {}
        self.round: int | None = None
        self._workdir = ""

    async def bash(self, command: str, kind: StepKind, timeout_sec: float = 60, note: str = "") -> Outcome:
        """Run a command in the work dir; past the timeout everything it started is killed."""
        started = datetime.now(UTC)
        seconds = max(1.0, timeout_sec)
        wrapped = f"timeout -k 1 {seconds:.1f} bash -c {shlex.quote(command)}"
        try:
            result = await self._environment.exec(wrapped, env=_ENV, timeout_sec=math.ceil(seconds) + _GRACE_SEC)
            output, code = f"{result.stdout or ''}{result.stderr or ''}", result.return_code
        except (TimeoutError, RuntimeError) as error:
            output, code = f"no answer from the environment: {error}", 124
        status = judge(kind, code, output)
        measured = read_score(output, self.lower_is_better) if kind is StepKind.EVALUATE and code == 0 else None
        if kind is StepKind.EVALUATE and code == 0 and measured is None:
            status = StepStatus.RUNTIME_FAILURE
        score = measured.text if measured else None
        self._record("bash", {"command": command}, output, code, started, kind, status, note, score)
        return Outcome(status, output, code, (datetime.now(UTC) - started).total_seconds())

    async def probe(self, command: str) -> str:
        """Standard output of a look that is not worth a step of its own (file lists, ids)."""
        result = await self._environment.exec(command, env=GIT_ENV, timeout_sec=60)
        return (result.stdout or "") if result.return_code == 0 else ""

    async def aside(self, files: Mapping[str, bytes], command: str, timeout_sec: float) -> tuple[str, int]:
        """Output and exit code of a command run on a copy of the work dir in which the editable files are these.

        The work dir stays as it is. To the transcript it is a look at something else: its kind is `inspect`, the
        command as a whole succeeds, and what was printed went to a file.
        """
        await self.probe(f"rm -rf {_ASIDE} && cp -a . {_ASIDE}")
        for name in sorted(files):
            if self.files.get(name) != files[name]:
                await self._put(name, files[name], append=False, folder=_ASIDE)
        await self.bash(
            f"(cd {_ASIDE} && {command}) >{_ASIDE}.out 2>&1; echo $? >{_ASIDE}.code", StepKind.INSPECT, timeout_sec
        )
        code = (await self.probe(f"cat {_ASIDE}.code")).strip()
        output = await self.probe(f"cat {_ASIDE}.out")
        await self.probe(f"rm -rf {_ASIDE} {_ASIDE}.out {_ASIDE}.code")
        return output, int(code) if code else _KILLED

    async def load(self, names: Sequence[str]) -> None:
        """Read the editable files. What is missing, too large or no text is not edited."""
        with tempfile.TemporaryDirectory() as scratch:
            for index, name in enumerate(names):
                target = Path(scratch) / str(index)
                try:
                    await self._environment.download_file(await self._absolute(name), target)
                except (OSError, RuntimeError):
                    continue
                data = target.read_bytes()
                if len(data) <= MAX_FILE and b"\0" not in data:
                    self.files[name] = data

    async def write(self, files: Mapping[str, bytes], kind: StepKind, summary: str) -> None:
        """Give the editable files these contents; only those that differ are written, one step each."""
        for name in sorted(files):
            if self.files.get(name) != files[name]:
                await self._put(name, files[name], append=False)
                self.files[name] = files[name]
                self._edited(name, kind, summary)

    async def journal(self, entry: str) -> None:
        """Append an entry to the journal."""
        await self._put(JOURNAL, entry.encode(errors="replace"), append=True)
        self._edited(JOURNAL, StepKind.JOURNAL, entry)

    async def begin(self) -> None:
        """Make the repository and the initial commit, of everything as it was found."""
        await self._commit(INITIAL_COMMAND)

    async def commit(self, message: str) -> None:
        """Commit editable files and journal; products of builds stay outside."""
        await self._commit(commit_command(message, [*sorted(self.files), JOURNAL]))

    async def _commit(self, command: str) -> None:
        started = datetime.now(UTC)
        result = await self._environment.exec(f"{command} && git rev-parse HEAD", env=GIT_ENV, timeout_sec=60)
        lines = (result.stdout or "").strip().splitlines()
        sha = sha_of(lines[-1]) if lines and result.return_code == 0 else None
        output = f"{result.stdout or ''}{result.stderr or ''}"
        status = StepStatus.OK if sha else COMMIT_FAILED
        arguments = {"command": f"{command} && git rev-parse HEAD"}
        self._record("bash", arguments, output, result.return_code, started, StepKind.COMMIT, status, commit=sha)

    async def _absolute(self, name: str) -> str:
        if not self._workdir:
            self._workdir = (await self.probe("pwd")).strip() or "/"
        return f"{self._workdir.rstrip('/')}/{name}"

    async def _put(self, name: str, data: bytes, append: bool, folder: str | None = None) -> None:
        """Through `cat`, so that mode, owner and links of the file stay as they are and its time is the sandbox's."""
        with tempfile.NamedTemporaryFile() as local:
            local.write(data)
            local.flush()
            await self._environment.upload_file(local.name, _UPLOAD)
        path = shlex.quote(f"{folder}/{name}" if folder else await self._absolute(name))
        arrow = ">>" if append else ">"
        command = f'mkdir -p "$(dirname {path})" && cat {_UPLOAD} {arrow} {path}; code=$?; rm -f {_UPLOAD}; exit $code'
        result = await self._environment.exec(command, timeout_sec=60)
        if result.return_code != 0:
            raise OSError(f"{name}: cannot be written in the sandbox: {(result.stderr or '').strip()[:200]}")

    def _edited(self, name: str, kind: StepKind, summary: str) -> None:
        arguments = {"path": name, "change": clip(summary, 4000)}
        self._record("edit", arguments, f"{name} written", 0, datetime.now(UTC), kind, StepStatus.OK)

    def _record(
        self,
        tool: str,
        arguments: dict[str, str],
        output: str,
        exit_code: int,
        started: datetime,
        kind: StepKind,
        status: StepStatus,
        note: str = "",
        score: str | None = None,
        commit: str | None = None,
    ) -> None:
        state = artifact_state(self.files) if self.files else None
        annotation = StepAnnotation(kind=kind, status=status, state=state, commit=commit, score=score, round=self.round)
        self._transcript.record(Call(tool, dict(arguments), output, exit_code, started, annotation, note))
