"""The page of an audit: one HTML file that needs nothing else."""

from __future__ import annotations

import re
from functools import cache

import jinja2

from loopscope.models.audit import HACK_KINDS, AuditReport, TaskAudit

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def page(report: AuditReport) -> str:
    """HTML of a report, complete; whatever a task says is escaped. Equal reports give equal text."""
    return _environment().get_template("audit.html").render(report=report, kinds=HACK_KINDS)


def _visible(text: str) -> str:
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def _rewards(audit: TaskAudit, act: str) -> str:
    """The rewards of an act, or why there is none."""
    trials = [trial for trial in audit.trials if trial.act == act]
    given = [trial.reward for trial in trials if trial.reward is not None]
    if not trials or not given:
        return trials[0].status.value if trials else "—"
    low, high = min(given), max(given)
    return f"{low:.3f}" if len(given) == 1 else f"{low:.3f} to {high:.3f}"


@cache
def _environment() -> jinja2.Environment:
    env = jinja2.Environment(
        loader=jinja2.PackageLoader("loopscope.audit", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    env.filters["visible"] = _visible
    env.globals["rewards"] = _rewards
    return env
