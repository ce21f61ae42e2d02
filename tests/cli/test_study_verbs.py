"""`loopscope study ...` as a user meets it."""

from __future__ import annotations

import builtins
import errno
import fcntl
import io
import json
import os
import shutil
import tarfile
from pathlib import Path

import pytest
import zstandard
from cli_study import error_line, scripted, write_study
from study_v1 import unpack
from toy_study import START
from whole_study import snapshot, whole_study

from loopscope.records import StudyStore
from loopscope.records.archive import _TRAILER

RUN = "runs/t__a__s1"


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("master") / "study"
    whole_study(path)
    return path


@pytest.fixture
def study(master: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(master, tmp_path / "study", symlinks=True))


def test_verify_says_that_all_is_well_or_what_is_not(cli, study):
    assert cli("study", "verify", "study").stdout == "2 runs looked at; 0 damaged, 0 incomplete, 0 note\n"
    (study / RUN / "scores/final.json").unlink()
    (study / RUN / "transcript.json").write_text("[]")
    first, second, last = cli("study", "verify", "study", check=1).stdout.splitlines()
    assert first.startswith(f"damaged {RUN}/transcript.json: was changed: 2 bytes")
    assert second == f"incomplete {RUN}/scores/final.json: the state has no score; `loopscope score` does it"
    assert last == "2 runs looked at; 1 damaged, 1 incomplete, 0 note"
    found = json.loads(cli("study", "verify", "study", "--json", check=1).stdout)
    assert (found["runs"], found["whole"], len(found["findings"])) == (2, False, 2)
    assert cli("study", "verify", "study", "t__b__s1").exit_code == 0
    assert "no run is called 'x'" in error_line(cli("study", "verify", "study", "x", check=2))


def test_a_name_of_an_agent_s_is_no_markup_and_no_escape(cli, study):
    (study / RUN / "native/[bold]\x1b[31m.log").write_text("x")
    line = cli("study", "verify", "study", check=1).stdout.splitlines()[0]
    assert "native/[bold]\\x1b[31m.log: was added" in line
    assert line.isprintable()


def test_a_study_of_the_first_version_is_called_not_sealed(cli, tmp_path):
    unpack(tmp_path)
    text = cli("study", "verify", "first", check=1).stdout
    assert "16 runs looked at, 16 of them not sealed (by an earlier version); 0 damaged" in text


def test_export_and_import(cli, study, tmp_path):
    assert "study.loopscope.tar.zst: " in cli("study", "export", "study").stdout
    assert "nothing is overwritten" in error_line(cli("study", "export", "study", check=2))
    assert "nothing is overwritten" in error_line(cli("study", "import", "study.loopscope.tar.zst", check=2))
    done = json.loads(cli("study", "import", "study.loopscope.tar.zst", "--into", "back", "--json").stdout)
    assert done == {"directory": "back", "study": "made", "runs": 2, "left_out": [], "incomplete": []}
    assert snapshot(tmp_path / "back") == snapshot(study)
    shutil.rmtree(study)
    cli("study", "import", "study.loopscope.tar.zst")
    for verb in ("analyze", "report"):
        cli(verb, "study")


def test_parts_are_left_out_by_name(cli, study, tmp_path):
    text = cli("study", "export", "study", "--out", "x", "--without", "native,workspace").stdout
    assert text.startswith("x: ")
    assert "without native, workspace" in cli("study", "import", "x").stdout
    assert cli("study", "verify", "x.study").exit_code == 0
    line = error_line(cli("study", "export", "study", "--without", "natve", check=2))
    assert line.endswith("choose of native, workspace, attempts, tables, report")


def test_a_bad_archive_is_one_line(cli, study, tmp_path):
    cli("study", "export", "study", "--out", "x")
    (tmp_path / "x").write_bytes((tmp_path / "x").read_bytes()[:-1])
    assert "x: is cut short, or is no archive of a study" in error_line(cli("study", "import", "x", check=2))
    assert "x.study" not in {path.name for path in tmp_path.iterdir()}
    assert "--max-gb" in error_line(cli("study", "import", export_again(cli), "--max-gb", "0.00001", check=2))


def export_again(cli) -> str:
    cli("study", "export", "study", "--out", "y")
    return "y"


def test_gc_shows_and_takes(cli, study):
    (study / ".tmp-x").mkdir()
    before = snapshot(study)
    text = cli("study", "gc", "study", "--native").stdout
    assert f"{RUN}/native" in text
    assert text.endswith("would go; nothing was touched. `--yes` removes it\n")
    assert snapshot(study) == before
    found = json.loads(cli("study", "gc", "study", "--native", "--yes", "--json").stdout)
    assert found["removed"]
    assert {item["place"] for item in found["items"]} == {
        ".tmp-x", f"{RUN}/native", f"{RUN}/attempts/1/native", "runs/t__b__s1/native",
    }  # fmt: skip
    assert cli("study", "verify", "study").exit_code == 0
    assert cli("study", "gc", "study").stdout == "0 items, 0 B: there is nothing to remove\n"


@pytest.mark.parametrize("verb", ["verify", "export", "gc"])
def test_no_study_is_one_line_and_nothing_is_made(cli, tmp_path, verb):
    assert "no study here" in error_line(cli("study", verb, "nowhere", check=2))
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("verb", ["export", "gc"])
def test_a_study_that_is_being_run_is_left_alone(cli, study, verb):
    with StudyStore(study).hold():
        assert "another loopscope is running this study" in error_line(cli("study", verb, "study", check=2))


def test_a_newer_record_is_a_warning_of_analyze_that_asks_for_an_upgrade(cli, study):
    path = study / RUN / "record.json"
    path.write_text('{"schema_version": 99}\n')
    done = cli("analyze", "study")
    assert "upgrade loopscope" in " ".join(done.stderr.split())
    assert "remove it" not in done.stderr


def test_what_an_archive_says_moves_no_terminal(cli, tmp_path):
    body = '{\n "schema_version": 1,\n "x\\u001b]0;owned\\u0007\\u202e[bold]": 1\n}\n'
    with tarfile.open(tmp_path / "t", "w") as tar:
        info = tarfile.TarInfo("index.json")
        info.size = len(body)
        tar.addfile(info, io.BytesIO(body.encode()))
    (tmp_path / "x").write_bytes(zstandard.compress((tmp_path / "t").read_bytes()) + _TRAILER)
    line = error_line(cli("study", "import", "x", check=2))
    assert line.isprintable()


@pytest.mark.sandbox
@pytest.mark.slow
def test_what_the_engine_leaves_is_whole_and_goes_on_elsewhere(cli, tmp_path):
    write_study(tmp_path, [scripted("a", START, "echo 0.5 > value.txt && git commit -qam 'round 1: change=x'"), "nop"])
    cli("run", "s.yaml")
    assert cli("study", "verify", "s").stdout == "2 runs looked at; 0 damaged, 0 incomplete, 0 note\n"
    cli("study", "export", "s", "--without", "native")
    cli("study", "import", "s.loopscope.tar.zst", "--into", "back")
    assert cli("study", "verify", "back").exit_code == 0
    assert json.loads(cli("score", "back", "--json").stdout)["verifications"] == 0
    for folder in ("s", "back"):
        cli("analyze", folder)
    assert snapshot(tmp_path / "back/tables") == snapshot(tmp_path / "s/tables")
    shutil.rmtree(tmp_path / "s/runs/toy__nop__s1")
    assert "runs/toy__nop__s1: no such directory" in cli("study", "verify", "s", check=1).stdout
    cli("run", "s.yaml")
    cli("study", "verify", "s")
    cli("study", "gc", "s", "--workspaces", "--native", "--yes")
    cli("study", "verify", "s")
    assert json.loads(cli("run", "s.yaml", "--json").stdout)["rollouts_done_now"] == 0


@pytest.fixture
def read_only(study: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The study as one meets it who may only read it; root, as whom tests may run, is refused nothing by modes."""
    (study / ".lock").unlink(missing_ok=True)
    opened = os.open

    def refuse(path, flags, *args, **kwargs):
        if flags & (os.O_RDWR | os.O_WRONLY | os.O_CREAT) and Path(os.fsdecode(path)).is_relative_to(study):
            raise PermissionError(errno.EACCES, "Permission denied", os.fsdecode(path))
        return opened(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(io, "open", lambda path, mode="r", *a, **k: _open(path, mode, refuse, *a, **k))
    return study


def _open(path, mode, refuse, *args, **kwargs):
    if not isinstance(path, int) and set(mode) & set("wax+"):
        os.close(refuse(path, os.O_WRONLY | os.O_CREAT))
        if "x" in mode:
            os.unlink(path)
    return builtins.open(path, mode, *args, **kwargs)


def test_a_study_that_one_may_only_read_is_packed_with_a_warning(cli, read_only, tmp_path):
    done = cli("study", "export", "study", "--out", "elsewhere")
    assert "may not write there, so it could not be held" in done.stderr
    assert (tmp_path / "elsewhere").is_file()
    assert not (read_only / ".lock").exists()


def test_the_lock_of_another_s_study_is_shared(cli, read_only):
    with builtins.open(read_only / ".lock", "w") as lock:
        assert "could not be held" not in cli("study", "export", "study", "--out", "elsewhere").stderr
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "another loopscope" in error_line(cli("study", "export", "study", "--out", "other", check=2))


def test_analyze_without_write_access_names_the_directory_and_the_way(cli, read_only):
    (read_only / "tables/made_from.json").unlink(missing_ok=True)  # tables that hold are kept, and nothing is written
    line = error_line(cli("analyze", "study", check=1))
    assert "study: this user may not write there" in line
    assert "loopscope study export study" in line
