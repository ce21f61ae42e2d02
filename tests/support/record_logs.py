"""Record the logs in `tests/fixtures/logs` by running the real agent CLIs against a scripted model, offline.

    python tests/support/record_logs.py CLIS OUT [claude codex opencode kimi]

`CLIS` is a folder in which the four npm packages were installed (tests/fixtures/logs/README.md has the line). Each CLI runs
in a sandbox without network, in `/app`, as a user whose home is `/home/agent`, on a machine called `box`: nothing of the
recording machine gets into a log. Long texts that are the CLI's own (system prompts, tool descriptions) are shortened.
Needs bubblewrap, git, node and `zstandard`; what runs inside the sandbox needs the standard library only.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from record_clis import CLIS, Cli

HOME = Path("/home/agent")
WORK = Path("/app")
MAX_TEXT = 1000
LONG_LISTS = ("tools", "slash_commands", "skills", "names")
ENVIRONMENT = {
    "HOME": str(HOME),
    "PATH": "/usr/bin:/bin",
    "USER": "agent",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "TZ": "UTC",
    "GIT_AUTHOR_NAME": "agent",
    "GIT_AUTHOR_EMAIL": "agent@example.org",
    "GIT_COMMITTER_NAME": "agent",
    "GIT_COMMITTER_EMAIL": "agent@example.org",
    "GIT_CONFIG_NOSYSTEM": "1",
}


def main(arguments: list[str]) -> int:
    if arguments[0] == "--inside":
        return _inside(CLIS[arguments[1]])
    clis, out = Path(arguments[0]).resolve(), Path(arguments[1]).resolve()
    for name in arguments[2:] or list(CLIS):
        folder = out / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        status = subprocess.run(_sandboxed(name, clis, folder)).returncode
        for path in folder.glob("*.db*"):
            _pack(path)
        print(f"{name}: exit {status}, {sum(path.is_file() for path in folder.rglob('*'))} files")
        if status:
            return status
    return 0


def _sandboxed(name: str, clis: Path, out: Path) -> list[str]:
    """The command that runs the recording of one CLI inside."""
    support = Path(__file__).resolve().parent
    command = ["bwrap", "--tmpfs", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--clearenv"]
    command += [
        "--unshare-net",
        "--unshare-pid",
        "--unshare-uts",
        "--unshare-ipc",
        "--hostname",
        "box",
        "--die-with-parent",
    ]
    for path in ("/usr", "/etc/alternatives", "/etc/ssl"):
        command += ["--ro-bind-try", path, path]
    for link in ("bin", "lib", "lib64", "sbin"):
        command += ["--symlink", f"usr/{link}", f"/{link}"]
    bound = {clis: "/opt/clis", support: "/opt/support", Path(sys.base_prefix): sys.base_prefix}
    for source, target in bound.items():
        command += ["--ro-bind", str(source), target]
    command += ["--bind", str(out), "/out", "--dir", str(WORK), "--dir", str(HOME), "--chdir", str(WORK)]
    for key, value in ENVIRONMENT.items():
        command += ["--setenv", key, value]
    return [*command, f"{sys.base_prefix}/bin/python3", "-B", "/opt/support/record_logs.py", "--inside", name]


def _inside(cli: Cli) -> int:
    from model_server import serving

    subprocess.run(["git", "init", "-q", "-b", "main", str(WORK)], check=True)
    (WORK / "README.md").write_text("A folder to work in.\n")
    with serving(cli.script()) as server:
        cli.prepare(HOME, server.base)
        for number, command in enumerate(cli.commands(HOME)):
            environment = dict(os.environ) | cli.environment(server.base)
            with (Path("/tmp") / f"stream-{number}.jsonl").open("wb") as stream:
                done = subprocess.run(
                    command,
                    cwd=WORK,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    timeout=120,
                    check=False,
                )
            print(f"  {' '.join(command)[:70]}: exit {done.returncode}, {len(server.requests)} requests", flush=True)
    cli.collect(HOME, Path("/tmp"), Path("/out"))
    for path in Path("/out").rglob("*.json*"):
        slim(path)
    print(subprocess.run(["git", "log", "--oneline"], cwd=WORK, capture_output=True, text=True).stdout)
    return 0


def _pack(path: Path) -> None:
    """A database as it was left, with its write-ahead log, is megabytes of empty pages."""
    import zstandard

    if path.suffix != ".db-shm":
        path.with_name(path.name + ".zst").write_bytes(zstandard.ZstdCompressor(level=19).compress(path.read_bytes()))
    path.unlink()


def slim(path: Path) -> None:
    """Shorten what is not the agent's work in a log: system prompts, tool descriptions, lists of skills."""
    lines = []
    for line in path.read_text().splitlines():
        document = json.loads(line) if path.suffix == ".jsonl" else None
        lines.append(
            line if document is None else json.dumps(_shortened(document), separators=(",", ":"), ensure_ascii=False)
        )
    path.write_text("\n".join(lines) + "\n")


def _shortened(value: object, key: str = "") -> object:
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else f"{value[:200]} [... {len(value) - 200} characters left out]"
    if isinstance(value, list):
        return [_shortened(item) for item in (value[:2] if key in LONG_LISTS else value)]
    if isinstance(value, dict):
        return {name: _shortened(item, name) for name, item in value.items()}
    return value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
