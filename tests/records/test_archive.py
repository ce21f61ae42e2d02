"""Archives of studies: equal bytes for equal studies, nothing of the owner's, and no archive that can do harm."""

from __future__ import annotations

import errno
import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zstandard
from study_v1 import unpack
from whole_study import ODD, snapshot, whole_study

from loopscope.analysis.build import analyze
from loopscope.models import ArchivedFile, ArchiveIndex, Part
from loopscope.models.seal import document
from loopscope.records import RecordError, StudyError, StudyStore, durable
from loopscope.records.archive import _TRAILER, INDEX, PREFIX, TIME, export_study, open_archive, read_index
from loopscope.records.contents import is_inside, misplaced
from loopscope.records.finding import Severity
from loopscope.records.importing import Imported, import_study
from loopscope.records.manifest import write_manifest
from loopscope.records.tree import kind_of
from loopscope.records.verify import verify_study
from loopscope.report import build_report
from loopscope.tasks.copying import tree_hash

RUN = "runs/t__a__s1"


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("master") / "study"
    whole_study(path)
    return path


@pytest.fixture(scope="module")
def packed(master: Path) -> Path:
    return export(master, master.with_name("packed"))


@pytest.fixture
def study(master: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(master, tmp_path / "study", symlinks=True))


def export(study: Path, target: Path, *left_out: Part) -> Path:
    return export_study(StudyStore(study), target, tree_hash, left_out=left_out).file


def take_in(archive: Path, target: Path, max_bytes: int = 10**9) -> Imported:
    return import_study(archive, target, tree_hash, max_bytes=max_bytes)


def index_of(archive: Path) -> ArchiveIndex:
    with open_archive(archive) as reader:
        return read_index(archive, reader)


def refused(archive: Path, folder: Path, **options: Any) -> str:
    """The line with which an archive is refused; nothing is left of the try."""
    before = sorted(folder.iterdir())
    with pytest.raises(RecordError) as caught:
        take_in(archive, folder / "taken", **options)
    assert sorted(folder.iterdir()) == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_study_comes_back_as_it_was(study, tmp_path):
    archive = export(study, tmp_path / "x")
    done = take_in(archive, tmp_path / "back")
    assert snapshot(tmp_path / "back") == snapshot(study)
    assert (tmp_path / "back" / RUN / ODD).is_file()
    assert (done.index.study, done.check.runs, done.check.findings) == ("made", 2, ())


@pytest.mark.slow
def test_tables_and_report_of_an_imported_study_are_the_same_bytes(study, tmp_path):
    take_in(export(study, tmp_path / "x", Part.TABLES, Part.REPORT), tmp_path / "back")
    assert not (tmp_path / "back/tables").exists()
    for folder in (study, tmp_path / "back"):
        analyze(folder)
        build_report(folder)
    assert snapshot(tmp_path / "back/tables") == snapshot(study / "tables")
    assert snapshot(tmp_path / "back/report") == snapshot(study / "report")


def test_equal_studies_give_equal_bytes(study, tmp_path):
    first = export(study, tmp_path / "1")
    for path in study.rglob("*"):
        if not path.is_symlink():
            os.utime(path, (1, 1))
            path.chmod(path.stat().st_mode & 0o700)
    assert export(study, tmp_path / "2").read_bytes() == first.read_bytes()
    take_in(first, tmp_path / "back")
    assert export(tmp_path / "back", tmp_path / "3").read_bytes() == first.read_bytes()


def test_a_study_of_the_first_version_goes_through_an_archive(tmp_path):
    old = unpack(tmp_path)
    take_in(export(old, tmp_path / "x"), tmp_path / "back")
    analyze(old)
    analyze(tmp_path / "back")
    assert snapshot(tmp_path / "back") == snapshot(old)


def test_long_names_and_names_of_any_bytes_come_back(study, tmp_path):
    folder = study / RUN / "attempts/2/native" / ("d" * 120) / ("e" * 120)
    folder.mkdir(parents=True)
    for name in (b"\xff\xfe", b"a\nb", b"\x1b[31m", "\x9bé\u2028".encode(), b"\\xff", b"f" * 255, b" "):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(name)
    for name in ("record.json", "unit.json"):
        shutil.copy(study / RUN / name, study / RUN / "attempts/2" / name)
    write_manifest(study / RUN / "attempts/2", {})
    take_in(export(study, tmp_path / "x"), tmp_path / "back")
    assert snapshot(tmp_path / "back") == snapshot(study)


@pytest.mark.parametrize("flags", ["renameat2", "hard links"])
@pytest.mark.parametrize("kind", ["file", "directory", "symbolic link"])
def test_what_comes_to_the_place_meanwhile_is_not_touched(study, tmp_path, monkeypatch, flags, kind):
    target = tmp_path / "x"

    def occupy(*_: object) -> None:
        if not os.path.lexists(target):
            {"file": target.touch, "directory": target.mkdir, "symbolic link": lambda: target.symlink_to("no")}[kind]()

    if flags == "hard links":
        monkeypatch.setattr(durable, "_renameat2", lambda one, other, flag: errno.EINVAL)
    with pytest.raises(RecordError, match="exists already, and nothing is overwritten; name another"):
        export_study(StudyStore(study), target, tree_hash, notify=occupy)
    assert str(kind_of(target)) == kind
    assert sorted(tmp_path.iterdir()) == [study, target]
    target.rmdir() if kind == "directory" else target.unlink()
    assert take_in(export(study, target), tmp_path / "back").check.findings == ()


def test_any_tar_reads_it(packed, tmp_path):
    subprocess.run(["tar", "--zstd", "-xf", str(packed)], cwd=tmp_path, check=True)
    assert (tmp_path / "study" / RUN / ODD).read_text() == "odd\n"
    assert (tmp_path / "index.json").is_file()


def test_what_is_the_owner_s_or_unfinished_stays_out(study, tmp_path):
    clean = export(study, tmp_path / "1").read_bytes()
    (study / ".env").write_text("KEY=secret")
    (study / "mine").mkdir()
    (study / "mine" / "x").write_text("secret")
    for place in (".tmp-1", "runs/.tmp-2", f"{RUN}/.tmp-3", f"{RUN}/scores/.tmp-4", f"{RUN}/attempts/1/.tmp-5", "tasks/.tmp-6"):  # fmt: skip
        (study / place).mkdir()
        (study / place / "f").write_text("half")
    assert export(study, tmp_path / "2").read_bytes() == clean


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../outside", "../../.."])
def test_a_link_that_leads_out_of_its_task_is_refused(study, tmp_path, target):
    (study / RUN / "scores").rename(study / "kept")
    (study / RUN / "scores").symlink_to(study / "kept")
    with pytest.raises(RecordError, match="scores: is a symbolic link"):
        export(study, tmp_path / "x")
    (study / RUN / "scores").unlink()
    (study / "kept").rename(study / RUN / "scores")
    (study / "tasks/t/tests/out").symlink_to(target)
    with pytest.raises(RecordError, match="tasks/t"):
        export(study, tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("name", "target", "inside"),
    [
        ("tasks/t/l", "a", True),
        ("tasks/t/d/l", "../a", True),
        ("tasks/t/d/l", "./a/./b", True),
        ("retired/tasks/t__1/prepared/d/l", "../a", True),
        ("retired/tasks/t__1/prepared/l", "../task.json", False),
        ("tasks/t/l", "../u/a", False),
        ("tasks/t/l", "/etc/passwd", False),
        ("tasks/t/l", "d/../../..", False),
        ("tasks/t/l", "d/..", False),  # d may be a link itself
        ("tasks/l", "t", False),
        ("tasks/t/l", "", False),
        ("tasks/t/l", ".", False),
        ("runs/r/l", "a", False),
    ],
)
def test_links_are_for_tasks_and_stay_in_them(name, target, inside):
    assert is_inside(name, target) is inside


def test_a_damaged_study_is_not_packed(study, tmp_path):
    (study / RUN / "transcript.json").write_bytes(b"[]")
    with pytest.raises(RecordError, match=r"transcript.json: was changed"):
        export(study, tmp_path / "x")
    data = bytearray((study / "runs/t__b__s1/workspace.tar.zst").read_bytes())
    data[20] ^= 1
    shutil.copy(study / RUN / "attempts/1/transcript.json", study / RUN / "transcript.json")
    (study / "runs/t__b__s1/workspace.tar.zst").write_bytes(bytes(data))
    with pytest.raises(RecordError, match=r"workspace.tar.zst: its bytes are not those of its manifest"):
        export(study, tmp_path / "x")
    assert [p.name for p in tmp_path.iterdir()] == ["study"]


def test_an_earlier_try_that_is_known_to_be_damaged_is_packed_as_it_is(study, tmp_path):
    attempts = study / RUN / "attempts"
    (attempts / "1/record.json").write_text("{")
    (attempts / "1/native/agent.log").write_text("another")
    with pytest.raises(RecordError, match=r"attempts/1/record.json: .*rename"):
        export(study, tmp_path / "x")
    (attempts / "1").rename(attempts / "1-damaged")
    packed = tmp_path / "x"
    export(study, packed)
    take_in(packed, tmp_path / "again")
    assert (tmp_path / "again" / RUN / "attempts/1-damaged/record.json").read_text() == "{"


def test_a_study_that_is_being_run_is_not_packed(study, tmp_path):
    with StudyStore(study).hold(), pytest.raises(StudyError, match="another loopscope"):
        export(study, tmp_path / "x")


def test_nothing_is_overwritten(packed, study, tmp_path):
    (tmp_path / "x").write_text("mine")
    with pytest.raises(RecordError, match="nothing is overwritten"):
        export(study, tmp_path / "x")
    for target in (tmp_path / "x", study):
        with pytest.raises(RecordError, match="nothing is overwritten"):
            take_in(packed, target)
    (tmp_path / "empty").mkdir()
    take_in(packed, tmp_path / "empty")
    assert (tmp_path / "empty/study.yaml").is_file()
    assert (tmp_path / "x").read_text() == "mine"


@pytest.mark.parametrize("part", Part)
def test_a_part_that_was_left_out_is_known_to_be_left_out(study, tmp_path, part):
    archive = export(study, tmp_path / "x", part)
    back = take_in(archive, tmp_path / "back").directory
    assert index_of(archive).left_out == (part,)
    pattern = {Part.WORKSPACE: "workspace.tar.zst"}.get(part, part.value)
    assert list(study.rglob(pattern))[:1] or part is Part.REPORT
    assert not list(back.rglob(pattern))
    assert verify_study(StudyStore(back), tree_hash).whole
    (back / RUN / "transcript.json").unlink()
    assert not verify_study(StudyStore(back), tree_hash).whole
    with pytest.raises(RecordError):  # what was lost is told from what was left out
        export(back, tmp_path / "y")


def test_parts_left_out_one_after_the_other_add_up(study, tmp_path):
    take_in(export(study, tmp_path / "x", Part.NATIVE), tmp_path / "back")
    take_in(export(tmp_path / "back", tmp_path / "y", Part.WORKSPACE), tmp_path / "again")
    both = export(study, tmp_path / "z", Part.NATIVE, Part.WORKSPACE)
    take_in(both, tmp_path / "both")
    assert snapshot(tmp_path / "again") == snapshot(tmp_path / "both")


# --- archives that somebody made


def test_an_archive_that_was_cut_short_is_refused_at_any_length(packed, tmp_path):
    data, file = packed.read_bytes(), tmp_path / "x"
    for length in [*range(0, len(data), len(data) // 60), *range(len(data) - 40, len(data))]:
        file.write_bytes(data[:length])
        line = refused(file, tmp_path)
        assert line.startswith(f"{file}: ")
        assert "export the study again" in line


def test_an_archive_cut_short_inside_is_refused(packed, tmp_path):
    data, file = packed.read_bytes().removesuffix(_TRAILER), tmp_path / "x"
    for length in range(0, len(data) - 3, len(data) // 40):  # the last 3 bytes are an empty block: nothing is lost
        file.write_bytes(data[:length] + _TRAILER)
        refused(file, tmp_path)


def test_a_changed_byte_is_refused_or_changes_nothing(packed, master, tmp_path):
    data, file, came_back = packed.read_bytes(), tmp_path / "x", 0
    for position in range(0, len(data), len(data) // 100):
        changed = bytearray(data)
        changed[position] ^= 0x10
        file.write_bytes(bytes(changed))
        try:
            take_in(file, tmp_path / "taken")
        except RecordError:
            assert not (tmp_path / "taken").exists()
        else:
            came_back += 1
            assert snapshot(tmp_path / "taken") == snapshot(master)
            shutil.rmtree(tmp_path / "taken")
    assert came_back < 5


@pytest.mark.parametrize("data", [b"", b"no archive", zstandard.compress(b""), zstandard.compress(b"x" * 5000)])
def test_what_is_no_archive_is_refused(tmp_path, data):
    for end in (b"", _TRAILER):
        (tmp_path / "x").write_bytes(data + end)
        refused(tmp_path / "x", tmp_path)


def test_a_name_without_a_file_is_refused(tmp_path):
    assert "no such file" in refused(tmp_path / "none", tmp_path)


Item = tuple[tarfile.TarInfo, bytes]


def item(name: str, data: bytes = b"", **fields: Any) -> Item:
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = len(data), TIME, 0o644
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def make(path: Path, items: Iterable[Item], tail: bytes = b"", form: int = tarfile.PAX_FORMAT) -> Path:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
        for info, data in items:
            tar.addfile(info, io.BytesIO(data))
    path.write_bytes(zstandard.compress(buffer.getvalue() + tail) + _TRAILER)
    return path


def index(**fields: Any) -> ArchiveIndex:
    values = {"study": "s", "created_by": "x", "directories": ("runs",), "files": {}, **fields}
    return ArchiveIndex(**values)


def index_item(found: ArchiveIndex) -> Item:
    return item(INDEX, document(found))


def directory(name: str) -> Item:
    return item(PREFIX + name, type=tarfile.DIRTYPE, mode=0o755)


EMPTY = ArchivedFile(sha256="e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", size=0)


@pytest.mark.parametrize(
    "name",
    ["../x", "/x", "runs/../../x", "runs//x", "runs/.", "x", ".lock", ".env", "study.yaml/../x", "runs/a\\x2f..", "",
     "runs/.tmp-x", "runs/no-such-directory/x", "runs/a\\x00", "runs/a\\x41", f"runs/{'n' * 256}"],
)  # fmt: skip
def test_no_name_leads_out_of_a_study(tmp_path, name):
    assert misplaced(index(files={name: EMPTY})) == name
    archive = make(tmp_path / "x", [index_item(index(files={name: EMPTY})), directory("runs"), item(PREFIX + name)])
    assert "cannot be part of a study" in refused(archive, tmp_path)
    assert misplaced(index(directories=("runs", name))) == name


def test_directories_nested_too_deep_for_a_path_are_refused(tmp_path):
    names = ["tables"]
    for _ in range(1500):
        names.append(f"{names[-1]}/d")
    found = index(directories=tuple(names))
    assert misplaced(found) == names[256]
    assert "cannot be part of a study" in refused(make(tmp_path / "x", [index_item(found)]), tmp_path)


def test_nothing_is_written_through_a_link(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    link = {"tasks/t/l": str(outside)}
    hostile = index(directories=("tasks", "tasks/t"), files={"tasks/t/l/x": EMPTY}, links=link)
    assert misplaced(hostile) == "tasks/t/l/x"
    both = index(directories=("tasks", "tasks/t", "tasks/t/l"), files={"tasks/t/l/x": EMPTY}, links=link)
    assert misplaced(both) == "tasks/t/l"
    assert misplaced(index(directories=("tasks", "tasks/t"), links=link)) == "tasks/t/l"
    for found in (hostile, both):
        refused(make(tmp_path / "x", [index_item(found)]), tmp_path)
    assert not list(outside.iterdir())


BASE = index(directories=("runs",), files={"study.yaml": EMPTY})


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([directory("runs")], "study.yaml is absent"),
        ([directory("runs"), item("study/study.yaml"), item("study/more")], "more than its index says"),
        ([directory("runs"), item("study/study.yaml"), item("study/study.yaml")], "more than its index says"),
        ([directory("runs"), directory("runs")], "study.yaml is another"),
        ([item("study/study.yaml"), directory("runs")], "runs is another"),
        ([directory("runs"), item("study/study.yaml", b"x")], "study.yaml is another"),
        ([directory("runs"), item("../study.yaml")], "study.yaml is another"),
        ([directory("runs"), item("study/study.yaml", type=tarfile.SYMTYPE, linkname="/etc/passwd")], "is another"),
        ([directory("runs"), item("study/study.yaml", type=tarfile.LNKTYPE, linkname="/etc/passwd")], "of type b'1'"),
        ([directory("runs"), item("study/study.yaml", type=tarfile.CHRTYPE)], "of type b'3'"),
        ([directory("runs"), item("study/study.yaml", type=tarfile.FIFOTYPE)], "of type b'6'"),
        ([directory("runs"), item("study/study.yaml", mode=0o755)], "is another"),
        ([item("study/runs", b"x", type=tarfile.DIRTYPE)], "directory of 1 bytes"),
    ],
)  # fmt: skip
def test_members_that_the_index_does_not_name_are_refused(tmp_path, items, words):
    assert words in refused(make(tmp_path / "x", [index_item(BASE), *items]), tmp_path)


def test_bytes_that_the_index_does_not_name_are_refused(tmp_path):
    wrong = ArchivedFile(sha256="0" * 64, size=3)
    archive = make(tmp_path / "x", [index_item(index(files={"study.yaml": wrong})), directory("runs"), item("study/study.yaml", b"abc")])  # fmt: skip
    assert "the bytes of study.yaml are not those of its index" in refused(archive, tmp_path)


def test_more_bytes_after_the_end_are_refused(tmp_path):
    members = [index_item(BASE), directory("runs"), item("study/study.yaml")]
    assert "more after its end" in refused(make(tmp_path / "x", members, tail=b"x" * 100), tmp_path)
    assert "more after its end" in refused(make(tmp_path / "x", members, tail=bytes(10_000_000)), tmp_path)


def test_sizes_are_held_against_what_is_allowed_and_free(packed, tmp_path):
    assert "--max-gb" in refused(packed, tmp_path, max_bytes=1000)
    huge = ArchivedFile(sha256="0" * 64, size=1 << 60)
    archive = make(tmp_path / "x", [index_item(index(files={"study.yaml": huge}))])
    assert "--max-gb" in refused(archive, tmp_path)
    assert "are free; make room" in refused(archive, tmp_path, max_bytes=1 << 62)
    less = ArchivedFile(sha256="0" * 64, size=-1)
    assert "less than no bytes" in refused(
        make(tmp_path / "x", [index_item(index(files={"study.yaml": less}))]), tmp_path
    )


def test_a_million_empty_files_are_counted_and_refused_before_any_is_made(tmp_path, monkeypatch):
    files = {f"runs/r/native/{n}": EMPTY for n in range(3000)}
    crowd = index(files=BASE.files | files, directories=[*BASE.directories, "runs/r", "runs/r/native"])
    archive = make(tmp_path / "x", [index_item(crowd)])
    assert "(3004 files and directories)" in refused(archive, tmp_path, max_bytes=12_000_000)
    blocks = {"f_frsize": 4096, "f_blocks": 1 << 30, "f_bfree": 1 << 30, "f_bavail": 1 << 30}
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_files=9000, f_favail=3003, **blocks))
    assert "3004 files and directories, and the file system of" in refused(archive, tmp_path)


def test_an_index_that_is_a_bomb_is_not_read(tmp_path):
    """Ten thousand times its archive: no index of ours is, for hashes cannot be compressed."""
    crowd = index(study="x" * (20 << 20))
    archive = make(tmp_path / "x", [index_item(crowd)])
    assert archive.stat().st_size * 100 < 16 << 20
    assert "does not begin with the index" in refused(archive, tmp_path)


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_SPARSE])
def test_headers_that_would_fill_the_memory_are_not_read(tmp_path, kind):
    header = item("x", type=kind)[0]
    header.size = 1 << 33
    data = header.tobuf(tarfile.GNU_FORMAT)
    for lead in ([], [index_item(BASE)]):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for info, content in lead:
                tar.addfile(info, io.BytesIO(content))
            stop = tar.offset
        bomb = buffer.getvalue()[:stop] + data + bytes(1 << 20)
        (tmp_path / "x").write_bytes(zstandard.compress(bomb) + _TRAILER)
        assert "extended header of" in (line := refused(tmp_path / "x", tmp_path)) or "of type" in line


def test_a_bomb_is_not_unpacked(tmp_path):
    """A megabyte that unpacks to gigabytes, under an index that names one empty file."""
    compressor = zstandard.ZstdCompressor(level=3)
    with (tmp_path / "x").open("wb") as file:
        with compressor.stream_writer(file, closefd=False) as sink:
            with tarfile.open(fileobj=sink, mode="w|", format=tarfile.PAX_FORMAT) as tar:  # type: ignore[call-overload]
                for info, data in [index_item(BASE), directory("runs"), item("study/study.yaml")]:
                    tar.addfile(info, io.BytesIO(data))
            for _ in range(64):
                sink.write(bytes(1 << 24))
        file.write(_TRAILER)
    assert (tmp_path / "x").stat().st_size < 1 << 20
    assert "more after its end" in refused(tmp_path / "x", tmp_path)


def test_an_index_of_a_newer_version_asks_for_an_upgrade(tmp_path):
    newer = index_item(index().model_copy(update={"schema_version": 9}))
    line = refused(make(tmp_path / "x", [newer]), tmp_path)
    assert line.endswith("written by a newer loopscope (schema_version 9, this one knows 1); upgrade loopscope")


def test_an_index_that_was_changed_is_refused(tmp_path):
    data = document(index(study="mine")).replace(b'"mine"', b'"ours"')
    assert "seal" in refused(make(tmp_path / "x", [item(INDEX, data)]), tmp_path)


def test_a_well_formed_archive_of_a_damaged_study_is_refused(master, packed, tmp_path):
    """Its index is right about bytes that no study of ours has."""
    whole = index_of(packed)
    record = f"{RUN}/record.json"
    changed = (master / record).read_bytes().replace(b'"completed"', b'"deadline"')
    rebuilt = rebuild(tmp_path / "x", master, whole, {record: changed})
    assert "holds a study that is damaged: runs/t__a__s1/record.json: seal" in refused(rebuilt, tmp_path)


def rebuild(path: Path, study: Path, whole: ArchiveIndex, replaced: dict[str, bytes]) -> Path:
    import hashlib

    from loopscope.records.tree import name_of

    content: Callable[[str], bytes] = lambda name: replaced.get(name) or (study / name_of(name)).read_bytes()  # noqa: E731
    files = {
        name: ArchivedFile(
            sha256=hashlib.sha256(content(name)).hexdigest(), size=len(content(name)), executable=f.executable
        )
        for name, f in whole.files.items()
    }
    items = [index_item(whole.model_copy(update={"files": files}))]
    items += [directory(name_of(name)) for name in whole.directories]
    items += [item(PREFIX + name_of(n), content(n), mode=0o755 if f.executable else 0o644) for n, f in files.items()]
    items += [item(PREFIX + n, type=tarfile.SYMTYPE, linkname=target) for n, target in whole.links.items()]
    return make(path, items)


def test_the_hostile_archives_differ_from_good_ones_by_their_fault_alone(master, packed, tmp_path):
    take_in(rebuild(tmp_path / "x", master, index_of(packed), {}), tmp_path / "back")
    assert snapshot(tmp_path / "back") == snapshot(master)
    assert not verify_study(StudyStore(tmp_path / "back"), tree_hash).of(Severity.DAMAGED)
