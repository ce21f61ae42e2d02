"""`sed` scripts that are computed do what `sed` does."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopscope.evidence.artifact.budget import Budget
from loopscope.evidence.artifact.contents import Version, known
from loopscope.evidence.artifact.rewriting import rewritten, sed, sed_text
from loopscope.evidence.artifact.scope import ArtifactScope

TEXT = "alpha = 1;\nint f(int x) { return x + 1; }\n\nB = 128 // B = 128\na/b|c [z]\nend\n"
SCRIPTS = [
    "s/B = 128/B = 256/", "s/B/X/g", "2d", "3,$d", "/int/d", r"s/\(int\) x/\1 y/", "s/x + 1/(&)/", r"s|a/b|q\/r|", "$d",
    "2,4s/1/9/g", "s/^/  /", "s/$/;/", "s/[0-9][0-9]*;/N/", "s/= .*/= 512;/", "s/f(int x)/g(int x)/", "s/ *$//", r"s/1/\n/",
    r"s/\./!/", "s/a.p/Q/", r"s/x \+/Y/", r"s/\t/T/", "s/1/2/;s/2/3/g",
]  # fmt: skip
LINES = st.text(alphabet="ab1 =()+*./;\\&[]\n", max_size=30)
PIECE = st.text(alphabet="ab1 =()+*.^$?{}[]\\&|", min_size=1, max_size=6)

real_sed = shutil.which("sed")
needs_sed = pytest.mark.skipif(real_sed is None, reason="no sed")


def by_sed(text: str, script: str, extended: bool) -> str | None:
    options = ["-E"] if extended else []
    done = subprocess.run(
        ["sed", *options, script], input=text, capture_output=True, text=True, env={"LC_ALL": "C.UTF-8"}
    )
    return done.stdout if done.returncode == 0 else None


@needs_sed
@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize("script", SCRIPTS)
def test_computed_scripts(script: str, extended: bool) -> None:
    version = sed(known(TEXT), [script], Budget(), extended=extended)
    if version.text is not None:
        assert version.text == by_sed(TEXT, script, extended)
    else:
        assert extended, "all of these can be computed as basic expressions"


@needs_sed
@settings(max_examples=60, deadline=None)
@given(LINES, PIECE, PIECE, st.booleans(), st.booleans())
def test_what_is_computed_at_all_is_what_sed_does(text: str, old: str, new: str, every: bool, extended: bool) -> None:
    script = f"s/{old}/{new}/{'g' if every else ''}"
    made = sed_text(text, script, extended, Budget())
    if made is not None:
        assert made == by_sed(text, script, extended)


def test_what_cannot_be_computed_is_named_by_what_was_done() -> None:
    unknown = Version("initial:x")
    assert sed(unknown, ["s/a/b/"], Budget()).text is None
    assert sed(unknown, ["s/a/b/"], Budget()) == sed(unknown, ["s/a/b/"], Budget())
    assert sed(unknown, ["s/a/b/"], Budget()) != sed(unknown, ["s/a/c/"], Budget())
    assert sed(known("a\n"), ["y/a/b/"], Budget()).text is None


def test_scripts_that_write_artifacts() -> None:
    scope = ArtifactScope(frozenset(["/w/app/solve.cu"]), "/w/app")

    def names(text: str) -> list[str]:
        return list(rewritten(text, scope))

    assert names("open('solve.cu', 'w').write(s)") == ["solve.cu"]
    assert names("p = Path('/w/app/solve.cu')\np.write_text(s)") == ["/w/app/solve.cu"]
    assert names("Path('solve.cu').write_text(s)") == ["solve.cu"]
    assert names("s = open('solve.cu').read()\nprint(s)") == []
    assert names("s = open('solve.cu').read()\nopen('/tmp/a', 'w').write(s)") == []
    assert names("import shutil\nshutil.copy('/tmp/best', 'solve.cu')") == ["solve.cu"]


def test_addresses_of_thousands_of_digits_are_not_computed():
    nines = "9" * 5000
    for script in (f"{nines}d", f"1,{nines}d", f"{nines}s/a/b/"):
        assert sed(known("a\nb\n"), [script], Budget()).text is None
    assert sed_text("a\nb\n", "1,999999999d", False, Budget()) == ""


def test_a_text_that_outgrows_its_bound_is_given_up_before_it_is_made():
    grown = ["s/a/&&&&&&&&&&/g"] * 7
    assert sed(known("a\n"), grown[:3], Budget()).text == "a" * 1000 + "\n"
    assert sed(known("a\n"), grown, Budget()).text is None
    groups = r"s/\(a*\)/" + r"\1" * 200 + "/"
    assert sed(known("a" * 10_000 + "\n"), [groups], Budget()).text is None
    assert sed_text("a&b\n", r"s/&/\&\\&/", False, Budget()) == "a&\\&b\n", "an escaped mark names nothing"


def test_what_scripts_cost_sums_over_a_run():
    base = known("ab" * 1000 + "\n")
    swaps = ["s/a/c/g", "s/c/a/g"]
    assert sed(base, [";".join(swaps * 10)], Budget()) == base
    budget = Budget(cost=50_000_000)
    assert sed(base, [";".join(swaps * 100)], budget).text is None
    assert sed(base, swaps, budget).text is None, "the next script begins with what is left"
    lines, steps = known("\n".join(["x" * 100] * 100)), Budget(steps=3_000_000)
    made = [sed(lines, ["s/x*y/z/"], steps) == lines for _ in range(4)]
    assert made == [True, True, True, False]
