"""Whether a second verification of the same files measures the same to the last digit."""

from __future__ import annotations

from decimal import Decimal

from loopscope.audit.finding import Finding, NotApplicable, Severity
from loopscope.audit.probes.lab import lab
from loopscope.audit.probes.outside import OUTSIDE, untouched
from loopscope.audit.subject import Subject
from loopscope.audit.trial import Act, Trial

_DIGITS = 6
"""A number with fewer can be the same by chance."""


async def inputs_repeat(subject: Subject) -> list[Finding]:
    """Compare what two verifications of the starter measured; only numbers that hang on the solution count."""
    bench = lab(subject)
    first, solved = await subject.starter(), await subject.reference()
    telling = [name for name, value in _long(first).items() if solved.metrics.get(name, value) != value]
    if not telling:
        raise NotApplicable("no metric of six digits or more differs between starter and reference")
    act = Act(OUTSIDE) if await untouched(bench) else Act("probe: starter again")  # the starter's own files, either way
    again = await bench.attempt(act)
    same = [name for name in telling if again.metrics.get(name) == first.metrics[name]]
    if not same:
        return []
    name = same[0]
    return [
        Finding(
            rule="inputs-repeat",
            kind=7,
            severity=Severity.MEDIUM,
            task=subject.info.name,
            evidence=f"two verifications of the starter measured the same {name}, {first.metrics[name]}: "
            "the inputs do not change, and answers to them can be written down",
            where=f"trial {again.act}",
            remedy="draw fresh inputs from a secret seed at each verification",
        )
    ]


def _long(trial: Trial) -> dict[str, Decimal]:
    return {n: v for n, v in trial.metrics.items() if v.is_finite() and len(v.normalize().as_tuple().digits) >= _DIGITS}
