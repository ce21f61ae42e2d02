from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest
from lab import in_loop, logs_dir, run_agent, sandbox, sh

from loopscope.agents.replay import ReplayAgent, StateError, check_names, check_state

HOSTILE = [
    "plain.txt",
    "sp ace",
    "-rf",
    "$(touch pwned)",
    "a'b\"c;`d`",
    "new\nline",
    "d/e/f.py",
    "umlaut-ü",
    "raw-\udcff",
]


def member(
    name: str, data: bytes = b"x", mode: int = 0o644, mtime: float = 1_000_000_000.25
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = len(data), mode, mtime
    return info, data


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


def write_tar(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data) if info.isreg() else None)
    return path


def agent(tmp_path: Path, tar: Path, **kwargs: object) -> ReplayAgent:
    return ReplayAgent(logs_dir=logs_dir(tmp_path), state_tar=str(tar), workdir="/app", **kwargs)  # type: ignore[arg-type]


@pytest.mark.sandbox
def test_work_dir_becomes_the_state_and_nothing_else(tmp_path: Path) -> None:
    tar = write_tar(
        tmp_path / "state.tar",
        *(member(name, name.encode(errors="surrogateescape")) for name in HOSTILE),
        member("run.sh", b"#!/bin/sh\n", 0o755),
        member("secret", b"s", 0o600),
        link("inside", "plain.txt"),
        link("outside", "/etc/passwd"),
        link("hard", "plain.txt", tarfile.LNKTYPE),
    )

    async def body() -> None:
        async with sandbox(tmp_path) as env:
            await sh(
                env, "mkdir -p old/deep && touch old/deep/.hidden pwned-not .dot && ln -s /etc link && mkdir outside"
            )
            context = await run_agent(agent(tmp_path, tar), env)
            assert context.metadata == {"replayed_files": len(HOSTILE) + 5}
            names = (await sh(env, "find . -mindepth 1 ! -type d -print0 | base64 -w0")).strip()
            import base64

            found = {os.fsdecode(n)[2:] for n in base64.b64decode(names).split(b"\0") if n}
            assert found == {*HOSTILE, "run.sh", "secret", "inside", "outside", "hard"}
            assert await sh(env, "stat -c '%a %.2Y' run.sh secret") == "755 1000000000.25\n600 1000000000.25\n"
            assert (
                await sh(env, "readlink inside outside; stat -c %h hard; cat hard; ls /tmp")
                == "plain.txt\n/etc/passwd\n2\nplain.txt"
            )

    in_loop(body)


@pytest.mark.sandbox
def test_a_state_is_laid_over_what_is_not_removed(tmp_path: Path) -> None:
    tar = write_tar(tmp_path / "state.tar", member("new.txt"), member("dir", b"now a file"), member("kept/too/x"))
    remove = tmp_path / "remove"
    remove.write_bytes(b"gone.txt\0dir/a\0-x\0")

    async def body() -> None:
        async with sandbox(tmp_path) as env:
            await sh(env, "mkdir dir && touch dir/a gone.txt image.bin ./-x && echo f > kept")
            await run_agent(agent(tmp_path, tar, remove=str(remove)), env)
            assert (await sh(env, "find . -type f | sort")).split() == [
                "./dir",
                "./image.bin",
                "./kept/too/x",
                "./new.txt",
            ]
            assert await sh(env, "cat dir; ls -A /tmp") == "now a file"

    remove.write_bytes(b"gone.txt\0dir/a\0-x\0kept\0")
    in_loop(body)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ([member("/etc/x")], "outside"),
        ([member("a/../../x")], "outside"),
        ([link("d", "/logs/verifier"), member("d/reward.json")], "below it"),
        ([member("d/reward.json"), link("d", "/logs/verifier")], "below it"),
        ([link("x", "a"), member("x")], "twice"),
        ([link("x", "/etc/passwd", tarfile.LNKTYPE)], "hard link"),
        ([link("pipe", "", tarfile.FIFOTYPE)], "pipe"),
        ([link("disk", "", tarfile.BLKTYPE)], "device"),
    ],
)
def test_archives_that_could_reach_outside_are_refused(
    tmp_path: Path, bad: list[tuple[tarfile.TarInfo, bytes]], why: str
) -> None:
    with pytest.raises(StateError, match=why):
        check_state(write_tar(tmp_path / "bad.tar", *bad))


def test_no_archive_no_list_no_root(tmp_path: Path) -> None:
    junk = tmp_path / "junk.tar"
    junk.write_bytes(b"not a tar" * 100)
    with pytest.raises(StateError, match="no tar"):
        check_state(junk)
    for name in (b"/etc/passwd", b"../x", b"a/../../b", b"a//b", b"."):
        junk.write_bytes(name + b"\0")
        with pytest.raises(StateError, match="does not name"):
            check_names(junk)
    with pytest.raises(ValueError, match="absolute directory"):
        ReplayAgent(logs_dir=tmp_path, state_tar=junk, workdir="/")


def test_missing_state_says_what_to_do(tmp_path: Path) -> None:
    from harbor.models.agent.context import AgentContext

    replay = ReplayAgent(logs_dir=tmp_path, state_tar=tmp_path / "none.tar")
    with pytest.raises(RuntimeError, match=r"none\.tar.*cannot be read"):
        in_loop(lambda: replay.run("", None, AgentContext()))  # type: ignore[arg-type]


def big_tar(tmp_path: Path) -> Path:
    return write_tar(tmp_path / "state.tar", *(member(f"f{n}", bytes(1 << 20)) for n in range(80)))


@pytest.mark.sandbox
@pytest.mark.parametrize(("room", "error"), [(64 << 20, StateError), (65 << 20, RuntimeError), (None, RuntimeError)])
def test_a_full_disk_is_the_states_fault_only_where_it_had_its_room(
    tmp_path: Path, room: int | None, error: type[Exception]
) -> None:
    tar = big_tar(tmp_path)

    async def body() -> None:
        async with sandbox(tmp_path, storage="tmpfs", storage_mb=64) as env:
            with pytest.raises(
                error, match=r"state.tar: could not be unpacked .*its disk is full \(64 MiB\)"
            ) as caught:
                await run_agent(agent(tmp_path, tar, room_bytes=room), env)
            assert "Exiting with failure status" not in str(caught.value)

    in_loop(body)


@pytest.mark.sandbox
def test_a_sandbox_that_streams_stores_no_tar_and_others_keep_none(tmp_path: Path) -> None:
    tar = write_tar(tmp_path / "state.tar", *(member(f"f{n}", bytes(1 << 20)) for n in range(20)))

    async def body() -> None:
        async with sandbox(tmp_path, storage="tmpfs", storage_mb=32) as env:
            await run_agent(agent(tmp_path, tar), env)
            assert await sh(env, "ls /app | wc -l; stat -c %u f0; ls -A /tmp") == "20\n0\n"

            class Plain:
                """The same sandbox as one that cannot stream."""

                upload_file, exec = env.upload_file, env.exec

            with pytest.raises(Exception, match="its disk is full"):
                await run_agent(agent(tmp_path, tar), Plain())  # type: ignore[arg-type]
            little = write_tar(tmp_path / "little.tar", member("one"))
            await run_agent(agent(tmp_path, little), Plain())  # type: ignore[arg-type]
            assert await sh(env, "ls /app; ls -A /tmp") == "one\n"

    in_loop(body)
