"""Harbor's environment on one bubblewrap sandbox: no daemon, no image, no network."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from harbor.environments.base import ExecResult, OutputStream
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities
from harbor.environments.options import EnvironmentOptions
from harbor.models.task.config import NetworkMode, NetworkPolicy
from harbor.models.trial.config import ResourceMode

from loopscope.models import Limit
from loopscope.sandbox import bwrap, chroot, toolchain
from loopscope.sandbox.box import Box, not_started
from loopscope.sandbox.dockerfile import Plan, read_dockerfile
from loopscope.sandbox.errors import DockerfileError, SandboxError
from loopscope.sandbox.export import ExportOnStop, LimitsFile
from loopscope.sandbox.files import Files
from loopscope.sandbox.fill import Filler, check_tools
from loopscope.sandbox.holding import enforced
from loopscope.sandbox.leaving import export, keep_files
from loopscope.sandbox.limits import Asked, Limits, default_memory
from loopscope.sandbox.mounted import path_inside, path_on_host
from loopscope.sandbox.options import LocalOptions, parse
from loopscope.sandbox.output import OnText
from loopscope.sandbox.rootfs import SYSTEM_PATH, Scratch, Users, private_root
from loopscope.sandbox.runner import Runner
from loopscope.sandbox.transfers import Transfers


class LocalEnvironment(Transfers):
    """One trial's sandbox. Besides Harbor's own arguments it takes, as environment kwargs, what `LocalOptions` names.

    `export_on_stop` (`path` inside, `file` outside, `max_bytes`) is a directory that `stop` writes as a tar unless the
    file exists already: for what must come out however the trial went. With `limits`, a file outside, also what was
    seen of the limits (`export.LimitsFile`). What lies in `scratch_dir` is removed by `stop(delete=True)`.

    Of the task's environment, or of a study's in its place: `memory_mb` (default: 80 % of what the machine has) and
    `cpus` (default: no limit).
    """

    options_model = LocalOptions

    @classmethod
    def parse_options(cls, kwargs: dict[str, Any] | None = None) -> LocalOptions:
        """Check a study's kwargs without starting anything. ValueError: one line with the field and the remedy."""
        try:
            return parse(kwargs or {})
        except SandboxError as error:
            raise ValueError(str(error)) from None

    @classmethod
    def preflight(cls, kwargs: dict[str, Any] | None = None) -> None:
        """Before any trial. Raises ValueError as above, SandboxUnavailableError where every start would fail alike."""
        super().preflight(kwargs)
        chroot.refuse()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Harbor's own arguments, and the options. Raises SandboxError for an option that makes no sense."""
        known = LocalOptions.model_fields.keys() - EnvironmentOptions.model_fields.keys()
        options = parse({name: value for name, value in kwargs.items() if name in known})
        self._strength = options.limits
        self._pids_limit = options.pids_limit
        self._python_packages = options.python_packages
        self._mounted = options.mounted
        self._private_dirs = options.private_dirs
        self._export_on_stop = ExportOnStop.parse(options.export_on_stop) if options.export_on_stop else None
        self._filled = False
        self._starter: asyncio.Task[Any] | None = None
        self._scratch_dir = options.scratch_dir
        self._runner = Runner()
        self._files = Files(self._runner, options.max_transfer_bytes, self._room, options.transfer_timeout_sec)
        self._storage = options.storage
        self._shm_bytes = options.shm_mb << 20
        self._box: Box | None = None
        self._ids: tuple[int, int] | None = None
        self._toolchain: toolchain.Toolchain | None = None
        self._plan: Plan | None = None
        self._users = Users((), 1)
        self._told_of_users = False
        self.options = options
        super().__init__(*args, **{name: value for name, value in kwargs.items() if name not in known})

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
        """What is enforced on this machine is claimed; nothing is ever reserved."""
        held = enforced()
        return EnvironmentResourceCapabilities(
            cpu_limit="cpu" in held, memory_limit="memory" in held, fractional_cpus=True
        )

    @property
    def ids_mapped(self) -> int:
        """How many user ids exist inside: 65,536 as root, 1 for an ordinary user."""
        return self._ids[1] if self._ids else 1

    def limits(self) -> dict[str, Limit]:
        """By resource: what holds it and what was seen so far; true at any time, and after `stop`."""
        return self._box.read_limits() if self._box else not_started()

    def seen(self) -> LimitsFile:
        """The limits, and whether the sandbox died while somebody used it."""
        return LimitsFile(limits=self.limits(), died=self._runner.died or None)

    def _asked(self) -> Asked:
        memory_mb = self._resource_limit_value("memory", auto_mode=ResourceMode.LIMIT)
        cpus = self._resource_limit_value("cpu", auto_mode=ResourceMode.LIMIT)
        return Asked(memory_mb << 20 if memory_mb else default_memory(), self._pids_limit, cpus)

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
        if self._runner.sandbox is not None:
            raise SandboxError("this sandbox is running already")
        self._starter = asyncio.current_task()
        if self._python_packages:
            self._toolchain = await asyncio.to_thread(toolchain.build, self._python_packages)
        self._runner.env = self._base_env()
        plan = self._plan = read_dockerfile(self.environment_dir / "Dockerfile", self._runner.env)
        check_tools(plan, self._toolchain is not None, path_on_host(self._mounted))
        self._ids = bwrap.choose_ids()
        self._users = Users(plan.users, self.ids_mapped)
        scratch = Scratch(self._scratch_root(), plan.roots | self._more_roots(), self._ids, self._users)
        binds = (*(self._toolchain.binds if self._toolchain else ()), *(tool.bind for tool in self._mounted))
        self._box = Box(self._runner, scratch, self._ids, binds=binds, shm_bytes=self._shm_bytes, logger=self.logger)
        try:
            limits = Limits(self._asked(), self._strength, one_id=self._ids is None)
            await self._box.open(limits, self._storage, self.task_env_config.storage_mb)
            known = self._toolchain.packages if self._toolchain else ()
            await Filler(self._runner, self._files, plan, self._user, frozenset(known)).fill(self._cwd())
            self._filled = True
        except BaseException:
            await asyncio.shield(self.stop(delete=True))
            raise

    def _room(self) -> int | None:
        """Plain directories that are only watched may hold more than was given, and that is to come out."""
        storage = self._box.storage if self._box else None
        return max(storage.bytes, storage.peak) if storage else None

    def _more_roots(self) -> set[str]:
        paths = [*self._private_dirs, self.task_env_config.workdir or ""]
        return {root for path in paths if (root := private_root(path))}

    def _scratch_root(self) -> Path:
        """A short name of our own: sockets in a workspace have short paths."""
        if self._scratch_dir is not None:
            return self._scratch_dir
        trial = self.trial_paths.trial_dir
        if trial.is_dir():
            return trial / f".sandbox-{hashlib.sha256(self.session_id.encode()).hexdigest()[:8]}"
        return Path(tempfile.mkdtemp(prefix="loopscope-sandbox-"))

    async def stop(self, delete: bool) -> None:
        """Kill everything inside; with `delete` remove its files too. May be called at any time, and again."""
        try:
            if self._filled and self._runner.sandbox is not None and not self._is_cancelled():
                if self._export_on_stop is not None:
                    await export(self, self._export_on_stop)
                if not delete and self._box is not None:
                    await keep_files(self, self._box)
        finally:
            if self._box is not None:
                await asyncio.shield(self._box.end(delete))

    def _is_cancelled(self) -> bool:
        """Whether the trial is being cancelled: by the task that started us, for `stop` may run in one of its own."""
        return self._starter is not None and self._starter.cancelling() > 0

    async def freeze(self) -> None:
        """Kill every process that was ever started inside, so that the files can be read at rest.

        The whole sandbox is replaced: a new one, with pristine mounts and nothing running, stands over the same files.
        Only what lay in /dev/shm is gone.
        """
        if self._box is None:
            raise SandboxError("the sandbox was not started")
        await self._box.freeze()

    # -- commands ----------------------------------------------------------------------------------------------------

    def _base_env(self) -> dict[str, str]:
        path = path_inside(
            self._mounted, f"{self._toolchain.bin_dir}:{SYSTEM_PATH}" if self._toolchain else SYSTEM_PATH
        )
        told = {name: value for tool in self._mounted for name, value in tool.env.items()}
        return told | {"PATH": path, "HOME": "/root", "LANG": "C.UTF-8", "TMPDIR": "/tmp", "HOSTNAME": "sandbox"}  # noqa: S108

    def _cwd(self) -> str:
        return self.task_env_config.workdir or (self._plan.workdir if self._plan else "/")

    def _user(self, user: str | int | None) -> tuple[int, int]:
        ids, exists = self._users.ids(user)
        if not exists and not self._told_of_users:
            self._told_of_users = True
            self.logger.warning("user %s does not exist in this sandbox: running as root", user)
        return ids

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
        wanted = self._resolve_user(user)
        uid, gid = self._user(self._plan.user if wanted is None and self._plan else wanted)
        whole = {**self._base_env(), **(self._plan.env if self._plan else {})}
        if uid:
            whole["HOME"] = "/tmp"  # noqa: S108
        whole |= self._merge_env(env) or {}
        callback = self._output_callback()

        def on(stream: OutputStream) -> OnText | None:
            if callback is None:
                return None

            def emit(text: str) -> Awaitable[None]:
                return callback(text, stream)

            return emit

        code, out, err = await self._runner.run(
            ["/bin/bash", "-c", command],
            env=whole,
            cwd=cwd or self._cwd(),
            user=(uid, gid),
            timeout=timeout_sec,
            on_out=on("stdout"),
            on_err=on("stderr"),
        )
        return ExecResult(stdout=out, stderr=err, return_code=code)
