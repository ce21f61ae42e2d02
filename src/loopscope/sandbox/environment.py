"""Harbor's environment on one bubblewrap sandbox: no daemon, no image, no network."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities
from harbor.models.task.config import NetworkMode, NetworkPolicy

from loopscope.models.run import LimitState
from loopscope.sandbox import bwrap, toolchain, transfer
from loopscope.sandbox.dockerfile import CopyStep, DirStep, Plan, RunStep, read_dockerfile
from loopscope.sandbox.errors import (
    DockerfileError,
    MissingTools,
    SandboxError,
    SandboxGoneError,
    SandboxUnavailableError,
    TransferError,
    TransferTooLarge,
)
from loopscope.sandbox.fill import entries
from loopscope.sandbox.namespace import Command, Process, Sandbox
from loopscope.sandbox.output import BoundedOutput, OnText, pump
from loopscope.sandbox.rootfs import Scratch, private_root, user_ids

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
RUN_TIMEOUT_SEC = 600.0
_LEFT_OPEN_SEC = 0.25
_TAR = "/usr/bin/tar"
_MAKE_AND_EXTRACT = 'mkdir -p -- "$1" && exec tar -x --same-owner --numeric-owner -p $2 -C "$1" -f -'
_WRITE_FILE = """
target=$1; [ -d "$target" ] && target="${target%/}/$2"
mkdir -p -- "${target%/*}/" && cat > "$target" && chmod "$3" -- "$target" && touch -d "@$4" -- "$target"
"""


class LocalEnvironment(BaseEnvironment):
    """One trial's sandbox. Besides Harbor's own arguments it takes, as environment kwargs:

    scratch_dir: host directory for this sandbox's writable files (default: beside the trial's results, else a
        temporary one); removed by `stop(delete=True)`.
    python_packages: PyPI packages of the python3 that is offered inside (default: numpy); empty for none.
    private_dirs: further directories to make writable inside, such as `/models`.
    max_transfer_bytes: cap of one download (default 2 GiB).
    transfer_timeout_sec: cap of one transfer's time (default 600 s).
    """

    def __init__(
        self,
        *args: Any,
        scratch_dir: str | Path | None = None,
        python_packages: Sequence[str] = toolchain.DEFAULT_PACKAGES,
        private_dirs: Sequence[str] = (),
        max_transfer_bytes: int = 2 << 30,
        transfer_timeout_sec: float = 600.0,
        **kwargs: Any,
    ) -> None:
        self._python_packages = tuple(python_packages)
        self._private_dirs = tuple(private_dirs)
        self._max_transfer_bytes = max_transfer_bytes
        self._transfer_timeout_sec = transfer_timeout_sec
        self._scratch_dir = Path(scratch_dir) if scratch_dir else None
        self._sandbox: Sandbox | None = None
        self._scratch: Scratch | None = None
        self._ids: tuple[int, int] | None = None
        self._toolchain: toolchain.Toolchain | None = None
        self._plan: Plan | None = None
        self._told_of_users = False
        super().__init__(*args, **kwargs)

    # -- what Harbor asks about it -----------------------------------------------------------------------------------

    @staticmethod
    def type() -> str:
        """The name in results."""
        return "local"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """No network at all, whatever the phase; files travel by tar streams."""
        return EnvironmentCapabilities(disable_internet=True, dynamic_network_policy=True, mounted=False)

    @classmethod
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        """No limit is claimed; fractions of a CPU may be asked for."""
        return EnvironmentResourceCapabilities(fractional_cpus=True)

    def limits(self) -> dict[str, LimitState]:
        """What really holds of the limits a record names."""
        absent = dict.fromkeys(("cpus", "memory", "processes", "storage"), LimitState.ABSENT)
        return {"network": LimitState.ENFORCED, **absent}

    def _validate_definition(self) -> None:
        file = self.environment_dir / "Dockerfile"
        if not file.is_file():
            raise DockerfileError(f"{file}: not found; the local sandbox is filled by following it")
        if self._host_mounts:
            raise SandboxError("mounts: the local sandbox shows nothing else of the host; remove `mounts`")

    def validate_network_policy_support(self, network_policy: NetworkPolicy | None = None) -> None:
        """Refuse an allowlist; a task that may use the network gets none here, which is stricter."""
        policy = network_policy or self._network_policy
        if policy.network_mode == NetworkMode.ALLOWLIST:
            hosts = ", ".join(policy.allowed_hosts) or "some hosts"
            raise ValueError(
                f"the local sandbox has no network, and {hosts} should be reachable: agents that call a model from "
                "inside need a gateway or another environment (`environment: docker` in the study file)"
            )
        super().validate_network_policy_support(policy)

    async def _apply_network_policy(self, network_policy: NetworkPolicy) -> None:
        """Nothing to switch: there is never a network."""

    # -- life --------------------------------------------------------------------------------------------------------

    async def start(self, force_build: bool) -> None:
        """Make a fresh sandbox and fill it by the task's Dockerfile.

        Raises MissingTools, DockerfileError or SandboxUnavailableError, each saying what to do.
        """
        if self._sandbox is not None:
            raise SandboxError("this sandbox is running already")
        if self._python_packages:
            self._toolchain = await asyncio.to_thread(toolchain.build, self._python_packages)
        plan = self._plan = read_dockerfile(self.environment_dir / "Dockerfile", self._base_env())
        self._check_tools(plan)
        self._ids = bwrap.choose_ids()
        roots = {root for path in (*self._private_dirs, *self._workdirs()) if (root := private_root(path))}
        self._scratch = Scratch(self._scratch_root(), plan.roots | roots, self._ids[0] if self._ids else None)
        try:
            self._scratch.create()
            await self._launch()
            await self._fill(plan)
            await self._check_modules(plan)
            await self._run(["/usr/bin/mkdir", "-p", "/logs/agent", "/logs/verifier", "/logs/artifacts", self._cwd()])
            await self._run(["/usr/bin/chmod", "777", "/logs/agent", "/logs/verifier", "/logs/artifacts"])
        except BaseException:
            await asyncio.shield(self.stop(delete=True))
            raise

    def _workdirs(self) -> Iterable[str]:
        return [self.task_env_config.workdir] if self.task_env_config.workdir else []

    def _scratch_root(self) -> Path:
        """A short name of our own: sockets in a workspace have short paths."""
        if self._scratch_dir is not None:
            return self._scratch_dir
        trial = self.trial_paths.trial_dir
        if trial.is_dir():
            return trial / f".sandbox-{hashlib.sha256(self.session_id.encode()).hexdigest()[:8]}"
        return Path(tempfile.mkdtemp(prefix="loopscope-sandbox-"))

    async def _launch(self) -> None:
        if self._scratch is None:
            raise SandboxError("the sandbox was not started")
        layout = self._scratch.layout(self._toolchain.binds if self._toolchain else ())
        stage = bwrap.staging_point() if self._ids else ""
        launch = bwrap.build(layout, bwrap.find_bwrap(), self._ids, stage)
        try:
            self._sandbox = await Sandbox.launch(launch)
        except SandboxError as exc:
            raise SandboxUnavailableError(f"no sandbox can be started: {exc}; {bwrap.remedy(str(exc))}") from exc

    async def stop(self, delete: bool) -> None:
        """Kill everything inside; with `delete` remove its files too. May be called at any time, and again."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            await asyncio.shield(sandbox.close())
        scratch = self._scratch
        if delete and scratch is not None:
            self._scratch = None
            await asyncio.shield(asyncio.to_thread(scratch.remove))

    async def freeze(self) -> None:
        """Kill every process that was ever started inside, so that the files can be read at rest.

        The whole sandbox is replaced: a new one, with pristine mounts and nothing running, stands over the same files.
        Only what lay in /dev/shm is gone.
        """
        if self._sandbox is not None:
            await asyncio.shield(self._sandbox.close())
            self._sandbox = None
        await self._launch()

    # -- filling -----------------------------------------------------------------------------------------------------

    def _check_tools(self, plan: Plan) -> None:
        missing = plan.requirements.missing_tools(SYSTEM_PATH)
        if self._toolchain is not None:
            missing = {tool: hint for tool, hint in missing.items() if tool not in ("python", "python3")}
        if missing:
            raise MissingTools(missing, str(plan.path))

    async def _check_modules(self, plan: Plan) -> None:
        known = self._toolchain.packages if self._toolchain else ()
        wanted = {module: hint for module, hint in plan.requirements.modules.items() if module not in known}
        if not wanted:
            return
        script = "import importlib.util as u, sys\nfor m in sys.argv[1:]:\n try: f=u.find_spec(m)\n except ImportError: f=None\n print(m, int(f is not None))"  # noqa: E501
        found = await self.exec(f"python3 -c '{script}' {' '.join(sorted(wanted))}", cwd="/", timeout_sec=60)
        absent = {line.split()[0] for line in (found.stdout or "").splitlines() if line.endswith(" 0")}
        if found.return_code:
            raise MissingTools({"python3": "Debian: apt-get install python3"}, str(plan.path))
        if absent:
            raise MissingTools({f"python module {m}": wanted[m] for m in absent}, str(plan.path))

    async def _fill(self, plan: Plan) -> None:
        pending: list[CopyStep] = []
        for step in plan.steps:
            if isinstance(step, CopyStep):
                pending.append(step)
                continue
            await self._copy(pending, plan)
            pending = []
            if isinstance(step, DirStep):
                if private_root(step.path):
                    await self._checked(
                        f"WORKDIR {step.path}", ["/usr/bin/mkdir", "-p", "--", step.path], plan, step.line
                    )
            else:
                await self._follow(step, plan)
        await self._copy(pending, plan)

    async def _copy(self, steps: Sequence[CopyStep], plan: Plan) -> None:
        if not steps:
            return
        context = self.environment_dir
        with tempfile.TemporaryFile() as archive:
            listed = []
            for step in steps:
                is_dir = not step.into and await self.is_dir(step.dest)
                listed += list(entries(step, context, plan.path, self._ids is None, is_dir))
            await asyncio.to_thread(transfer.pack, listed, archive)
            archive.seek(0)
            await self._extract(archive, "/", touch=False)

    async def _follow(self, step: RunStep, plan: Plan) -> None:
        env = {**self._base_env(), **step.env}
        user = self._user(step.user)
        argv = [*step.shell, step.command]
        await self._checked(f"RUN {step.command[:200]}", argv, plan, step.line, env=env, cwd=step.workdir, user=user)

    async def _checked(self, what: str, argv: Sequence[str], plan: Plan, line: int, **how: Any) -> None:
        code, _, err = await self._run(argv, timeout=RUN_TIMEOUT_SEC, **how)
        if code:
            raise DockerfileError(
                f"{plan.path}:{line}: {what}: exit code {code} in the local sandbox: {err[-1000:].strip()}"
            )

    # -- commands ----------------------------------------------------------------------------------------------------

    def _base_env(self) -> dict[str, str]:
        path = f"{self._toolchain.bin_dir}:{SYSTEM_PATH}" if self._toolchain else SYSTEM_PATH
        return {"PATH": path, "HOME": "/root", "LANG": "C.UTF-8", "TMPDIR": "/tmp", "HOSTNAME": "sandbox"}  # noqa: S108

    def _cwd(self) -> str:
        return self.task_env_config.workdir or (self._plan.workdir if self._plan else "/")

    def _user(self, user: str | int | None) -> tuple[int, int]:
        uid, gid = user_ids(user)
        mapped = self._ids[1] if self._ids else 1
        if max(uid, gid) < mapped:
            return uid, gid
        if not self._told_of_users:
            self._told_of_users = True
            self.logger.warning("user %s does not exist in this sandbox (%d id mapped): running as root", user, mapped)
        return 0, 0

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a shell command inside. Return code 124 after `timeout_sec`; then all that it started is dead.

        Output is kept to 1 MiB at each end of each stream.
        """
        uid, gid = self._user(self._resolve_user(user) or (self._plan.user if self._plan else None))
        whole = {**self._base_env(), **(self._plan.env if self._plan else {})}
        if uid:
            whole["HOME"] = "/tmp"  # noqa: S108
        whole |= self._merge_env(env) or {}
        callback = self._output_callback()

        def on(stream: str) -> OnText | None:
            if callback is None:
                return None
            return lambda text: callback(text, "stdout" if stream == "stdout" else "stderr")

        code, out, err = await self._run(
            ["/bin/bash", "-c", command],
            env=whole,
            cwd=cwd or self._cwd(),
            user=(uid, gid),
            timeout=timeout_sec,
            on_out=on("stdout"),
            on_err=on("stderr"),
        )
        return ExecResult(stdout=out, stderr=err, return_code=code)

    async def _run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str = "/",
        user: tuple[int, int] = (0, 0),
        timeout: float | None = None,
        stdin: int | None = None,
        on_out: OnText | None = None,
        on_err: OnText | None = None,
        into: Sink | None = None,
    ) -> tuple[int, str, str]:
        """(exit code, stdout, stderr) of one program. With `into`, stdout goes there instead."""
        if self._sandbox is None:
            raise SandboxGoneError("the sandbox is not running")
        command = Command(argv, env or self._base_env(), cwd, *user)
        out, err = into or BoundedOutput(), BoundedOutput()
        async with _Started(self._sandbox, command, stdin) as (process, fds):
            pumps = [asyncio.create_task(pump(fds[0], out, on_out)), asyncio.create_task(pump(fds[1], err, on_err))]
            try:
                code = await _deadline(process, pumps, timeout)
            finally:
                for task in pumps:
                    task.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)
        for task in pumps:
            if not task.cancelled() and (failed := task.exception()) is not None:
                raise failed
        return code, out.text(), err.text()

    # -- files -------------------------------------------------------------------------------------------------------

    async def _transfer(self, what: str, argv: Sequence[str], **how: Any) -> None:
        code, _, err = await self._run(argv, timeout=self._transfer_timeout_sec, **how)
        # tar says 1 when a file changed while it was read, which is no failure.
        if code and not (code == 1 and "tar" in argv[0]):
            late = " (timed out)" if code == 124 else ""
            raise TransferError(f"{what}{late}: {err[-500:].strip() or f'exit code {code}'}")

    async def _extract(self, archive: IO[bytes], target: str, touch: bool) -> None:
        argv = ["/bin/sh", "-c", _MAKE_AND_EXTRACT, "sh", target, "-m" if touch else "--delay-directory-restore"]
        await self._transfer(f"upload to {target}", argv, stdin=archive.fileno())

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy one host file; mode and time kept; into `target_path` when that is a directory."""
        source = Path(source_path)
        with source.open("rb") as f:
            found = os.fstat(f.fileno())
            time = f"{found.st_mtime_ns // 10**9}.{found.st_mtime_ns % 10**9:09d}"
            path = str(target_path) if str(target_path).startswith("/") else f"{self._cwd()}/{target_path}"
            argv = ["/bin/sh", "-c", _WRITE_FILE, "sh", path, source.name, f"{found.st_mode & 0o777:o}", time]
            await self._transfer(f"upload {source} to {path}", argv, stdin=f.fileno())

    async def upload_dir(self, source_dir: Path | str, target_dir: str, *, touch: bool = False) -> None:
        """Merge a host directory into one inside. Links travel as links; `touch` gives every file the present time."""
        with tempfile.TemporaryFile() as archive:
            await asyncio.to_thread(transfer.pack, transfer.walk(Path(source_dir)), archive)
            archive.seek(0)
            await self._extract(archive, str(target_dir), touch)

    async def upload_tar(self, archive: IO[bytes], target_dir: str, *, touch: bool = False) -> None:
        """Extract an uncompressed tar, an open file at its beginning, into a directory inside, merging."""
        await self._extract(archive, target_dir, touch)

    async def stream_tar(self, path: str, dest_file: Path | str, max_bytes: int) -> int:
        """Write an uncompressed tar of the directory `path` to a host file; returns its size.

        Raises TransferTooLarge past `max_bytes`, and leaves no file then.
        """
        dest = Path(dest_file)
        try:
            with dest.open("wb") as f:
                return await self._tar_out(path, f, max_bytes)
        except BaseException:
            dest.unlink(missing_ok=True)
            raise

    async def _tar_out(self, path: str, out: IO[bytes], max_bytes: int, extra: Sequence[str] = ()) -> int:
        sink = Sink(out, path, max_bytes)
        argv = [_TAR, "-c", "--format=posix", "--sort=name", "--hard-dereference", "--no-auto-compress", *extra]
        argv += ["-f", "-", "-C", path, "."]
        await self._transfer(f"download {path}", argv, into=sink)
        return sink.total

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy one file out. A link is resolved inside; anything but a regular file is refused."""
        with tempfile.TemporaryFile() as archive:
            path = str(source_path) if str(source_path).startswith("/") else f"{self._cwd()}/{source_path}"
            sink = Sink(archive, path, self._max_transfer_bytes)
            argv = [_TAR, "-c", "--format=posix", "--dereference", "--hard-dereference", "-P", "-f", "-", "--", path]
            await self._transfer(f"download {path}", argv, into=sink)
            archive.seek(0)
            target, cap = Path(target_path), self._max_transfer_bytes
            await asyncio.to_thread(transfer.unpack_file, archive, target, label=path, max_bytes=cap)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy a directory out, merging. Special files and links that lead elsewhere are left out, and logged."""
        await self._download(source_dir, target_dir, ())

    async def download_dir_with_exclusions(
        self, *, source_dir: str, target_dir: Path | str, exclude: list[str]
    ) -> None:
        """The same without what matches tar's `exclude` patterns."""
        await self._download(source_dir, target_dir, [f"--exclude={pattern}" for pattern in exclude])

    async def _download(self, source_dir: str, target_dir: Path | str, extra: Sequence[str]) -> None:
        with tempfile.TemporaryFile() as archive:
            await self._tar_out(str(source_dir), archive, self._max_transfer_bytes, extra)
            archive.seek(0)
            target, cap = Path(target_dir), self._max_transfer_bytes
            done = await asyncio.to_thread(transfer.unpack, archive, target, label=source_dir, max_bytes=cap)
        if done.skipped:
            self.logger.warning("%s: %d entries left out: %r", source_dir, len(done.skipped), done.skipped[:10])


class Sink(BoundedOutput):
    """A stream that goes to a host file, with a hard cap."""

    def __init__(self, out: IO[bytes], label: str, max_bytes: int) -> None:
        super().__init__(keep=0)
        self._out = out
        self._label = label
        self._max_bytes = max_bytes

    def add(self, chunk: bytes) -> None:
        """Write the next bytes. Raises TransferTooLarge past the cap."""
        self.total += len(chunk)
        if self.total > self._max_bytes:
            raise TransferTooLarge(self._label, self._max_bytes)
        self._out.write(chunk)

    def text(self) -> str:
        """Nothing is kept."""
        return ""


class _Started:
    """A command with its pipes; when the block is left, nothing of it is left running on our account."""

    def __init__(self, sandbox: Sandbox, command: Command, stdin: int | None) -> None:
        self._sandbox = sandbox
        self._command = command
        self._stdin = stdin
        self._process: Process | None = None

    async def __aenter__(self) -> tuple[Process, tuple[int, int]]:
        out_r, out_w = os.pipe2(os.O_CLOEXEC)
        err_r, err_w = os.pipe2(os.O_CLOEXEC)
        null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        try:
            stdin = null if self._stdin is None else self._stdin
            self._process = await self._sandbox.spawn(self._command, stdin, out_w, err_w)
        except BaseException:
            os.close(out_r)
            os.close(err_r)
            raise
        finally:
            for fd in (out_w, err_w, null):
                os.close(fd)
        return self._process, (out_r, err_r)

    async def __aexit__(self, *failure: object) -> None:
        if self._process is None:
            return
        try:
            await asyncio.shield(self._process.kill())
        finally:
            self._process.close()


async def _deadline(process: Process, pumps: Sequence[asyncio.Task[None]], timeout: float | None) -> int:
    """The exit code, 124 after the timeout. A pump that fails (a cap was passed) ends the wait at once."""
    ended = asyncio.create_task(process.wait())
    try:
        async with asyncio.timeout(timeout):
            waiting: set[asyncio.Task[Any]] = {ended, *pumps}
            while not ended.done():
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if any(task is not ended and task.exception() for task in done):
                    return 125
            code = ended.result()
    except TimeoutError:
        await process.kill()
        code = 124
    finally:
        ended.cancel()
        with contextlib.suppress(asyncio.CancelledError, SandboxError):
            await ended
    # A process left in the background may hold the pipes open for ever; what was written so far is there at once.
    await asyncio.wait(pumps, timeout=_LEFT_OPEN_SEC)
    return code
