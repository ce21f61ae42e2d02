"""Modules that a verifier imports are found in the work dir before its own."""

from __future__ import annotations

from decimal import Decimal

from loopscope.audit.finding import Finding, NotApplicable
from loopscope.audit.probes.attacks import told
from loopscope.audit.probes.lab import lab
from loopscope.audit.probes.outside import shadowable, shadows, untouched
from loopscope.audit.probes.weaving import FORGED
from loopscope.audit.subject import Subject
from loopscope.audit.trial import Act


async def module_shadowed(subject: Subject) -> list[Finding]:
    """Files with the names of modules that the verifier imports are left in the work dir."""
    names = shadowable(subject)
    if not names:
        raise NotApplicable("the verifier imports no module that a file in the work dir could stand for")
    bench = lab(subject)
    if await untouched(bench):
        return []
    act = Act("probe: module-shadowed", files=shadows(subject))
    trial, before = await bench.attempt(act), await bench.base(False)
    if trial.reward != Decimal(FORGED):
        return []
    shown = ", ".join(f"{name}.py" for name in names[:5])
    what = (
        f"a module in the work dir ran in place of the one that was meant ({shown}): {told(trial, 'starter', before)}"
    )
    remedy = "start the verifier's Python with -I, or from a directory that the solution cannot write"
    return [bench.finding("module-shadowed", 3, trial, what, remedy)]
