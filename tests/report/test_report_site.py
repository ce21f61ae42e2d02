from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import polars as pl
import pytest
from study_maker import Study, make

from loopscope.report import ReportError, build_report
from loopscope.report.inputs import StudyInputs

Built = Callable[[str], Path]


class Page(HTMLParser):
    """Elements, ids, links and the text a reader sees."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self._in_script = False
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self._in_script = tag == "script"

    def handle_endtag(self, tag: str) -> None:
        self._in_script = self._in_script and tag != "script"

    def handle_data(self, data: str) -> None:
        if not self._in_script:
            self.text += data

    def values(self, name: str) -> list[str]:
        return [v or "" for k, v in self.attributes if k == name]


def pages(study: Path) -> list[Path]:
    return sorted((study / "report").rglob("*.html"))


def small(tmp_path: Path) -> Path:
    return make(tmp_path / "study", Study(agents=("search", "nop"), tasks=(("t", "c"),), seeds=(1,), commits=5))


def test_every_run_has_a_page_with_its_commits(built: Built) -> None:
    study = built("plain")
    inputs = StudyInputs(study)
    for run in inputs.runs:
        page = Page(study / "report" / "runs" / f"{run.run_id}.html")
        for row in inputs.checkpoints.get(run.run_id, ()):
            assert f"commit-{row.position + 1}" in page.values("id")
            assert row.subject in page.text
            assert row.gate_reason in page.text
        assert "Memory limit of 1.0 GiB met once: a process was killed." in page.text
        assert "peak 1.0 GiB of 1.0 GiB; met: once" in page.text


@pytest.mark.parametrize("shape", ["plain", pytest.param("wide", marks=pytest.mark.slow), "hostile", "calm", "empty"])
def test_every_link_leads_somewhere(built: Built, shape: str) -> None:
    ids = {path: set(Page(path).values("id")) for path in pages(built(shape))}
    for path in ids:
        page = Page(path)
        for link in page.values("href") + page.values("src"):
            file, fragment = urldefrag(link)
            target = (path.parent / unquote(file)).resolve() if file else path
            assert target.exists(), f"{path.name}: {link}"
            if fragment and "=" not in fragment and target.suffix == ".html":
                assert fragment in ids[target], f"{path.name}: {link}"


@pytest.mark.parametrize("shape", ["plain", "hostile"])
def test_pages_hold_no_code_of_their_own(built: Built, shape: str) -> None:
    for path in pages(built(shape)):
        page = Page(path)
        names = {k for k, _ in page.attributes}
        assert not {n for n in names if n.startswith("on")}
        assert "style" not in names
        assert not {"iframe", "object", "embed", "base", "form action", "img", "style"} & set(page.tags)
        for script in re.findall(r"<script([^>]*)>", path.read_text("utf-8")):
            assert 'type="application/json"' in script or re.search(r'src="(\.\./)?assets/(app|vega)\.js"', script)
        assert not [v for v in page.values("href") + page.values("src") if re.match(r"[a-z]+:|//", v)]


def test_hostile_text_is_shown_and_cut(built: Built) -> None:
    page = Page(built("hostile") / "report" / "runs" / "csv_groupby__search__s1.html")
    assert "<script>document.title='owned'</script>⟨ESC⟩[31mred" in page.text
    assert "⟨U+202E⟩evil" in page.text
    assert re.search(r"\[… [\d,]+ characters cut here …\]", page.text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202a-\u202e]", page.text)


def test_a_missing_score_is_a_dash_with_its_reason(built: Built) -> None:
    study = built("plain")
    page = Page(study / "report" / "runs" / "addition_chains__oracle__s2.html")
    assert "missing: the environment failed, so nothing was scored" in page.text
    assert "0.000" not in page.text
    assert "environment: bwrap" in page.text
    search = Page(study / "report" / "runs" / "addition_chains__search__s1.html")
    assert "missing: the verifier ran out of time" in search.text


def test_cost_and_time_say_what_is_unknown(tmp_path: Path) -> None:
    study = small(tmp_path)
    path = study / "tables" / "resources.parquet"
    frame = pl.read_parquet(path)
    known = (pl.col("agent") == "nop") & (pl.col("resource") == "cost_usd")
    frame.with_columns(
        per_task=pl.when(known).then(0.0).otherwise("per_task"),
        total=pl.when(known).then(0.0).otherwise("total"),
        unknown=pl.when(known).then(2).otherwise("unknown"),
    ).write_parquet(path)
    build_report(study)
    text = " ".join(Page(study / "report" / "index.html").text.split())
    start = text.index("Cost and time")
    part = text[start : text.index("Task by task", start)]
    assert "nop$0.00total $0.00, n = 0; 2 runs unknown" in part
    assert "search— missing: unknown for every run of this agent" in part
    assert "1 min 15 s, no intervaltotal 1 min 15 s, n = 1" in part


def test_the_list_price_stands_beside_the_cost_with_a_warning_where_they_lie_far_apart(tmp_path: Path) -> None:
    study = small(tmp_path)
    path = study / "tables" / "resources.parquet"
    frame = pl.read_parquet(path)
    mine = frame.filter((pl.col("agent") == "nop") & (pl.col("resource") == "cost_usd"))
    price = mine.with_columns(resource=pl.lit("priced_usd"), per_task=pl.lit(1.5), total=pl.lit(3.0), runs=pl.lit(2))
    pl.concat([frame, price.cast(frame.schema)]).write_parquet(path)
    build_report(study)

    def part() -> str:
        text = " ".join(Page(study / "report" / "index.html").text.split())
        return text[text.index("Cost and time") : text.index("Task by task")]

    assert "$1.50" in part() and "total $3.00, n = 2" in part()
    assert "lie far apart" not in part()
    runs = study / "tables" / "runs.parquet"
    said = [
        "the run is said to have cost 9 USD, and its tokens are worth 1.5 USD at the list prices of 2026-01-01 for m"
    ]
    doubt = pl.when(pl.col("agent") == "nop").then(pl.lit(said)).otherwise("flags")
    pl.read_parquet(runs).with_columns(flags=doubt).write_parquet(runs)
    build_report(study)
    assert "cost and list price lie far apart in" in part()


def test_the_reason_for_a_missing_final_score_is_how_its_verification_ended(tmp_path: Path) -> None:
    study = small(tmp_path)
    path = study / "tables" / "runs.parquet"
    (study / "runs" / "t__search__s1" / "scores" / "final.json").unlink()
    pl.read_parquet(path).with_columns(
        final_score=pl.lit(None, pl.Float64), final_status=pl.lit("unreadable")
    ).write_parquet(path)
    build_report(study)
    reason = "the verifier wrote something that is no number"
    assert f"missing: {reason}" in Page(study / "report" / "runs.html").text
    assert reason.capitalize() + "." in Page(study / "report" / "runs" / "t__search__s1.html").text


def test_the_story_tells_what_the_tables_say(built: Built) -> None:
    study = built("plain")
    inputs = StudyInputs(study)
    run = next(r for r in inputs.runs if r.agent == "search")
    text = " ".join(Page(study / "report" / "runs" / f"{run.run_id}.html").text.split())
    assert f"{run.n_commits} commits, of which 1 does not count" in text
    assert f"{len(inputs.dips[run.run_id])} dips" in text
    assert f"The final state scores {run.final_score:.3f}: the best step was kept." in text
    calm = Page(built("calm") / "report" / "runs" / "csv_groupby__search__s1.html").text
    assert "No commit fell by more than 0.01" in calm


def test_remarks_of_the_measures_are_spelled_out(tmp_path: Path) -> None:
    study = small(tmp_path)
    path = study / "tables" / "runs.parquet"
    flags = pl.lit(["cut_at_horizon", "a remark of its own"])
    pl.read_parquet(path).with_columns(flags.alias("flags")).write_parquet(path)
    build_report(study)
    text = Page(study / "report" / "runs" / "t__search__s1.html").text
    assert "C1 looks at the first 20 checkpoints only; this run has more." in text
    assert "a remark of its own" in text


def test_diffs_come_from_the_repository(built: Built) -> None:
    text = Page(built("plain") / "report" / "runs" / "csv_groupby__search__s1.html").text
    assert "solve.py" in text
    assert re.search(r"^\+value_\d+ = \d+  # step 1$", text, re.M)
    assert "-step 0\n+step 1" in text


def test_agents_stand_in_the_order_of_their_average_the_unscored_last(tmp_path: Path) -> None:
    study = make(tmp_path / "s", Study(tasks=(("t", "c"),), seeds=(1,), failed=("t__oracle__s1",)))
    assert StudyInputs(study).agents == ("search", "nop", "oracle")
    build_report(study)
    text = " ".join(Page(study / "report" / "index.html").text.split())
    assert "missing: no run of this agent has a final score" in text


def test_agents_with_different_tasks_are_not_ranked(tmp_path: Path) -> None:
    study = make(tmp_path / "s", Study(tasks=(("t", "c"), ("u", "d")), seeds=(1,), failed=("t__oracle__s1",)))
    build_report(study)
    text = " ".join(Page(study / "report" / "index.html").text.split())
    assert "What can be compared" in text and "different tasks (1 to 2 tasks each), so nobody is ranked" in text
    assert "avg@1, 1 common task" in text and "these bars do not compare them" in text
    assert "highest avg" not in text and "PlaceAgent" not in text
    same = make(tmp_path / "same", Study(tasks=(("t", "c"),), seeds=(1,)))
    build_report(same)
    text = " ".join(Page(same / "report" / "index.html").text.split())
    assert "highest avg@1" in text and "PlaceAgent" in text and "What can be compared" not in text


def test_rollouts_that_differ_in_number_are_told_as_they_are(tmp_path: Path) -> None:
    study = make(tmp_path / "s", Study(agents=("search", "nop"), tasks=(("t", "c"), ("u", "d")), seeds=(1, 2)))
    table = pl.read_parquet(study / "tables" / "task_scores.parquet")
    kept = table.filter(~((pl.col("agent") == "nop") & (pl.col("task") == "u")))
    fewer = (pl.col("agent") == "nop").alias("fewer")
    kept = kept.with_columns(k=pl.when(fewer).then(pl.lit(1)).otherwise(pl.col("k")).cast(table.schema["k"]))
    kept.write_parquet(study / "tables" / "task_scores.parquet")
    runs = pl.read_parquet(study / "tables" / "runs.parquet")
    mine = (pl.col("agent") == "search") | ((pl.col("task") == "t") & (pl.col("seed") == 1))
    runs.filter(mine).write_parquet(study / "tables" / "runs.parquet")
    build_report(study)
    text = " ".join(Page(study / "report" / "index.html").text.split())
    assert "2 agents on 2 tasks: 5 runs of 3 pairs of agent and task, 1 to 2 rollouts each" in text
    assert "avg@k" in text and "avg@2" not in text and "best of the k rollouts of a task, which are 1 to 2" in text
    assert "Rollouts per task, k1–2" in text or "Rollouts per task, k 1–2" in text


def test_a_dip_says_how_it_stands_to_the_noise(tmp_path: Path) -> None:
    study = make(tmp_path / "s", Study(agents=("search",), tasks=(("t", "c"),), seeds=(1,)))
    path = study / "tables" / "dips.parquet"
    frame = pl.read_parquet(path)
    known = {"depth_in_noise": 0.52, "confidence": 0.508, "confidence_method": "pairs", "confidence_pairs": 128}
    frame.with_columns(pl.lit(v).cast(frame.schema[k]).alias(k) for k, v in known.items()).write_parquet(path)
    build_report(study)
    text = Page(next((study / "report" / "runs").glob("*.html"))).text
    assert "In noise bands" in text and "0.52, within it" in text and "50.8 %, of 128 pairs" in text


def test_equal_inputs_give_equal_bytes(tmp_path: Path) -> None:
    study = small(tmp_path)
    build_report(study)
    first = {p.relative_to(study): p.read_bytes() for p in (study / "report").rglob("*") if p.is_file()}
    build_report(study)
    second = {p.relative_to(study): p.read_bytes() for p in (study / "report").rglob("*") if p.is_file()}
    assert first == second


@pytest.mark.slow
def test_a_site_of_27_runs_is_small(tmp_path: Path) -> None:
    study = make(tmp_path / "s", Study(commits=30, files={"data.txt": "".join(f"{i}\n" for i in range(50_000))}))
    build_report(study)
    sizes = {p: p.stat().st_size for p in (study / "report").rglob("*") if p.is_file()}
    assert sum(sizes.values()) < 6_000_000
    assert max(s for p, s in sizes.items() if p.suffix == ".html") < 500_000


def test_a_report_elsewhere_links_back_to_the_runs(tmp_path: Path) -> None:
    study = small(tmp_path)
    index = build_report(study, tmp_path / "site" / "here")
    assert index == tmp_path / "site" / "here" / "index.html"
    links = Page(index.parent / "runs" / "t__search__s1.html").values("href")
    assert "../../../study/runs/t__search__s1/record.json" in links


@pytest.mark.parametrize("name", ["runs", "checkpoints", "dips", "outcome", "process", "diagnostics", "task_scores"])
def test_a_missing_table_names_the_remedy(tmp_path: Path, name: str) -> None:
    study = small(tmp_path)
    (study / "tables" / f"{name}.parquet").unlink()
    with pytest.raises(ReportError, match=rf"{name}\.parquet: not there; run `loopscope analyze STUDY` first"):
        build_report(study)
    assert not (study / "report").exists()


def test_broken_tables_are_named(tmp_path: Path) -> None:
    study = small(tmp_path)
    path = study / "tables" / "outcome.parquet"
    whole = pl.read_parquet(path)
    whole.drop("avg_at_k").write_parquet(path)
    with pytest.raises(ReportError, match=r"outcome\.parquet: lacks the columns avg_at_k"):
        build_report(study)
    whole.with_columns(pl.lit("much").alias("avg_at_k")).write_parquet(path)
    with pytest.raises(ReportError, match=r"outcome\.parquet: row 0\.avg_at_k"):
        build_report(study)
    path.write_bytes(b"no parquet")
    with pytest.raises(ReportError, match="no readable Parquet"):
        build_report(study)
    (study / "tables" / "study.json").write_text("{}")
    with pytest.raises(ReportError, match=r"study\.json: name: Field required"):
        build_report(study)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_what_is_no_number_is_missing(tmp_path: Path, value: str) -> None:
    study = small(tmp_path)
    path = study / "tables" / "runs.parquet"
    pl.read_parquet(path).with_columns(pl.lit(float(value)).alias("c1")).write_parquet(path)
    assert all(r.c1 is None for r in StudyInputs(study).runs)


def test_a_folder_that_is_no_report_is_left_alone(tmp_path: Path) -> None:
    study = small(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(ReportError, match="holds something else than a report"):
        build_report(study, tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_a_failed_build_keeps_the_old_site(tmp_path: Path) -> None:
    study = small(tmp_path)
    index = build_report(study)
    before = index.read_bytes()
    (study / "tables" / "dips.parquet").unlink()
    with pytest.raises(ReportError):
        build_report(study)
    assert index.read_bytes() == before
    assert not list(study.glob(".tmp-*"))


def test_damaged_records_cost_only_themselves(tmp_path: Path) -> None:
    study = small(tmp_path)
    run = study / "runs" / "t__search__s1"
    for loose in (run / "repository" / "objects").glob("[0-9a-f][0-9a-f]/*"):
        loose.chmod(0o644)
        loose.write_bytes(b"garbage")
    (run / "scores" / "final.json").write_text("{")
    build_report(study)
    text = Page(study / "report" / "runs" / "t__search__s1.html").text
    assert "The diff cannot be read" in text
    assert "runs/t__search__s1/scores/final.json" in text
    assert str(tmp_path) not in text
