"""Commands and files through Harbor's interface."""

from __future__ import annotations

import asyncio
import os
import sys
import tarfile
from pathlib import Path

import pytest
from harbor.models.task.config import EnvironmentConfig, NetworkMode, NetworkPolicy
from sandboxes import PLAIN, environment, inside, running, says

from loopscope.models.run import LimitState
from loopscope.sandbox.environment import LocalEnvironment
from loopscope.sandbox.errors import DockerfileError, MissingTools, SandboxError, TransferError, TransferTooLarge

pytestmark = pytest.mark.sandbox


@inside()
async def test_exec(env: LocalEnvironment, tmp_path: Path) -> None:
    result = await env.exec("echo out; echo err >&2; printf '\\xff\\xfe'; pwd; exit 3")
    assert (result.stdout, result.stderr, result.return_code) == ("out\n\ufffd\ufffd/app\n", "err\n", 3)
    assert (await env.exec("kill -TERM $$")).return_code == 143
    assert (await env.exec("cat", timeout_sec=20)).stdout == ""  # standard input is empty
    missing = await env.exec("true", cwd="/nowhere")
    assert missing.return_code == 126 and "/nowhere" in (missing.stderr or "")
    assert await says(env, "pwd", cwd="/tmp") == "/tmp"
    assert await says(env, "echo $X", env={"X": "a 'b'\n"}) == "a 'b'"


@inside()
async def test_many_commands_at_once(env: LocalEnvironment, tmp_path: Path) -> None:
    answers = await asyncio.gather(
        *(says(env, f"echo {i}; cat /dev/urandom | head -c 200000 | wc -c") for i in range(40))
    )
    assert answers == [f"{i}\n200000" for i in range(40)]


@inside()
async def test_a_flood_of_output_is_bounded_and_the_end_is_kept(env: LocalEnvironment, tmp_path: Path) -> None:
    result = await env.exec("yes | head -c 30000000; echo; echo the end")
    assert len(result.stdout or "") < 2_200_000 and "bytes omitted" in (result.stdout or "")
    assert (result.stdout or "").endswith("the end\n")


@inside()
async def test_output_arrives_while_the_command_runs(env: LocalEnvironment, tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []

    async def on_text(text: str, stream: str) -> None:
        seen.append((stream, text))
        if text == "ask\n":
            (tmp_path / "answer").write_text("go")
            await env.upload_file(tmp_path / "answer", "/tmp/answer")

    with env.scoped_output_callback(on_text):
        result = await env.exec("echo ask; until [ -e /tmp/answer ]; do :; done; echo told >&2", timeout_sec=60)
    assert result.return_code == 0 and seen == [("stdout", "ask\n"), ("stderr", "told\n")]


@inside()
async def test_a_failing_callback_ends_the_command(env: LocalEnvironment, tmp_path: Path) -> None:
    async def on_text(text: str, stream: str) -> None:
        raise RuntimeError("no")

    with env.scoped_output_callback(on_text), pytest.raises(RuntimeError, match="no"):
        await env.exec("echo x; sleep 1000")
    assert await says(env, "pgrep -c sleep; true") == "1"  # the first process's own


HOSTILE = [
    "new\nline",
    "-rf",
    "--checkpoint-action=exec=sh x",
    " lead",
    "trail ",
    "*",
    "$(touch x)",
    "'\"`",
    "\udcff\udcfe",
]


@inside()
async def test_hostile_names_travel_both_ways(env: LocalEnvironment, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for i, name in enumerate(HOSTILE):
        (source / name).write_text(str(i))
        await env.upload_file(source / name, f"/app/one/{name}")
    await env.upload_dir(source, "/app/all")
    for place in ("one", "all"):
        await env.download_dir(f"/app/{place}", tmp_path / place)
        assert {os.fsdecode(os.fsencode(p.name)): p.read_text() for p in (tmp_path / place).iterdir()} == {
            name: str(i) for i, name in enumerate(HOSTILE)
        }
    for i, name in enumerate(HOSTILE):
        await env.download_file(f"/app/all/{name}", tmp_path / "back")
        assert (tmp_path / "back").read_text() == str(i)
    assert await says(env, "ls -A /app") == "all\none"


@inside()
async def test_times_and_modes_survive_and_files_merge(env: LocalEnvironment, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "tool").write_text("new")
    (source / "sub" / "tool").chmod(0o751)
    os.utime(source / "sub" / "tool", ns=(0, 1_500_000_000_250_000_000))
    await says(env, "mkdir -p /app/sub && echo old > /app/sub/tool && echo kept > /app/sub/other")
    await env.upload_dir(source, "/app")
    await env.upload_file(source / "sub" / "tool", "/app/copy")
    assert await says(env, "cat /app/sub/tool /app/sub/other") == "newkept"
    for place in ("/app/sub/tool", "/app/copy"):
        assert await says(env, f"stat -c '%a %.9Y %u' {place}") == "751 1500000000.250000000 0"
    await env.download_dir("/app", tmp_path / "back")
    found = (tmp_path / "back" / "sub" / "tool").stat()
    assert (found.st_mode & 0o777, found.st_mtime) == (0o751, 1_500_000_000.25)
    await env.upload_dir(source, "/app", touch=True)
    assert int(await says(env, "stat -c %Y /app/sub/tool")) > 1_600_000_000


@inside()
async def test_file_into_directory_and_relative_paths(env: LocalEnvironment, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    await env.upload_file(tmp_path / "f", "/app")
    await env.upload_file(tmp_path / "f", "deep/er/g")
    assert await says(env, "cat /app/f /app/deep/er/g") == "xx"
    await env.download_file("deep/er/g", tmp_path / "h")
    assert (tmp_path / "h").read_text() == "x"


@inside()
async def test_links_resolve_inside(env: LocalEnvironment, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("host secret")
    target = tmp_path / "victim"
    target.mkdir()
    await says(env, f"ln -s {secret} /app/leak; ln -s {target} /app/out; ln -s / /app/root; mkdir -p /tmp/real")
    with pytest.raises(TransferError):
        await env.download_file("/app/leak", tmp_path / "got")
    await env.upload_file(secret, "/app/made")
    with pytest.raises(TransferError):
        await env.upload_file(secret, "/app/out/x")  # a dangling link inside
    assert list(target.iterdir()) == []
    await env.download_dir("/app", tmp_path / "down")
    assert sorted(p.name for p in (tmp_path / "down").iterdir()) == ["made"]
    source = tmp_path / "source"
    source.mkdir()
    (source / "link").symlink_to(secret)
    await env.upload_dir(source, "/tests")
    assert await says(env, "readlink /tests/link") == str(secret)
    assert (await env.exec("cat /tests/link")).return_code != 0


@inside()
async def test_special_files_do_not_stop_a_download(env: LocalEnvironment, tmp_path: Path) -> None:
    await says(
        env,
        "mkfifo pipe; echo x > file; mkdir -m 0 dir; python3 -c 'import socket as s; s.socket(1).bind(\"sock\")'; true",
    )
    await says(env, "echo y > dir/inner; chmod 0 file")
    await env.download_dir("/app", tmp_path / "down")
    assert (tmp_path / "down" / "file").read_text() == "x\n"
    assert (tmp_path / "down" / "dir" / "inner").read_text() == "y\n"
    assert not (tmp_path / "down" / "pipe").exists()
    with pytest.raises(TransferError, match="not a regular file"):
        await env.download_file("/app/pipe", tmp_path / "pipe")
    with pytest.raises(TransferError, match="nothing"):
        await env.download_file("/app/nothing", tmp_path / "x")
    with pytest.raises(TransferError, match="nowhere"):
        await env.download_dir("/nowhere", tmp_path / "x")


@inside()
async def test_downloads_can_leave_things_out(env: LocalEnvironment, tmp_path: Path) -> None:
    await says(env, "mkdir -p a/cache b && touch a/cache/x a/y b/z.log b/w")
    await env.download_dir_with_exclusions(source_dir="/app", target_dir=tmp_path / "d", exclude=["cache", "*.log"])
    assert sorted(p.name for p in (tmp_path / "d").rglob("*")) == ["a", "b", "w", "y"]


@inside(max_transfer_bytes=1_000_000)
async def test_size_caps(env: LocalEnvironment, tmp_path: Path) -> None:
    await says(env, "truncate -s 1T huge; mkdir -p /tmp/some && head -c 300000 /dev/urandom > /tmp/some/data")
    with pytest.raises(TransferTooLarge, match="more than 2000000 bytes"):
        await env.stream_tar("/app", tmp_path / "a.tar", 2_000_000)
    assert not (tmp_path / "a.tar").exists()
    with pytest.raises(TransferTooLarge):
        await env.download_file("/app/huge", tmp_path / "huge")
    with pytest.raises(TransferTooLarge):
        await env.download_dir("/app", tmp_path / "down")
    size = await env.stream_tar("/tmp/some", tmp_path / "b.tar", 2_000_000)
    assert size == (tmp_path / "b.tar").stat().st_size >= 300_000
    with tarfile.open(tmp_path / "b.tar") as tar:
        assert tar.getnames() == [".", "./data"]
    assert (await env.exec("pgrep tar")).return_code == 1


@inside()
async def test_a_tar_can_be_uploaded_as_it_is(env: LocalEnvironment, tmp_path: Path) -> None:
    await says(env, "mkdir -p src && echo 1 > src/a")
    await env.stream_tar("/app", tmp_path / "a.tar", 1 << 20)
    with (tmp_path / "a.tar").open("rb") as f:
        await env.upload_tar(f, "/workspace/copy")
    assert await says(env, "cat /workspace/copy/src/a") == "1"


@inside()
async def test_what_is_claimed(env: LocalEnvironment, tmp_path: Path) -> None:
    assert env.type() == "local" and env.capabilities.disable_internet and not env.capabilities.mounted
    assert env.limits()["network"] == LimitState.ENFORCED
    assert {env.limits()[name] for name in ("cpu", "memory", "pids", "disk")} == {LimitState.ABSENT}
    await env.set_network_policy(NetworkPolicy(network_mode=NetworkMode.NO_NETWORK))


def test_an_allowlist_is_refused(tmp_path: Path) -> None:
    policy = NetworkPolicy(network_mode=NetworkMode.ALLOWLIST, allowed_hosts=["api.example.org"])
    with pytest.raises(ValueError, match=r"no network, and api\.example\.org .*environment: docker"):
        environment(tmp_path, network_policy=policy)


FULL = """
# syntax=docker/dockerfile:1
ARG BASE=12
FROM debian:${BASE} AS base
ARG NAME=world
ENV GREETING="hello $NAME" LIST=a,b
RUN apt-get update && apt-get install -y --no-install-recommends coreutils tar \\
    # a comment
    && rm -rf /var/lib/apt/lists/* && mkdir -p /srv/data && echo "$GREETING" > /srv/data/greeting
WORKDIR /work
COPY --chmod=750 tools/run.sh one.txt ./
COPY tree inner
COPY ["one.txt", "/other/renamed.txt"]
WORKDIR sub
RUN pwd > where; ls .. | sort > seen
ADD *.md docs/
"""


@inside(
    FULL,
    {
        "tools/run.sh": "x",
        "one.txt": "1",
        "tree/a/b": "2",
        "tree/skip.log": "",
        "r.md": "3",
        ".dockerignore": "**/*.log",
    },
)
async def test_dockerfile_is_followed(env: LocalEnvironment, tmp_path: Path) -> None:
    assert await says(env, "pwd; cat where seen") == "/work/sub\n/work/sub\ninner\none.txt\nrun.sh\nsub"
    assert await says(env, "cat /srv/data/greeting /other/renamed.txt; echo; echo $LIST") == "hello world\n1\na,b"
    assert (
        await says(env, "stat -c %a ../run.sh; cd ../inner; find . -type f; cat /work/sub/docs/r.md") == "750\n./a/b\n3"
    )


def failing(where: Path, dockerfile: str, kind: type[SandboxError], says: str, **files: str) -> None:
    async def go() -> None:
        async with running(where, dockerfile, files):
            raise AssertionError("it started")

    with pytest.raises(kind, match=says):
        asyncio.run(go())
    assert list((where / "trial").iterdir()) == []


def test_missing_tools_are_named_with_their_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopscope.sandbox.fill.SYSTEM_PATH", str(tmp_path))
    dockerfile = "FROM gcc:14\nRUN apt-get update && apt-get install -y golang-go\nWORKDIR /app\n"
    failing(
        tmp_path,
        dockerfile,
        MissingTools,
        r"lacks g\+\+ \(.*, gcc \(Debian: apt-get install gcc libc6-dev\), go \(.*golang-go",
    )


def test_missing_python_module_is_named(tmp_path: Path) -> None:
    dockerfile = "FROM debian\nRUN pip install no-such-module-xyz==1\n"
    has_python = Path("/usr/bin/python3").exists()  # without one, python itself is what is missing
    wanted = r"python module no_such_module_xyz \(.*python_packages" if has_python else r"python3? \("
    failing(tmp_path, dockerfile, MissingTools, wanted)


def test_failing_run_is_named_with_its_words(tmp_path: Path) -> None:
    dockerfile = PLAIN + "RUN echo broken >&2; exit 7\n"
    failing(tmp_path, dockerfile, DockerfileError, r"Dockerfile:3: RUN echo broken.*exit code 7.*: broken")


def test_absent_sources_are_named(tmp_path: Path) -> None:
    failing(tmp_path, PLAIN + "COPY nothing.txt .\n", DockerfileError, r"Dockerfile:3: COPY nothing.txt: no such file")
    failing(tmp_path, PLAIN + "COPY a /usr/bin/a\n", DockerfileError, "read-only", a="x")


def test_no_dockerfile(tmp_path: Path) -> None:
    env = environment(tmp_path)
    (tmp_path / "environment" / "Dockerfile").unlink()
    with pytest.raises(DockerfileError, match="not found"):
        LocalEnvironment(
            environment_dir=tmp_path / "environment",
            environment_name="x",
            session_id="x",
            trial_paths=env.trial_paths,
            task_env_config=EnvironmentConfig(),
        )


@inside("FROM debian\nRUN useradd -m -u 1234 agent\nWORKDIR /app\nUSER agent\n")
async def test_users_of_the_dockerfile(env: LocalEnvironment, tmp_path: Path) -> None:
    mapped = env.ids_mapped > 1
    assert await says(env, "id -u") == ("1234" if mapped else "0")
    assert await says(env, "whoami; ls -ld /home/agent | cut -d' ' -f3") == ("agent\nagent" if mapped else "root\nroot")
    assert await says(env, "id -u", user=0) == "0"


@pytest.mark.slow
@inside("FROM python:3.12\nRUN pip install numpy\nWORKDIR /app\n", python_packages=("numpy",))
async def test_python_with_numpy(env: LocalEnvironment, tmp_path: Path) -> None:
    program = "import numpy, sys, subprocess as s; print(numpy.arange(3).sum(), sys.executable, sys.prefix); "
    program += "print(s.check_output([sys.executable, '-c', 'import numpy; print(6)'], text=True))"
    for name in ("python3", "python"):
        out = await says(env, f'{name} -c "{program}"')
        assert out.split() == ["3", f"/opt/loopscope/venv/bin/{name}", "/opt/loopscope/venv", "6"] or name == "python"
    from_usr = Path(sys.base_prefix).is_relative_to("/usr")
    assert await says(env, "ls /opt") == "loopscope"
    assert await says(env, "ls /opt/loopscope") == ("venv" if from_usr else "python\nvenv")
    assert (await env.exec("touch /opt/loopscope/venv/x")).return_code != 0
    text = await says(
        env, "cat /opt/loopscope/venv/pyvenv.cfg /opt/loopscope/venv/bin/python3; ls -l /opt/loopscope/venv/bin"
    )
    assert sys.prefix not in text
    assert from_usr or sys.base_prefix not in text
