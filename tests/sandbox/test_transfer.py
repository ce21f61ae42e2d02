"""Archives, honest and hostile, without a sandbox."""

from __future__ import annotations

import contextlib
import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopscope.sandbox.errors import TransferError, TransferTooLarge
from loopscope.sandbox.transfer import Unpacked, pack, unpack, unpack_file, walk

NAMES = st.binary(min_size=1, max_size=40).filter(lambda n: b"/" not in n and b"\0" not in n and n not in (b".", b".."))


def packed(source: Path) -> io.BytesIO:
    stream = io.BytesIO()
    pack(walk(source), stream)
    stream.seek(0)
    return stream


def archive(*members: tuple[tarfile.TarInfo, bytes]) -> io.BytesIO:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    stream.seek(0)
    return stream


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, 0o6777
    return info


def extract(stream: io.BytesIO, target: Path, **how: int) -> Unpacked:
    return unpack(stream, target, label="/logs", max_bytes=how.pop("max_bytes", 1 << 20), **how)


@given(st.dictionaries(NAMES, st.binary(max_size=50), max_size=6))
def test_any_name_and_content_survive(tmp_path_factory: pytest.TempPathFactory, files: dict[bytes, bytes]) -> None:
    here = tmp_path_factory.mktemp("t")
    source, target = here / "s", here / "t"
    source.mkdir()
    for name, content in files.items():
        (source / os.fsdecode(name)).write_bytes(content)
    extract(packed(source), target)
    assert {os.fsencode(p.name): p.read_bytes() for p in target.iterdir()} == files


def test_modes_times_links_and_merging(tmp_path: Path) -> None:
    source, target = tmp_path / "s", tmp_path / "t"
    (source / "d").mkdir(parents=True)
    (source / "d" / "run.sh").write_text("x")
    (source / "d" / "run.sh").chmod(0o750)
    os.utime(source / "d" / "run.sh", (1, 1_000_000_000.25))
    (source / "link").symlink_to("d/run.sh")
    os.mkfifo(source / "fifo")
    (target / "d").mkdir(parents=True)
    (target / "d" / "old").write_text("stays")
    (target / "link").write_text("goes")
    done = extract(packed(source), target)
    copy = target / "d" / "run.sh"
    assert (copy.stat().st_mode & 0o777, copy.stat().st_mtime) == (0o750, 1_000_000_000.25)
    assert (target / "link").readlink() == Path("d/run.sh")
    assert (target / "d" / "old").read_text() == "stays"
    assert not (target / "fifo").exists() and done.size == 1


@pytest.mark.parametrize("name", ["../out", "a/../../out", "/out", "a/b/../../../out"])
def test_names_cannot_leave(tmp_path: Path, name: str) -> None:
    done = extract(archive((member(name), b"x"), (member("good"), b"y")), tmp_path / "t")
    assert done.skipped == [name] and (tmp_path / "t" / "good").read_bytes() == b"y"
    assert [p.name for p in tmp_path.iterdir()] == ["t"]


@pytest.mark.parametrize("link", ["/etc", "..", "../..", "a/../../x", "s/..", "/"])
def test_links_cannot_lead_out(tmp_path: Path, link: str) -> None:
    done = extract(archive((member("l", tarfile.SYMTYPE, link), b"")), tmp_path / "t")
    assert done.skipped == ["l"] and not (tmp_path / "t" / "l").is_symlink()


def test_chained_links_stay_inside(tmp_path: Path) -> None:
    up = (member("a/b/c/up", tarfile.SYMTYPE, "../../.."), b"")
    out = (member("a/b/c/out", tarfile.SYMTYPE, "up/../.."), b"")
    done = extract(archive(up, out), tmp_path / "t")
    assert done.skipped == ["a/b/c/out"]
    assert (tmp_path / "t/a/b/c/up").resolve() == tmp_path / "t"


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    target = tmp_path / "t"
    target.mkdir()
    (target / "planted").symlink_to(tmp_path / "victim")
    (target / "file").symlink_to(tmp_path / "victim" / "file")
    extract(archive((member("planted/x"), b"1"), (member("file"), b"2")), target)
    assert list((tmp_path / "victim").iterdir()) == []
    assert (target / "planted" / "x").read_bytes() == b"1" and (target / "file").read_bytes() == b"2"


def test_special_members_are_left_out_and_set_id_bits_dropped(tmp_path: Path) -> None:
    kinds = [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.LNKTYPE]
    members = [(member(f"m{i}", kind, "good"), b"") for i, kind in enumerate(kinds)]
    done = extract(archive((member("good"), b"x"), *members), tmp_path / "t")
    assert len(done.skipped) == 4
    assert (tmp_path / "t" / "good").stat().st_mode & 0o7000 == 0


def test_bounds(tmp_path: Path) -> None:
    with pytest.raises(TransferTooLarge, match="/logs: more than 100 bytes"):
        extract(archive((member("a"), b"x" * 60), (member("b"), b"x" * 60)), tmp_path / "t", max_bytes=100)
    with pytest.raises(TransferTooLarge, match="number of files"):
        extract(archive(*[(member(str(i)), b"") for i in range(20)]), tmp_path / "u", max_files=10)


def test_absurd_headers_are_refused_before_they_are_read(tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 1 << 33
    with pytest.raises(TransferError, match="claims"):
        extract(io.BytesIO(info.tobuf(tarfile.GNU_FORMAT)), tmp_path / "t")


@pytest.mark.parametrize("name", ["/".join("d" * 3000), "/".join(["n" * 250] * 20)])
def test_what_no_path_of_the_host_could_name_is_left_out(tmp_path: Path, name: str) -> None:
    stream = archive((member(name), b"x"), (member(f"{name}/d", tarfile.DIRTYPE), b""), (member("kept"), b"x"))
    assert extract(stream, tmp_path / "t").skipped == [name, f"{name}/d"]
    assert [path.name for path in (tmp_path / "t").iterdir()] == ["kept"]


def test_a_sparse_terabyte_is_left_out(tmp_path: Path) -> None:
    info = tarfile.TarInfo("hole")
    info.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.map": "0,1"}
    info.pax_headers |= {"GNU.sparse.size": str(1 << 40), "GNU.sparse.name": "hole"}
    info.size = 1
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(info, io.BytesIO(b"x"))
    stream.seek(0)
    assert extract(stream, tmp_path / "t").skipped == ["hole"]


@given(st.binary(max_size=2000))
def test_garbage_is_an_error_or_nothing(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    target = tmp_path_factory.mktemp("g") / "t"
    with contextlib.suppress(TransferError):
        extract(io.BytesIO(data), target)
    assert not target.exists() or list(target.parent.iterdir()) == [target]


def test_one_file(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("safe")
    (tmp_path / "out").symlink_to(tmp_path / "victim")
    unpack_file(archive((member("x"), b"hello")), tmp_path / "out", label="/x", max_bytes=10)
    assert (tmp_path / "out").read_text() == "hello" and (tmp_path / "victim").read_text() == "safe"
    with pytest.raises(TransferError, match="not a regular file"):
        unpack_file(archive((member("x", tarfile.FIFOTYPE), b"")), tmp_path / "out", label="/x", max_bytes=10)
    with pytest.raises(TransferTooLarge):
        unpack_file(archive((member("x"), b"hello world")), tmp_path / "out", label="/x", max_bytes=10)
