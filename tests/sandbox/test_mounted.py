"""Toolchains of the host in a sandbox: what is refused, and what is seen of one inside."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import pytest
from sandboxes import running

from loopscope.sandbox import options
from loopscope.sandbox.errors import SandboxError
from loopscope.sandbox.mounted import from_kwargs, mounted, path_on_host


def made(folder: Path, *programs: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    for name in programs:
        (folder / "bin" / name).write_text("#!/bin/sh\necho fake $0 $*\n")
        (folder / "bin" / name).chmod(0o755)
    for place in (folder, folder / "bin", *folder.parents):
        if place.stat().st_uid == os.geteuid() and place != Path("/") and len(place.parts) > 2:
            place.chmod(place.stat().st_mode | 0o005)
    return folder


@pytest.mark.parametrize(
    ("name", "path", "said"),
    [
        ("Go!", "/usr", "toolchains.Go!: a name is small letters"),
        ("../x", "/usr", "a name is small letters"),
        ("go", "go/bin", "is no absolute path"),
        ("go", "/nowhere/go", "is no directory"),
        ("go", "/", "holds more than a toolchain"),
        ("go", "~", "holds more than a toolchain"),
        ("go", "/proc", "has no bin/ with programs"),
    ],
)
def test_what_is_no_toolchain_is_refused_in_one_line(name: str, path: str, said: str) -> None:
    with pytest.raises(SandboxError, match=re.escape(said)) as caught:
        options.parse({"toolchains": {name: path}})
    assert "\n" not in str(caught.value)


def test_a_directory_with_credentials_is_refused(tmp_path: Path) -> None:
    cargo = made(tmp_path / "cargo", "cargo")
    (cargo / "credentials.toml").touch()
    with pytest.raises(SandboxError, match="may hold credentials"):
        mounted({"mine": cargo})


def test_of_rustup_only_the_toolchain_is_taken(tmp_path: Path) -> None:
    rustup, cargo = tmp_path / ".rustup", made(tmp_path / ".cargo", "rustup", "cargo", "rustc")
    (cargo / "credentials.toml").touch()
    stable = made(rustup / "toolchains/stable", "rustc", "cargo")
    assert [tool.source for tool in mounted({"rust": cargo})] == [stable]  # the only one
    made(rustup / "toolchains/nightly", "rustc", "cargo")
    with pytest.raises(SandboxError, match=r"no default toolchain; name one: .*nightly or .*stable"):
        mounted({"rust": rustup})
    (rustup / "settings.toml").write_text('default_toolchain = "stable"\n')
    for written in (rustup, cargo, stable):
        assert [tool.source for tool in mounted({"rust": written})] == [stable]


def test_the_host_s_own_directories_are_searched_last(tmp_path: Path) -> None:
    go = made(tmp_path / "go", "go")
    (tool,) = mounted({"go": go})
    assert path_on_host([tool]).split(":")[0] == f"{go}/bin"
    assert (tool.inside, tool.env["GOROOT"]) == ("/opt/loopscope/tools/go", "/opt/loopscope/tools/go")
    assert tool.version() == f"fake {go}/bin/go version"
    assert mounted({"other": go})[0].version() is None
    assert from_kwargs({"toolchains": {"go": str(go)}, "shm_mb": 8}) == (tool,)
    assert from_kwargs({"shm_mb": 8}) == ()


@pytest.mark.sandbox
def test_inside_it_is_first_on_the_path_and_cannot_be_written(tmp_path: Path) -> None:
    go = made(tmp_path / "a b ☃" / "go", "go", "gofmt")

    async def look() -> tuple[str, str, str]:
        dockerfile = "FROM golang:1.22\nWORKDIR /app\nRUN go build > /app/built\n"
        async with running(tmp_path / "task", dockerfile, toolchains={"go": str(go)}) as sandbox:
            seen = await sandbox.exec("cat built; command -v go gofmt; echo $GOROOT $GOPROXY")
            write = await sandbox.exec("touch $GOROOT/bin/x || rm $GOROOT/bin/go || echo kept")
            home = await sandbox.exec("ls /opt/loopscope/tools; touch ~/.cache-of-go && echo writable")
            return seen.stdout or "", write.stdout or "", home.stdout or ""

    seen, write, home = asyncio.run(look())
    at = "/opt/loopscope/tools/go"
    assert seen == f"fake {at}/bin/go build\n{at}/bin/go\n{at}/bin/gofmt\n{at} off\n"
    assert (write, home) == ("kept\n", "go\nwritable\n")
    assert sorted(p.name for p in (go / "bin").iterdir()) == ["go", "gofmt"]
