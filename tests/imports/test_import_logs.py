"""Logs become runs: one for each, never the same twice, never over another, and a broken one costs only itself."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest
from made_logs import PUBLIC, harbor_job, page_log
from whole_study import snapshot, whole_study

from loopscope.imports import Options, Report, import_logs
from loopscope.models import ImportedStudy, RunStatus
from loopscope.records import RecordError, StudyError, StudyStore, read_model
from loopscope.records.archive import export_study
from loopscope.records.finding import Severity
from loopscope.records.importing import import_study
from loopscope.records.settled import settled
from loopscope.records.verify import verify_study
from loopscope.tasks.copying import tree_hash
from loopscope.transcripts import formats, serial
from loopscope.transcripts.errors import TranscriptError

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"


def take(into: Path, *paths: Path, **options: str) -> Report:
    return import_logs(paths, into, Options(**options))


def run_ids(study: Path) -> list[str]:
    return [run.run_id for run in StudyStore.open(study).runs()]


def findings(study: Path) -> list[str]:
    return [str(found) for found in verify_study(StudyStore.open(study), tree_hash).findings]


def test_a_log_is_a_run_with_what_it_says_of_itself(tmp_path: Path) -> None:
    log = page_log(
        tmp_path / "logs" / "one.json", id="0123456789abcdef", task="sorting", category="puzzles", seed="seed-7"
    )
    report = take(tmp_path / "study", log)
    [taken] = report.taken
    assert (taken.run_id, taken.format, taken.messages, taken.calls, taken.new) == (
        "sorting__model__s7",
        "page",
        1,
        1,
        True,
    )
    run = StudyStore.open(tmp_path / "study").run(taken.run_id)
    record = run.record
    assert (record.task, record.category, record.agent, record.model, record.seed) == (
        "sorting", "puzzles", "model", "model", 7,
    )  # fmt: skip
    assert (record.status, record.harness, record.task_hash, record.started_at) == (
        RunStatus.UNKNOWN,
        "unknown",
        None,
        None,
    )
    assert record.usage.tokens is None and record.commits == () and not record.has_transcript
    assert record.imported is not None
    assert (record.imported.format, record.imported.log) == ("page", "one.json")
    assert record.imported.sessions == ("0123456789abcdef",)
    [transcript] = formats.read(log)
    assert serial.load(run.canonical) == transcript
    assert serial.pack(transcript).digest == record.imported.digest
    assert findings(tmp_path / "study") == []


def test_what_a_person_says_holds_for_all(tmp_path: Path) -> None:
    take(tmp_path / "s", page_log(tmp_path / "a.json", task=None), task="mine", category="own", agent="me")
    record = StudyStore.open(tmp_path / "s").run("mine__me__s1").record
    assert (record.task, record.category, record.agent) == ("mine", "own", "me")


def test_a_logs_own_task_stands_and_the_option_is_for_those_without(tmp_path: Path) -> None:
    page_log(tmp_path / "logs" / "a.json", "a", task="sorting", seed=1)
    page_log(tmp_path / "logs" / "b.json", "b", task=None, seed=2)
    report = take(tmp_path / "s", tmp_path / "logs", task="mine")
    assert [taken.run_id for taken in report.taken] == ["sorting__model__s1", "mine__model__s2"]
    [warning] = report.warnings
    assert warning.startswith("a.json: filed under the task that the log itself names")
    assert take(tmp_path / "s", tmp_path / "logs", task="mine").warnings == [], "nothing was filed"


def test_a_study_of_imported_runs_alone_says_so(tmp_path: Path) -> None:
    take(tmp_path / "s", page_log(tmp_path / "a.json"))
    assert read_model(tmp_path / "s" / "imported.json", ImportedStudy).name == "s"
    found = settled(tmp_path / "s")
    assert (found.name, found.spec, found.warnings) == ("s", None, ())


@pytest.mark.parametrize(
    ("path", "harness"),
    [
        ("claude", "claude-code 2.1.152"),
        ("codex", "codex 0.142.4"),
        ("opencode/export.json", "opencode 1.17.18"),
    ],
)
def test_times_and_tokens_of_real_logs(tmp_path: Path, path: str, harness: str) -> None:
    report = take(tmp_path / "s", LOGS / path, task="t")
    record = StudyStore.open(tmp_path / "s").run(report.taken[0].run_id).record
    assert record.harness == harness
    assert record.started_at is not None and record.finished_at is not None
    seconds = (record.finished_at - record.started_at).total_seconds()
    assert record.timings.total_sec == pytest.approx(seconds, abs=1e-3) and seconds > 0
    assert record.timings.agent_sec is None, "what lies between the turns of a resumed session is nobody's time"
    assert (record.usage.tokens or 0) > 200_000 and record.usage.cost_usd is None
    assert record.imported is not None and record.imported.usage_source != "none"


def test_a_session_in_one_go_is_the_agents_time(tmp_path: Path) -> None:
    [rollout] = (LOGS / "codex").rglob("*01a22eeb-cd5e-*.jsonl")
    [taken] = take(tmp_path / "s", rollout, task="t").taken
    timings = StudyStore.open(tmp_path / "s").run(taken.run_id).record.timings
    assert timings.agent_sec == timings.total_sec and (timings.agent_sec or 0) > 0


def test_the_same_log_again_changes_nothing(tmp_path: Path) -> None:
    log = page_log(tmp_path / "a.json", seed=None)
    take(tmp_path / "s", log)
    before = snapshot(tmp_path / "s")
    shutil.copy(log, tmp_path / "copy.json")
    for path in (log, tmp_path / "copy.json"):
        [taken] = take(tmp_path / "s", path).taken
        assert (taken.run_id, taken.new) == ("t__model__s1", False)
    assert snapshot(tmp_path / "s") == before


def test_the_same_session_by_another_way_is_no_second_run(tmp_path: Path) -> None:
    take(tmp_path / "s", LOGS / "claude" / "projects", task="t")
    report = take(tmp_path / "s", LOGS / "claude" / "stream-0.jsonl", task="t")
    assert [taken.new for taken in report.taken] == [False]
    assert "its session is in the study already, as t__claude-sonnet-4-5__s1" in report.warnings[0]
    assert run_ids(tmp_path / "s") == ["t__claude-sonnet-4-5__s1"]


def test_short_ids_of_sessions_are_not_taken_for_unique(tmp_path: Path) -> None:
    logs = [page_log(tmp_path / f"{n}.json", f"Do {n}.", id="main", seed=None) for n in range(2)]
    assert take(tmp_path / "s", *logs).new == 2


def test_logs_without_a_seed_get_the_lowest_that_is_free(tmp_path: Path) -> None:
    page_log(tmp_path / "logs" / "0.json", "two", seed="seed-2")
    for name in "ab":
        page_log(tmp_path / "logs" / f"{name}.json", name, seed=None)
    report = take(tmp_path / "s", tmp_path / "logs")
    assert [(taken.log, taken.run_id) for taken in report.taken] == [
        ("0.json", "t__model__s2"),
        ("a.json", "t__model__s1"),
        ("b.json", "t__model__s3"),
    ]


def test_another_log_of_a_runs_name_is_refused(tmp_path: Path) -> None:
    take(tmp_path / "s", page_log(tmp_path / "a.json", "one"))
    before = snapshot(tmp_path / "s")
    report = take(tmp_path / "s", page_log(tmp_path / "b.json", "two"))
    assert not report.taken
    assert "has another run t__model__s1, and nothing is overwritten" in report.unread[0].reason
    assert snapshot(tmp_path / "s") == before
    assert take(tmp_path / "s", tmp_path / "b.json", agent="other").new == 1


def test_a_broken_log_among_many_costs_only_itself(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    page_log(logs / "a.json", "a", seed=1)
    (logs / "b.json").write_bytes(b'{"synthetic": "m", "messages": 3}')
    (logs / "c.json").write_bytes(os.urandom(100))
    (logs / "README.md").write_text("What these are.\n")
    page_log(logs / "d.json", "d", seed=2, task=None)
    page_log(logs / "e.json", "e", seed=3)
    report = take(tmp_path / "s", logs)
    assert [taken.run_id for taken in report.taken] == ["t__model__s1", "t__model__s3"]
    assert [unread.name for unread in report.unread] == ["b.json", "c.json", "d.json"]
    reasons = [unread.reason for unread in report.unread]
    assert "has no list `messages`" in reasons[0]
    assert "in no format that is known" in reasons[1]
    assert reasons[2] == "its log names no task; import it again with --task NAME"
    assert findings(tmp_path / "s") == []


def test_a_job_of_harbors_gives_its_trials_and_names_the_broken_one(tmp_path: Path) -> None:
    job = harbor_job(tmp_path / "job", "one__a", "one__b-broken", "two__c")
    report = take(tmp_path / "s", job)
    assert [StudyStore(tmp_path / "s").run(taken.run_id).record.task for taken in report.taken] == [
        "org-one",
        "org-two",
    ]
    assert [taken.log.split(":")[0] for taken in report.taken] == ["one__a", "two__c"]
    assert [unread.name for unread in report.unread] == ["one__b-broken"]


def test_an_evaluation_of_inspects_gives_a_run_for_each_sample(tmp_path: Path) -> None:
    report = take(tmp_path / "s", LOGS / "inspect" / "two_questions.eval")
    assert [taken.run_id for taken in report.taken] == ["two_questions-one__model__s1", "two_questions-two__model__s1"]


def test_logs_of_all_harnesses_in_one_directory(tmp_path: Path) -> None:
    for name in ("claude", "codex", "kimi"):
        shutil.copytree(LOGS / name, tmp_path / "logs" / name)
    page_log(tmp_path / "logs" / "x.json")
    report = take(tmp_path / "s", tmp_path / "logs", task="t")
    assert not report.unread
    assert sorted({taken.format for taken in report.taken if taken.new}) == [
        "claude-code",
        "codex",
        "kimi-code",
        "page",
    ]


@pytest.mark.parametrize("harness", ["claude", "codex", "kimi"])
def test_what_lies_beside_a_harness_logs_is_imported_or_named(tmp_path: Path, harness: str) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(LOGS / harness, logs / "h" / harness)
    page_log(logs / "pages" / "deep" / "x.json", "x")
    (logs / "pages" / "zero.json").write_bytes(b"0")
    (logs / "pages" / "README.md").write_text("What these are.\n")
    (logs / "pages" / "opencode.db.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    (logs / "h" / harness / "history.jsonl").write_text("{}\n")
    report = take(tmp_path / "s", logs, task="t")
    assert {"page"} < {taken.format for taken in report.taken}
    assert sorted(unread.name for unread in report.unread) == ["pages/opencode.db.zst", "pages/zero.json"]
    assert any("is compressed; unpack it" in unread.reason for unread in report.unread)


def test_a_cut_rollout_does_not_hide_the_broken_logs_beside_it(tmp_path: Path) -> None:
    [rollout] = (LOGS / "codex").rglob("*01a22eeb-cd5e-*.jsonl")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "rollout-cut.jsonl").write_bytes(rollout.read_bytes()[:4000])
    for name in ("empty", "zero"):
        (tmp_path / "logs" / f"{name}.json").write_text("{}")
    report = take(tmp_path / "s", tmp_path / "logs", task="t")
    assert [taken.format for taken in report.taken] == ["codex"]
    assert [unread.name for unread in report.unread] == ["empty.json", "zero.json"]


def test_files_of_a_harness_own_directory_are_no_logs(tmp_path: Path) -> None:
    shutil.copytree(LOGS / "codex", tmp_path / ".codex")
    (tmp_path / ".codex" / "auth.json").write_text("{}")
    report = take(tmp_path / "s", tmp_path / ".codex", task="t")
    assert report.new and not report.unread


def test_a_forced_format_that_fails_is_told_once(tmp_path: Path) -> None:
    report = import_logs([page_log(tmp_path / "a.json")], tmp_path / "s", Options(format="codex"))
    [unread] = report.unread
    assert "holds no message, call or count as codex; check that codex is its format" in unread.reason


def test_runs_of_two_harnesses_under_one_label_are_pointed_out(tmp_path: Path) -> None:
    report = take(tmp_path / "s", LOGS / "kimi", LOGS / "opencode" / "export.json", task="t")
    assert report.new == 2
    assert report.warnings == [
        "scripted-model: runs of several harnesses (kimi-code, opencode) under one label; --agent keeps them apart"
    ]


def test_into_a_study_that_was_run(tmp_path: Path) -> None:
    made = whole_study(tmp_path / "s")
    before = snapshot(tmp_path / "s")
    log = page_log(tmp_path / "a.json", task="t", synthetic="a", seed=None, category="other")
    [taken] = take(tmp_path / "s", log).taken
    assert taken.run_id == "t__a__s2", "s1 is the study's own"
    record = made.store.run(taken.run_id).record
    assert record.category == made.store.task("t").info.category, "the prepared task's"
    assert record.study == "made"
    after = snapshot(tmp_path / "s")
    assert {name: after[name] for name in before} == before
    assert not [line for line in findings(tmp_path / "s") if taken.run_id in line]
    assert not (tmp_path / "s" / "imported.json").exists()
    [refused] = take(tmp_path / "s", page_log(tmp_path / "b.json", task="t", synthetic="a", seed=1)).unread
    assert "has another run t__a__s1" in refused.reason


def test_a_killed_import_is_repeated(tmp_path: Path) -> None:
    study = tmp_path / "s"
    logs = [page_log(tmp_path / f"{n}.json", f"Do {n}.", seed=n) for n in (1, 2)]
    take(study, logs[0])
    torn = study / "runs" / ".tmp-0123456789ab-t__model__s2"
    torn.mkdir()
    (torn / "canonical.json.zst").write_bytes(b"half")
    assert take(study, *logs).new == 1
    assert not torn.exists() and run_ids(study) == ["t__model__s1", "t__model__s2"]
    assert findings(study) == []


def test_an_import_that_was_killed_before_its_first_run_is_repeated(tmp_path: Path) -> None:
    (tmp_path / "s" / "runs" / ".tmp-0123456789ab-t__model__s1").mkdir(parents=True)
    (tmp_path / "s" / ".tmp-0123456789ab-imported.json").write_bytes(b"{")
    (tmp_path / "s" / ".lock").touch()
    assert take(tmp_path / "s", page_log(tmp_path / "a.json")).new == 1
    assert findings(tmp_path / "s") == []


def test_a_changed_transcript_is_noticed(tmp_path: Path) -> None:
    take(tmp_path / "s", page_log(tmp_path / "a.json"))
    run = StudyStore.open(tmp_path / "s").run("t__model__s1")
    run.canonical.write_bytes(run.canonical.read_bytes() + b"x")
    damaged = verify_study(StudyStore.open(tmp_path / "s"), tree_hash).of(Severity.DAMAGED)
    assert [found.place for found in damaged] == ["runs/t__model__s1/canonical.json.zst"]
    with pytest.raises(RecordError, match="was changed"):
        run.check_inputs()


def test_nothing_is_left_where_nothing_could_be_imported(tmp_path: Path) -> None:
    report = take(tmp_path / "s", page_log(tmp_path / "a.json", task=None))
    assert not report.taken and not (tmp_path / "s").exists()
    with pytest.raises(TranscriptError, match="no such file"):
        take(tmp_path / "s", tmp_path / "a.json", tmp_path / "absent")
    assert not (tmp_path / "s").exists()


def test_nothing_is_left_where_the_disk_refuses_the_first_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    log = page_log(tmp_path / "one.json")
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        with pytest.raises(OSError, match="No space") as caught:
            take(tmp_path / "s", log)
    assert Path(caught.value.filename).parent == tmp_path / "s/runs", "which a full disk does not say itself"
    assert not (tmp_path / "s").exists()
    assert take(tmp_path / "s", log).new == 1


def test_a_fault_of_ours_costs_the_log_it_is_met_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = formats.read

    def faulty(path: Path, format_name: str) -> object:
        if path.name == "a.json":
            int("9" * 5000)
        return read(path, format_name)

    monkeypatch.setattr(formats, "read", faulty)
    logs = [page_log(tmp_path / f"{name}.json", id=f"{name}23456789abcdef0") for name in "ab"]
    report = take(tmp_path / "s", *logs)
    [unread] = report.unread
    assert (unread.name, report.new) == ("a.json", 1)
    assert unread.reason.startswith("could not be read: ValueError at imports/intake.py:")
    assert "report it" in unread.reason


def test_a_directory_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home" / "letters").mkdir(parents=True)
    with pytest.raises(StudyError, match="holds something else than a study"):
        take(tmp_path / "home", page_log(tmp_path / "a.json"))
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["letters"]


def test_a_held_study_is_not_written(tmp_path: Path) -> None:
    log = page_log(tmp_path / "a.json")
    take(tmp_path / "s", log)
    with StudyStore.open(tmp_path / "s").hold(), pytest.raises(StudyError, match="another loopscope"):
        take(tmp_path / "s", log)


def test_equal_logs_give_equal_bytes(tmp_path: Path) -> None:
    log = page_log(tmp_path / "a.json")
    for folder in ("x", "y"):
        take(tmp_path / folder / "s", log)
    assert snapshot(tmp_path / "x" / "s") == snapshot(tmp_path / "y" / "s")


def test_names_that_are_no_utf8_are_spelled_out(tmp_path: Path) -> None:
    page_log(tmp_path / "logs" / "a.json").rename(tmp_path / "logs" / "caf\udce9.json")
    [taken] = take(tmp_path / "s", tmp_path / "logs").taken
    record = StudyStore.open(tmp_path / "s").run(taken.run_id).record
    assert record.imported is not None and record.imported.log == "caf\\xe9.json"
    with pytest.raises(StudyError, match="is no UTF-8"):
        take(tmp_path / "caf\udce9", tmp_path / "logs")


@pytest.mark.parametrize("category", ["overall", " ", ""])
def test_no_log_can_name_a_family_that_stands_for_all(tmp_path: Path, category: str) -> None:
    log = page_log(tmp_path / "a.json", category=category)
    with pytest.raises(StudyError, match="--category"):
        take(tmp_path / "s", log, category=category)
    take(tmp_path / "s", log)
    assert StudyStore.open(tmp_path / "s").run("t__model__s1").record.category == "uncategorized"


def test_what_a_log_holds_cannot_lead_out_of_the_study(tmp_path: Path) -> None:
    log = page_log(tmp_path / "in" / "a.json", task="../../../up", synthetic="../x\n\x1b[31m", seed="../9")
    [taken] = take(tmp_path / "s", log).taken
    assert taken.run_id.startswith("up__") and taken.run_id.endswith("__s9") and "/" not in taken.run_id
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "s"]
    assert findings(tmp_path / "s") == []


EVALUATOR = """\
schema_version: 1
task: t
category: speed
metric: time
direction: minimize
evaluations:
  - {role: score, program: bench, value: 'time (?P<value>[0-9.]+)'}
reward: {kind: log, base: 2, reference: 1}
"""


def test_an_evaluator_is_checked_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(EVALUATOR)
    log = page_log(tmp_path / "a.json")
    report = import_logs([log], tmp_path / "s", Options(evaluators=(file,)))
    kept = tmp_path / "s" / "evaluators" / "t.yaml"
    assert report.evaluators == ("t",) and kept.read_text() == EVALUATOR
    assert StudyStore.open(tmp_path / "s").run("t__model__s1").record.category == "speed"
    import_logs([log], tmp_path / "s", Options(evaluators=(file,)))
    file.write_text(EVALUATOR.replace("base: 2", "base: 3"))
    with pytest.raises(RecordError, match="another evaluator of t, and nothing is overwritten"):
        import_logs([log], tmp_path / "s", Options(evaluators=(file,)))
    assert kept.read_text() == EVALUATOR
    assert findings(tmp_path / "s") == []


def test_such_a_study_goes_through_an_archive(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(EVALUATOR)
    import_logs([page_log(tmp_path / "a.json")], tmp_path / "s", Options(evaluators=(file,)))
    archive = export_study(StudyStore.open(tmp_path / "s"), tmp_path / "x", tree_hash).file
    taken = import_study(archive, tmp_path / "again", tree_hash, max_bytes=1 << 30)
    assert (taken.index.study, taken.check.whole) == ("s", True)
    assert snapshot(tmp_path / "again") == snapshot(tmp_path / "s")


def test_an_evaluators_misspelt_field_is_told_by_the_one_that_was_meant(tmp_path: Path) -> None:
    for field, said in (("categry", "did you mean `category`"), ("zzz", "remove it")):
        (tmp_path / "mine.yaml").write_text(f"{EVALUATOR}\n{field}: x\n")
        with pytest.raises(RecordError, match=rf"mine\.yaml: {field}: .*: unknown field, {said}"):
            import_logs([page_log(tmp_path / "a.json")], tmp_path / "s", Options(evaluators=(tmp_path / "mine.yaml",)))


@pytest.mark.parametrize(("change", "said"), [("direction: up", "direction"), ("task: ../t", "task")])
def test_a_bad_evaluator_stops_everything(tmp_path: Path, change: str, said: str) -> None:
    field = change.split(":")[0]
    lines = [change if line.startswith(field) else line for line in EVALUATOR.splitlines()]
    (tmp_path / "mine.yaml").write_text("\n".join(lines))
    with pytest.raises(RecordError, match=rf"mine\.yaml: {said}"):
        import_logs([page_log(tmp_path / "a.json")], tmp_path / "s", Options(evaluators=(tmp_path / "mine.yaml",)))
    assert not (tmp_path / "s").exists()


@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public transcripts are not here")
def test_public_transcripts(tmp_path: Path) -> None:
    for path in sorted(PUBLIC.glob("*.json"), key=lambda p: p.stat().st_size)[:4]:
        shutil.copy(path, tmp_path)
    report = take(tmp_path / "study", tmp_path)
    assert report.new == 4 and not report.unread
    assert {StudyStore.open(tmp_path / "study").run(t.run_id).record.seed for t in report.taken} <= {1, 2, 3}
