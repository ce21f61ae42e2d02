"""What comes out of a sandbox is bounded by what it may hold, whatever its links and holes pretend."""

from __future__ import annotations

import asyncio
import tarfile
from pathlib import Path

import pytest
from harbor.models.task.config import EnvironmentConfig
from hypothesis import given
from hypothesis import strategies as st
from sandboxes import ROOT, running, says

from loopscope.sandbox.errors import TransferTooLarge
from loopscope.sandbox.holes import PIECE, HoleyFile
from loopscope.sandbox.storage import MIB

SIZE_MB = 64


def on_disk(path: Path) -> int:
    return path.stat().st_blocks * 512


@given(st.lists(st.one_of(st.integers(0, 3 * PIECE).map(bytes), st.binary(max_size=50)), max_size=8))
def test_a_file_holds_what_was_written_to_it(tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("h") / "f"
    with path.open("wb") as file:
        holey = HoleyFile(file)
        for chunk in chunks:
            assert holey.write(chunk) == len(chunk)
        assert holey.tell() == sum(map(len, chunks))
        holey.finish()
    assert path.read_bytes() == b"".join(chunks)


def test_zeros_take_no_room(tmp_path: Path) -> None:
    with (tmp_path / "f").open("wb") as file:
        holey = HoleyFile(file)
        for _ in range(1000):
            holey.write(bytes(10_000))
        holey.write(b"end")
        holey.finish()
    assert (tmp_path / "f").stat().st_size == 10_000_003 and on_disk(tmp_path / "f") <= 2 * PIECE


@pytest.mark.sandbox
@pytest.mark.parametrize("means", ["loop", "tmpfs"] if ROOT else ["tmpfs"])
def test_links_and_holes_bring_out_no_more_than_twice_the_storage(tmp_path: Path, means: str) -> None:
    async def go() -> None:
        config = EnvironmentConfig(storage_mb=SIZE_MB)
        async with running(tmp_path, storage=means, config=config) as env:
            await says(env, "mkdir hole links; truncate -s 100M hole/big; echo end >> hole/big")
            assert await env.stream_tar("/app/hole", tmp_path / "hole.tar", 8 << 30) > 100 * MIB
            assert on_disk(tmp_path / "hole.tar") < MIB
            await env.download_dir("/app/hole", tmp_path / "down")
            await env.download_file("/app/hole/big", tmp_path / "big")
            for copy in (tmp_path / "down" / "big", tmp_path / "big"):
                assert copy.stat().st_size == 100 * MIB + 4 and on_disk(copy) < MIB

            await says(env, "cd links; head -c 20M /dev/urandom > 0; for n in $(seq 60); do ln 0 $n; done")
            await says(env, "truncate -s 2G /app/hole/big")
            for place in ("links", "hole"):
                with pytest.raises(TransferTooLarge, match=f"more than {2 * SIZE_MB * MIB} bytes"):
                    await env.stream_tar(f"/app/{place}", tmp_path / "out.tar", 8 << 30)
                with pytest.raises(TransferTooLarge):
                    await env.download_dir(f"/app/{place}", tmp_path / "out")
            assert not (tmp_path / "out.tar").exists() and not (tmp_path / "out").exists()
            with pytest.raises(TransferTooLarge):
                await env.download_file("/app/hole/big", tmp_path / "out")
        with tarfile.open(tmp_path / "hole.tar") as tar:
            member = tar.getmember("./big")
            assert member.size == 100 * MIB + 4

    asyncio.run(go())
