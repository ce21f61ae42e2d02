"""Looking at everything at once, each check bounded in time and alone in its failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, computed_field

from loopscope.sandbox.doctor import namespaces
from loopscope.sandbox.doctor.finding import Area, Check, Finding, Need, State
from loopscope.sandbox.doctor.limits import PREFIX
from loopscope.sandbox.doctor.machine import Machine, NoAnswer


class Survey(BaseModel):
    """All that was found. `loopscope doctor --json` prints it."""

    model_config = ConfigDict(frozen=True)

    subject: str = "local studies"
    """What is asked about: local studies at large, or one study."""
    findings: tuple[Finding, ...]
    """By area, in the order in which they matter."""
    seconds: float

    @computed_field  # type: ignore[prop-decorator]
    @property
    def runs(self) -> bool:
        """Whether the subject can run here."""
        return not any(finding.prevents for finding in self.findings)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def to_mend(self) -> tuple[str, ...]:
        """Names of the rows that a person should see to, those that prevent studies first."""
        rows = sorted((f for f in self.findings if f.to_mend), key=lambda f: (not f.prevents, f.need is Need.ADVISED))
        return tuple(finding.name for finding in rows)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def summary(self) -> str:
        """One line."""
        parts = [f"{self.subject} can run here" if self.runs else f"{self.subject} CANNOT run here"]
        limits = [f for f in self.findings if f.name.startswith(PREFIX)]
        held = [f.name.removeprefix(PREFIX) for f in limits if f.state is State.OK]
        if self.runs and limits:
            parts.append(
                f"limits enforced: {', '.join(held)}" if len(held) < len(limits) else "all limits are enforced"
            )
        count = len(self.to_mend)
        things = f"{count} thing{'s' if count > 1 else ''} to mend: {', '.join(self.to_mend)}"
        return "; ".join([*parts, things if count else "nothing to mend"])


def examine(
    checks: Sequence[Check], machine: Machine | None = None, *, subject: str = "local studies", sandboxed: bool = True
) -> Survey:
    """Do all checks, at once but for the quiet ones, and settle what they say together. Never raises for a check.

    `sandboxed`: the subject runs in local sandboxes; without, rows about them prevent nothing.
    """
    machine = machine or Machine()
    started = time.monotonic()
    found: dict[int, list[Finding]] = {}
    quiet = [index for index, check in enumerate(checks) if check.quiet]
    for batch in ([index] for index in quiet):
        found |= _look(checks, batch, machine)
    found |= _look(checks, [index for index in range(len(checks)) if index not in quiet], machine)
    rows = namespaces.settle([finding for index in range(len(checks)) for finding in found[index]])
    if not sandboxed:
        rows = [replace(r, need=Need.OPTIONAL) if r.area in (Area.SANDBOX, Area.LIMITS) else r for r in rows]
    order = {area: place for place, area in enumerate(Area)}
    rows.sort(key=lambda finding: order[finding.area])
    return Survey(subject=subject, findings=tuple(rows), seconds=round(time.monotonic() - started, 2))


def _look(checks: Sequence[Check], batch: Iterable[int], machine: Machine) -> dict[int, list[Finding]]:
    """The findings of some checks, side by side. A thread that hangs is left behind; as a daemon it holds nobody up."""
    begun: list[tuple[int, float, threading.Thread, list[Finding]]] = []
    for index in batch:
        rows: list[Finding] = []
        thread = threading.Thread(target=_carefully, args=(checks[index], machine, rows), daemon=True)
        thread.start()
        begun.append((index, time.monotonic(), thread, rows))
    found = {}
    for index, since, thread, rows in begun:
        check = checks[index]
        thread.join(max(0.0, since + check.timeout_sec - time.monotonic()))
        late = f"did not answer in {check.timeout_sec:g} s"
        found[index] = [*rows, _unknown(check, late)] if thread.is_alive() else rows
    return found


def _carefully(check: Check, machine: Machine, rows: list[Finding]) -> None:
    try:
        rows.extend(check.look(machine))
    except NoAnswer as error:
        rows.append(_unknown(check, str(error)))
    except Exception as error:  # whatever a machine that nobody thought of does to a check
        what = " ".join(str(error).split()) or "no message"
        rows.append(_unknown(check, f"the check failed: {type(error).__name__}: {what}"))


def _unknown(check: Check, fact: str) -> Finding:
    cost = "local studies may not run" if check.need is Need.REQUIRED else ""
    return Finding(check.area, check.name, State.UNKNOWN, fact, cost=cost, need=check.need)
