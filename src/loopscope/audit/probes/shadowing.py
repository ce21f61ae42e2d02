"""Modules that a verifier imports are found in the work dir before its own."""

from __future__ import annotations

import re
import sys
from decimal import Decimal

from loopscope.audit.finding import Finding, NotApplicable
from loopscope.audit.probes.attacks import told
from loopscope.audit.probes.lab import lab
from loopscope.audit.probes.weaving import FORGED, piece
from loopscope.audit.subject import Subject
from loopscope.audit.trial import Act

_IMPORT = re.compile(r"^\s*(?:import|from)\s+([\w, ]+)", re.MULTILINE)
_BY_ITSELF = ("sitecustomize", "usercustomize", "conftest")
"""Imported by the interpreter or the test runner without being asked for."""


async def module_shadowed(subject: Subject) -> list[Finding]:
    """Files with the names of modules that the verifier imports are left in the work dir."""
    names = shadowable(subject)
    if not names:
        raise NotApplicable("the verifier imports no module that a file in the work dir could stand for")
    bench = lab(subject)
    text = (piece("base.pyt") + piece("verdict.pyt") + piece("shadow.pyt")).encode()
    act = Act("probe: module-shadowed", files={f"{name}.py": text for name in (*names, *_BY_ITSELF)})
    trial, before = await bench.attempt(act), await bench.base(False)
    if trial.reward != Decimal(FORGED):
        return []
    shown = ", ".join(f"{name}.py" for name in names[:5])
    what = (
        f"a module in the work dir ran in place of the one that was meant ({shown}): {told(trial, 'starter', before)}"
    )
    remedy = "start the verifier's Python with -I, or from a directory that the solution cannot write"
    return [bench.finding("module-shadowed", 3, trial, what, remedy)]


def shadowable(subject: Subject) -> list[str]:
    """Modules of the standard library that are files and stand in an import of the verifier's."""
    text = "\n".join(subject.sources.text(n) for n in subject.sources.below("tests", ".py", ".sh"))
    found = {word for line in _IMPORT.findall(text) for word in re.split(r"[,\s]+", line)}
    own = {n.removesuffix(".py") for n in subject.sources.starter}
    return sorted((found & sys.stdlib_module_names) - set(sys.builtin_module_names) - own - {"__future__"})
