"""g_i of Appendix C.3: did the committed artifact run to completion and, where there is a gate, pass it?"""

from __future__ import annotations

from loopscope.models import StateScore, VerificationStatus

GATES = ("correctness", "correct", "valid", "passed", "is_correct")
"""Names under which verifiers write a binary verdict."""

_NO_EVIDENCE = (VerificationStatus.ERROR, VerificationStatus.UNREPLAYABLE)


def delivered(score: StateScore | None) -> bool | None:
    """Whether the state was delivered; None when nothing observable says so.

    A binary verdict decides, and only a true one (1) passes: a share of correct cases below 1 is no correct artifact; a
    number outside [0, 1] under such a name is a count and no verdict. Without a verdict, a positive reward or any
    measured metric is evidence that it ran. A verifier that ended without a result, or had to be stopped, is a failed
    delivery; an environment that failed says nothing.
    """
    return _judged(score)[0]


def delivered_by(score: StateScore | None) -> str:
    """What shows whether a state was delivered, in words."""
    return _judged(score)[1]


def _judged(score: StateScore | None) -> tuple[bool | None, str]:
    if score is None:
        return None, "it was not verified"
    verification = score.median_verification
    if verification is None or verification.status in _NO_EVIDENCE:
        status = verification.status.value if verification is not None else "none"
        return None, f"the verification says nothing of it ({status})"
    for gate in GATES:
        verdict = verification.metrics.get(gate)
        if verdict is not None and 0 <= verdict <= 1:
            return verdict == 1, f"the verifier's {gate} is {verdict}"
    if verification.reward is not None and verification.reward > 0:
        return True, "its official reward is positive"
    if verification.metrics:
        return True, f"the verifier measured {min(verification.metrics)}"
    return False, f"the verifier ended without a result ({verification.status.value})"
