"""What was written between two commits."""

from __future__ import annotations

import pytest
from made_calls import bash, calls

from loopscope.evidence.artifact.scope import ArtifactScope
from loopscope.evidence.artifact.timeline import Timeline
from loopscope.evidence.events import Segment
from loopscope.evidence.segments import segments
from loopscope.evidence.shell.calls import shell_calls

NOTHING = Timeline(1, (), {}, {}, {}, {})


def segment_of(program: str) -> Segment:
    thread = calls([bash(f"python3 - <<'E'\n{program}\nE\ngit commit -am x", "")])
    scope = ArtifactScope(frozenset(["/w/app/solve.c"]), "/w/app")
    (found,) = segments(thread, shell_calls(thread, "/w/app"), NOTHING, scope, [(0, 1)])
    return found


@pytest.mark.parametrize(
    ("program", "others", "uncertain"),
    [
        ("open('model.bin', 'w').write('x')", ("model.bin",), False),
        ("open(name, 'a')", (), True),
        ("print(open('model.bin').read())", (), False),
        ("open(" * 40_000, (), False),
        ("open(" + "x" * 200_000, (), False),
    ],
)
def test_a_program_that_is_given_on_the_spot_may_write(program: str, others: tuple[str, ...], uncertain: bool) -> None:
    found = segment_of(program)
    assert found.others == others
    assert bool(found.uncertain) == uncertain


@pytest.mark.parametrize(
    ("options", "alone"),
    [("-m 'all in'", True), ("-m'all in'", True), ("-am 'all in'", False), ("-m 'in' -- x.md", False), ("-m in x.md", False)],
)  # fmt: skip
def test_what_was_staged_by_name_is_all_of_a_commit_unless_its_options_take_more(options: str, alone: bool) -> None:
    thread = calls([bash(f"git add output/journal.md && git commit {options}", "")])
    scope = ArtifactScope(frozenset(["/w/app/solve.c"]), "/w/app")
    (found,) = segments(thread, shell_calls(thread, "/w/app"), NOTHING, scope, [(0, 1)])
    assert found.records_staged is alone
