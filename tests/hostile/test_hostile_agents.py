"""Each hostile agent: the official score unmoved, the host untouched, the study alive, the record clear."""

from __future__ import annotations

import os
import re
from decimal import Decimal
from pathlib import Path

import pytest
from arena import BUDGETS, HONEST, NEIGHBOUR
from fighting import Fought, fight
from kinds import KINDS, Hostile
from kinds.base import Part

from loopscope.models import RunRecord, StateScore
from loopscope.records import FINAL, RunDir

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

USERS = ["root", "user"] if os.geteuid() == 0 else ["user"]
BEST = Decimal("0.3")
ARENAS = [(study, user) for study in BUDGETS for user in USERS]
"""Each is a study of its own, and takes a while: its tests belong together (tests/conftest.py)."""
each_arena = pytest.mark.parametrize(("study", "user"), ARENAS, ids=map(".".join, ARENAS))


def each_kind(part: Part) -> pytest.MarkDecorator:
    """All kinds of all arenas."""
    fights = [(kind, user) for kind in KINDS.values() for user in USERS if kind.part(user) == part]
    return pytest.mark.parametrize(
        ("kind", "user"), fights, ids=[f"{kind.study}.{user}-{kind.name}" for kind, user in fights]
    )


def run_of(fought: Fought, name: str) -> RunDir:
    run = fought.store.run(f"toy__{name}__s1")
    assert run.is_recorded, f"no record of {name}"
    return run


def shown(value: Decimal | None) -> str | None:
    return None if value is None else str(value.normalize())


def assert_score_unmoved(kind: Hostile, run: RunDir, honest: RunDir) -> None:
    """Final and commits are worth what an honest twin's are; or missing with a reason where the kind admits that."""
    final = run.score(FINAL)
    if "workspace_too_large" in kind.says:
        # What is not brought out is no state: there is nothing to score, and the record's problem is the reason.
        assert final is None and run.record.commits == ()
        return
    assert final is not None, "the final state was never scored"
    assert shown(final.value) in kind.final, f"final: {told(final)}"
    deserved = [honest.score(commit.state) for commit in honest.record.commits]
    assert [shown(score and score.value) for score in deserved] == ["0.1", "0.3"]
    scores = {commit.state: run.score(commit.state) for commit in run.record.commits}
    for expected, twin in zip(kind.history, honest.record.commits, strict=False):
        same = [scores[c.state] for c in run.record.commits if c.scored_tree == twin.scored_tree]
        assert same, f"the commit worth {expected} is not there"
        assert {shown(score and score.value) for score in same} == {expected}
    known = {commit.state for commit in honest.record.commits} if kind.history else set()
    for state, score in scores.items():
        assert score is not None, f"{state}: neither a score nor a reason"
        if state not in known:
            assert shown(score.value) in {*kind.further, *kind.history}, f"{state}: {told(score)}"
        if score.value is None:
            assert score.verifications[-1].reason, f"{state}: missing without a reason"


def told(score: StateScore) -> str:
    last = score.verifications[-1]
    return f"{score.value}, {last.status}: {last.reason}; {last.output[-300:]!r}"


def assert_record_clear(kind: Hostile, run: RunDir) -> None:
    """Status, problems, limits and reasons say what happened, in words and without control characters."""
    record: RunRecord = run.record
    lines = [f"{problem.kind}: {problem.message}" for problem in record.problems]
    assert record.status in kind.status, (record.status, lines)
    if record.status not in ("completed", "deadline"):
        assert lines, "it failed and nothing says why"
    reasons = [v.reason or "" for score in run.scores().values() for v in score.verifications]
    for pattern in kind.says:
        assert any(re.search(pattern, line) for line in (*lines, *reasons)), (pattern, lines, reasons[:5])
    for line in lines:
        assert len(line) < 2500 and "\n" not in line
    for name in kind.meets:
        limit = record.limits[name]
        full = limit.peak is not None and limit.value is not None and limit.peak >= 0.9 * limit.value
        assert limit.hits or full or limit.state == "absent" or (limit.hits is None and limit.peak is None), (
            name,
            limit,
        )
    assert set(record.limits) >= {"network", "cpu", "memory", "pids", "disk"} or not record.timings.agent_sec


@each_kind("normal")
def test_a_hostile_agent_gains_nothing_and_is_told_of(battlefield: Path, kind: Hostile, user: str) -> None:
    fought = fight(battlefield, user, kind.study)
    assert_kind(kind, fought)


def assert_kind(kind: Hostile, fought: Fought) -> None:
    run, honest = run_of(fought, kind.name), run_of(fought, HONEST)
    assert_score_unmoved(kind, run, honest)
    assert_record_clear(kind, run)
    if kind.also:
        kind.also(run)


@each_arena
def test_the_host_is_untouched(battlefield: Path, study: str, user: str) -> None:
    """Files, links, programs with rights, mounts, loop devices, shared memory, settings, processes, sockets, clock."""
    seen = fight(battlefield, user, study).seen
    assert seen.differences == []
    assert seen.left == []
    assert seen.callers == 0
    assert seen.clock_moved < 1.0


@each_arena
def test_the_study_is_alive(battlefield: Path, study: str, user: str) -> None:
    """It came to its end by itself, the honest neighbours have their scores, and nothing unfinished lies about."""
    fought = fight(battlefield, user, study)
    assert fought.seen.code in (0, 1), fought.seen.output[-2000:]
    for name in (HONEST, NEIGHBOUR):
        run = run_of(fought, name)
        assert run.record.status == "completed" and run.record.problems == ()
        assert shown(run.score(FINAL).value) == "0.3"
        assert [shown(run.score(c.state).value) for c in run.record.commits] == ["0.1", "0.3"]
    assert [str(path) for path in fought.store.path.rglob(".tmp-*")] == []


@each_arena
def test_no_text_of_an_agent_acts_on_a_reader(battlefield: Path, study: str, user: str) -> None:
    """Neither in a terminal nor in a browser: no escape and no tag is alive in what the commands print and the report."""
    fought = fight(battlefield, user, study)
    pages = list((fought.store.path / "report").rglob("*.html"))
    assert pages
    for where, text in [("output", fought.seen.output), *((str(p), p.read_text(errors="replace")) for p in pages)]:
        live = sorted({f"U+{ord(c):04X}" for c in text if (c < " " and c not in "\n\t\r") or c in "\x7f\x9b\u202e"})
        assert live == [], (where, live)
        if where != "output":
            assert not re.search(r"<(xss|img[^>]*onerror|script[^>]*>alert)", text, re.IGNORECASE), where


@pytest.mark.long
@each_kind("long")
def test_a_hostile_agent_of_gigabytes(battlefield: Path, kind: Hostile, user: str) -> None:
    fought = fight(battlefield, user, kind.study, "long")
    assert_kind(kind, fought)
    assert fought.seen.left == [] and fought.seen.differences == []


@pytest.mark.long
@each_kind("rest")
def test_what_is_the_same_for_all_is_so_for_an_ordinary_user(battlefield: Path, kind: Hostile, user: str) -> None:
    fought = fight(battlefield, user, kind.study, "rest")
    assert_kind(kind, fought)
    assert fought.seen.left == [] and fought.seen.differences == []


def test_the_set_is_what_it_claims_to_be() -> None:
    """Every kind has a sentence of its own and does something; names are unique across themes."""
    sentences = [kind.tries for kind in KINDS.values()]
    assert len(set(sentences)) == len(sentences) >= 60
    assert all(kind.script or kind.raises or kind.claims for kind in KINDS.values())
    assert sum(not kind.long and not kind.same_for_all for kind in KINDS.values()) >= 25
