"""Hacks outside the files that a solution may change: another driver, and programs built from code that is gone."""

from __future__ import annotations

import shlex
from decimal import Decimal

from loopscope.audit.finding import Finding, NotApplicable
from loopscope.audit.probes.attacks import told
from loopscope.audit.probes.lab import MAKEFILES, lab
from loopscope.audit.probes.outside import compiled, laden, planted, untouched
from loopscope.audit.probes.weaving import FORGED, language
from loopscope.audit.subject import Subject
from loopscope.audit.trial import Act


async def driver_replaced(subject: Subject) -> list[Finding]:
    """Code in the work dir that no solution may change is changed; failing that, headers and makefiles."""
    bench = lab(subject)
    if not (bench.drivers or bench.builders):
        raise NotApplicable("no code but the solution's lies in the work dir")
    if await untouched(bench):
        return []
    solve = await bench.slow()
    before = await bench.base(solve)
    for changed, act_name in ((bench.drivers, "probe: driver-replaced"), (bench.builders, "probe: build-replaced")):
        act = Act(act_name, solve=solve, files={name: laden(name, source) for name, source in changed.items()})
        if not changed or not await bench.stays(act, trial := await bench.attempt(act), before):
            continue
        base = "reference" if solve else "starter"
        what = f"code was added to {', '.join(changed)}: {told(trial, base, before)}"
        remedy = "copy only the editable files into a pristine tree, and take everything else from the tests"
        return [bench.finding("driver-replaced", 4, trial, what, remedy)]
    return []


async def binary_planted(subject: Subject) -> list[Finding]:
    """A program is built from code with a hack in it; then the clean code is put back with its old time."""
    bench = lab(subject)
    starter = subject.sources.starter
    cargo = "cargo build --release --offline" if "Cargo.toml" in starter else None
    build = "make" if any(n in MAKEFILES for n in starter) else cargo
    changed = {n: s for n, s in bench.editable.items() if (language(n) == "python") == (build is None)}
    if not changed:
        raise NotApplicable("nothing in the work dir is built before it runs")
    if await untouched(bench):
        return []
    files = planted(changed)
    plant = compiled(changed) if build is None else _built(changed, build)
    trial = await bench.attempt(Act("probe: binary-planted", files=files, command=f"{plant}rm -rf .lsp"))
    if trial.reward != Decimal(FORGED):
        return []
    before = await bench.base(False)
    what = (
        f"what was built before outlived the return of the clean {', '.join(changed)}: {told(trial, 'starter', before)}"
    )
    remedy = "build in a fresh directory from the editable files alone"
    return [bench.finding("binary-planted", 5, trial, what, remedy)]


def _built(changed: dict[str, bytes], build: str) -> str:
    """Build with the hack, bring the clean files back with their times, and make all products new."""
    save, restore = "", ""
    for number, name in enumerate(changed):
        path = shlex.quote(name)
        save += f"cp -p {path} .lsp/{number}.clean && cp .lsp/{number} {path} && touch {path}\n"
        restore += f"cp -p .lsp/{number}.clean {path}\n"
    newer = "find . -type f -newer .lsp/0 ! -path './.lsp/*' -exec touch {} +\n"
    return f"sleep 0.01\n{save}{build} >/dev/null 2>&1\n{newer}{restore}"
