"""Files in and out of a sandbox through Harbor's interface; names, links and sizes are hostile."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest
from sandboxes import inside, says

from loopscope.sandbox.environment import LocalEnvironment
from loopscope.sandbox.errors import TransferError, TransferTooLarge

pytestmark = pytest.mark.sandbox


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
