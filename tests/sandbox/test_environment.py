"""Commands, users and tools through Harbor's interface."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from harbor.models.task.config import NetworkMode, NetworkPolicy
from sandboxes import environment, inside, says

from loopscope.models.run import LimitState
from loopscope.sandbox.environment import LocalEnvironment

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


@inside()
async def test_what_is_claimed(env: LocalEnvironment, tmp_path: Path) -> None:
    assert env.type() == "local" and env.capabilities.disable_internet and not env.capabilities.mounted
    limits = env.limits()
    assert limits["network"].state is LimitState.ENFORCED and limits["cpu"].state is LimitState.ABSENT
    assert LimitState.ABSENT not in {limits[name].state for name in ("memory", "pids", "disk")}
    await env.set_network_policy(NetworkPolicy(network_mode=NetworkMode.NO_NETWORK))


def test_an_allowlist_is_refused(tmp_path: Path) -> None:
    policy = NetworkPolicy(network_mode=NetworkMode.ALLOWLIST, allowed_hosts=["api.example.org"])
    with pytest.raises(ValueError, match=r"no network, and api\.example\.org .*environment: docker"):
        environment(tmp_path, network_policy=policy)


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
    if not from_usr:
        assert await says(env, "ls /opt/loopscope/python") == "bin\nlib"
        # Whatever the layout calls them (site-packages, dist-packages): none of the host's packages is there.
        assert await says(env, "find /opt/loopscope/python -path '*-packages/*'") == ""
    assert from_usr or sys.base_prefix not in text
