"""Every document of every version is read; a new version comes with a specimen of the last and a way up from it."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from documents import SPECIMENS, current, specimen, versioned_types
from hypothesis import given
from hypothesis import strategies as st
from study_v1 import unpack

from loopscope.analysis.build import analyze
from loopscope.models import LimitState, RunRecord, RunStatus, StateScore, StudyLock, Versioned
from loopscope.models.base import same_fields
from loopscope.models.seal import document, seal, unseal
from loopscope.records import RecordError, StudyStore, read_model
from loopscope.records.durable import parse_model

TYPES = versioned_types()
VERSIONS = [(name, version) for name, kind in sorted(TYPES.items()) for version in range(1, current(kind) + 1)]


def test_the_documents_are_those_that_the_page_describes():
    assert {"RunRecord", "StateScore", "RunEvidence", "PreparedTask", "StudyLock", "StudySpec", "Manifest"} <= set(
        TYPES
    )
    page = (Path(__file__).parents[2] / "docs" / "records.md").read_text()
    for name in TYPES:
        assert f"`{name}`" in page, f"docs/records.md does not describe {name}"


@pytest.mark.parametrize(("name", "version"), VERSIONS)
def test_there_is_a_specimen_of_each_version_and_it_is_read(name, version):
    kind = TYPES[name]
    path = specimen(kind, version)
    assert path.is_file(), (
        f"no specimen of {name} version {version}; python tests/support/documents.py writes the newest"
    )
    data = path.read_bytes()
    assert json.loads(data)["schema_version"] == version
    model = parse_model(path, data, kind)
    assert model.schema_version == current(kind)
    assert parse_model(path, document(model), kind) == model, "what was brought up is written and read as itself"
    sealed = kind.SEALED_SINCE is not None and version >= kind.SEALED_SINCE
    assert unseal(data)[1] is (True if sealed else None)


@pytest.mark.parametrize("name", sorted(TYPES))
def test_each_version_has_a_step_to_the_next(name):
    kind = TYPES[name]
    assert set(kind.MIGRATIONS) == set(range(1, current(kind)))
    assert {path.name for path in SPECIMENS.glob(f"{name}.v*.json")} == {
        f"{name}.v{v}.json" for v in range(1, current(kind) + 1)
    }


def test_no_specimen_is_of_an_unknown_type():
    assert {path.name.split(".")[0] for path in SPECIMENS.iterdir()} == set(TYPES)


@pytest.mark.parametrize("name", sorted(TYPES))
@given(ahead=st.integers(1, 10**6), unknown=st.text(min_size=1))
def test_a_newer_version_is_refused_whatever_it_holds(name, ahead, unknown):
    kind = TYPES[name]
    version = current(kind) + ahead
    body = (json.dumps({"schema_version": version, f"x{unknown}": unknown}, indent=1) + "\n").encode()
    for data in (body, seal(body)):
        with pytest.raises(RecordError) as caught:
            parse_model(Path("d.json"), data, kind)
        line = str(caught.value)
        assert line == (
            f"d.json: written by a newer loopscope (schema_version {version}, this one knows {current(kind)}); "
            "upgrade loopscope"
        )


@pytest.mark.parametrize("version", [0, -1])
@pytest.mark.parametrize("name", sorted(TYPES))
def test_a_version_that_never_was_is_refused(name, version):
    data = json.loads(specimen(TYPES[name], 1).read_bytes()) | {"schema_version": version}
    with pytest.raises(RecordError, match="never written by any loopscope"):
        parse_model(Path("d.json"), json.dumps(data).encode(), TYPES[name])


def sealed_types() -> list[str]:
    return [name for name, kind in sorted(TYPES.items()) if kind.SEALED_SINCE is not None]


@pytest.mark.parametrize("name", sealed_types())
def test_a_sealed_version_is_not_read_without_its_seal(name):
    kind = TYPES[name]
    body, _ = unseal(specimen(kind, current(kind)).read_bytes())
    with pytest.raises(RecordError, match="seal: it was changed"):
        parse_model(Path("d.json"), body, kind)


def test_a_version_without_a_step_would_be_noticed():
    class Later(Versioned):
        schema_version: int = 3
        MIGRATIONS = {1: same_fields}  # noqa: RUF012  # a type as it may be written

    with pytest.raises(RecordError, match="schema_version 2 was never written"):
        parse_model(Path("d.json"), b'{"schema_version": 2}', Later)
    with pytest.raises(RecordError):
        parse_model(Path("d.json"), b'{"schema_version": 1}', Later)
    assert set(Later.MIGRATIONS) != set(range(1, current(Later)))


def test_the_first_version_of_a_record_says_the_same_in_the_present_one():
    old = json.loads(specimen(RunRecord, 1).read_bytes())
    new = parse_model(Path("r"), json.dumps(old).encode(), RunRecord)
    assert {name: limit.state.value for name, limit in new.limits.items()} == old["limits"]
    assert set(new.limits.values()) and all(limit.value is None for limit in new.limits.values())
    assert (new.unit, new.tries, new.status.value, new.run_id) == (None, 1, old["status"], old["run_id"])
    assert len(new.commits) == len(old["commits"]) > 0
    assert LimitState.ABSENT in {limit.state for limit in new.limits.values()}


def test_a_record_of_the_second_version_says_the_same_in_the_present_one():
    old = json.loads(specimen(RunRecord, 2).read_bytes())
    new = json.loads(parse_model(Path("r"), specimen(RunRecord, 2).read_bytes(), RunRecord).model_dump_json())
    assert (new.pop("schema_version"), new.pop("imported")) == (current(RunRecord), None)
    assert new == {name: value for name, value in old.items() if name not in ("schema_version", "seal")}


def comparable(frame: pl.DataFrame) -> list[tuple[object, ...]]:
    """Rows without what the first version took for known: whether a state of which nothing is said was evaluated."""
    if "measure" in frame.columns:
        frame = frame.filter(pl.col("measure") != "evaluated_before_commit")
    return frame.drop("evaluated_before_commit", strict=False).rows()


def test_a_study_of_the_first_version_is_read_whole_and_analysed_as_it_was(tmp_path):
    study = unpack(tmp_path)
    before = {path.name: pl.read_parquet(path) for path in (study / "tables").glob("*.parquet")}
    store = StudyStore.open(study)
    runs = {run.run_id: run for run in store.runs()}
    assert len(runs) == 16
    assert runs["toy__steps__s1"].record.status is RunStatus.COMPLETED
    assert all(isinstance(score, StateScore) for run in runs.values() for score in run.scores().values())
    assert set(store.tasks()) == {"toy", "broken"}
    assert read_model(study / "study.lock.json", StudyLock).units == {}
    result = analyze(study)
    assert not [line for line in result.summary.warnings if line.startswith("left out")]
    for name, old in before.items():
        was, now = (comparable(frame.select(old.columns)) for frame in (old, pl.read_parquet(study / "tables" / name)))
        assert [row for row in now if row in was] == was, f"{name}: later versions only add to it"
