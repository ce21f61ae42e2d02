"""`tasks check`."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopscope.cli.console import Exit, err, out, plain, print_json, require_run_extra, verb
from loopscope.cli.reading import Json

if TYPE_CHECKING:
    from loopscope.models.audit import AuditReport, TaskAudit


class FailOn(StrEnum):
    """From which severity on the exit code is 1."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    NEVER = "never"


@verb
def tasks_check(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(help="Built-in names or task directories; every built-in one by default.", show_default=False),
    ] = None,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="Least severity of a finding that makes the exit code 1.")
    ] = FailOn.LOW,
    static: Annotated[bool, typer.Option("--static", help="Only read files; run nothing.")] = False,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, help="Verifications of the reference, for the spread.")
    ] = 3,
    together: Annotated[int, typer.Option("--together", min=1, help="Tasks checked at a time.")] = 2,
    page: Annotated[
        Path | None, typer.Option("--page", help="Also write an HTML page to this file.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Whether tasks can be trusted: rules on their files, their own hacks tried in the sandbox.

    Exit code: 0 no finding of that severity, 1 some (or a rule that failed), 2 no such task, or a wrong option.
    """
    require_run_extra()
    from loopscope.audit.check import Options, check_tasks
    from loopscope.tasks import builtin_names

    names = tasks or list(builtin_names())
    options = Options(dynamic=not static, repeats=repeats, together=together)
    report = asyncio.run(check_tasks(names, Path(), options, lambda task, line: _say(f"{task}: {line}")))
    if page is not None:
        _write_page(report, page)
    if json:
        print_json(report)
    else:
        _print(report)
        if page is not None:
            out.print(f"page: {plain(str(page.resolve()))}", soft_wrap=True)
    raise typer.Exit(_exit_code(report, fail_on))


def _say(line: str) -> None:
    err.print(plain(line), soft_wrap=True)


def _exit_code(report: AuditReport, fail_on: FailOn) -> Exit:
    from loopscope.models.audit import FindingSeverity

    if any(audit.missing for audit in report.tasks):
        return Exit.BAD_INPUT
    if fail_on is FailOn.NEVER:
        return Exit.OK
    failed = any(
        audit.at_least(FindingSeverity(fail_on.value)) or any(rule.outcome == "failed" for rule in audit.rules)
        for audit in report.tasks
    )
    return Exit.FAILED if failed else Exit.OK


def _write_page(report: AuditReport, file: Path) -> None:
    from loopscope.audit.page import page

    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(page(report).encode("utf-8", "replace"))


def _print(report: AuditReport) -> None:
    for audit in report.tasks:
        _print_task(audit)
    tasks, findings = len(report.tasks), sum(len(audit.findings) for audit in report.tasks)
    out.print(f"{tasks} task{'s' * (tasks != 1)}, {findings} finding{'s' * (findings != 1)}")


def _print_task(audit: TaskAudit) -> None:
    from loopscope.models.audit import HACK_KINDS

    if audit.missing:
        err.print(f"[bold red]error:[/] {plain(audit.problem or '')}", soft_wrap=True)
        return
    looked = sum(rule.outcome in ("clean", "found") for rule in audit.rules)
    skipped = [rule for rule in audit.rules if rule.outcome == "not applicable"]
    failed = [rule for rule in audit.rules if rule.outcome == "failed"]
    head = "no finding" if not audit.findings else f"{len(audit.findings)} finding{'s' * (len(audit.findings) != 1)}"
    count = f"{looked} rules" + (f", {len(skipped)} not applicable" if skipped else "")
    out.print(f"[bold]{plain(audit.task)}[/]: {head} ({count}, {audit.seconds:.0f} s)", soft_wrap=True)
    for finding in audit.findings:
        colour = {"high": "red", "medium": "yellow", "low": "cyan"}[finding.severity.value]
        kind = f" (kind {finding.kind}: {HACK_KINDS[finding.kind]})" if finding.kind else ""
        out.print(
            f"  [{colour}]{finding.severity.value}[/] {finding.rule}{kind}, {plain(finding.where)}", soft_wrap=True
        )
        out.print(f"      {plain(finding.evidence)}", soft_wrap=True)
        out.print(f"      remedy: {plain(finding.remedy)}", soft_wrap=True)
    for rule in failed:
        out.print(f"  [yellow]not looked for[/] {rule.rule}: {plain(rule.reason or '')}", soft_wrap=True)
