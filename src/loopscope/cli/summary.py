"""What a run or a scoring pass came to: counts by kind of failure, for people and for `--json`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loopscope.cli.console import Exit, err, out, plain
from loopscope.models import Record, RunStatus, VerificationStatus
from loopscope.records import RecordError, StudyStore
from loopscope.records.completeness import GIVEN_UP, MAX_ERRORS

if TYPE_CHECKING:  # Harbor comes with it, which takes longer to load than most verbs to run
    from loopscope.engine.scoring import Tally


class ScoreSummary(Record):
    """What a scoring pass did (`loopscope score --json`)."""

    states: int
    """States of the runs that were asked for."""
    verifications: int
    """Verifications that were run now."""
    unscored: int
    """States without a score."""
    unscored_by_status: dict[str, int]
    """The same by how their last verification ended: `error` is done again on the next start, the others stand.

    `given_up`: errors too often in a row; `loopscope score --again` tries again.
    `workspace_removed`: there is no verification, and can be none."""
    unreadable_runs: tuple[str, ...] = ()
    """Runs left out because their record cannot be read."""

    @property
    def failed(self) -> bool:
        """Whether something is missing that the study asked for."""
        return bool(self.unscored or self.unreadable_runs)

    def tell(self, told: Collection[str] = ()) -> None:
        """Say what failed, and which of it another start tries again; not again of a run that a told line names."""
        again = self.unscored_by_status.get(VerificationStatus.ERROR, 0)
        if again:
            err.print(
                f"[red]{_count(again, 'state')} without a score: the environment failed[/]; tried again next time"
            )
        if given_up := self.unscored_by_status.get(GIVEN_UP, 0):
            err.print(
                f"[red]{_count(given_up, 'state')} without a score: the environment failed {MAX_ERRORS} times[/]; "
                "reasons stand in scores/*.json of the run; `loopscope score --again` tries once more"
            )
        if gone := self.unscored_by_status.get("workspace_removed", 0):
            whose = "its workspace was" if gone == 1 else "their workspaces were"
            err.print(
                f"[red]{_count(gone, 'state')} without a score cannot be scored again: {whose} removed[/]; "
                "restore what is lost from an archive of the study"
            )
        if stand := self.unscored - again - given_up - gone:
            kinds = ", ".join(
                f"{count} {status.replace('_', ' ')}"
                for status, count in sorted(self.unscored_by_status.items())
                if status not in (VerificationStatus.ERROR, GIVEN_UP, "workspace_removed")
            )
            err.print(
                f"[red]{_count(stand, 'state')} without a score: {kinds}[/]; this is their result, not tried again; "
                "reason and output stand in scores/*.json of the run"
            )
        if left_out := [run_id for run_id in self.unreadable_runs if not any(run_id in line for line in told)]:
            err.print(f"[red]left out: {', '.join(left_out)}[/]; restore their record.json")


class RunSummary(Record):
    """What a run of a study did (`loopscope run --json`, `loopscope demo --json`)."""

    study: str
    directory: str
    rollouts_planned: int
    rollouts_done_now: int
    rollouts_failed: int
    """Of all rollouts; the sum of the next two."""
    rollouts_failed_by_environment: int
    """`loopscope run` tries them again."""
    rollouts_failed_by_agent: int
    """A result like any other: not tried again, and what they left is scored."""
    rollouts_invalid: tuple[str, ...] = ()
    """Run id and reason of each that is no result and is not tried again by itself."""
    scores: ScoreSummary | None
    """None when nothing was to be scored (`--no-score`)."""
    seconds: dict[str, float]
    """By phase; for a demo also `total` and, when make tells it, `set_up`."""
    report: str | None = None

    @property
    def exit_code(self) -> Exit:
        """1 when a rollout failed or is invalid, or a state has no score."""
        rollouts = self.rollouts_failed or self.rollouts_invalid
        return Exit.FAILED if rollouts or (self.scores and self.scores.failed) else Exit.OK

    def tell(self) -> None:
        """Say what was done, what failed, and which of it another start tries again."""
        scored = (
            f", {self.scores.states - self.scores.unscored} of {self.scores.states} states scored "
            if self.scores
            else ""
        )
        now = f"({_count(self.scores.verifications, 'verification')} now)" if self.scores else ""
        out.print(f"{_count(self.rollouts_planned, 'rollout')} ({self.rollouts_done_now} done now){scored}{now}")
        if count := self.rollouts_failed_by_environment:
            err.print(
                f"[red]{_count(count, 'rollout')} failed: the environment[/]; see record.json; tried again next time"
            )
        if count := self.rollouts_failed_by_agent:
            err.print(
                f"[red]{_count(count, 'rollout')} failed: the agent[/]; this is their result, not tried again; "
                "see problems in record.json of the run"
            )
        for line in self.rollouts_invalid:
            err.print(f"[red]invalid:[/] {plain(line)}")
        if self.rollouts_invalid:
            err.print("what is invalid is not tried again by itself: `loopscope run --again RUN` does it once more")
        if self.scores:
            self.scores.tell(self.rollouts_invalid)


def score_summary(tally: Tally) -> ScoreSummary:
    """What a scoring pass did, for people and for `--json`."""
    return ScoreSummary(
        states=tally.states,
        verifications=tally.verifications,
        unscored=sum(tally.unscored.values()),
        unscored_by_status=tally.unscored,
        unreadable_runs=tally.unreadable_runs,
    )


@dataclass(frozen=True)
class FailedRollouts:
    """How many rollouts of a study are no plain results, by whose doing."""

    by_environment: int
    by_agent: int
    invalid: tuple[str, ...]
    """Run id and reason of each that is no result and is not tried again by itself."""


def failed_rollouts(store: StudyStore, run_ids: Collection[str]) -> FailedRollouts:
    """Count them; a record that cannot be read is invalid."""
    from loopscope.engine.kinds import main_problem
    from loopscope.engine.policy import Fate, fate_of

    environment = agent = 0
    invalid = []
    for run in filter(lambda run: run.is_recorded, map(store.run, run_ids)):
        try:
            record = run.record
        except RecordError as error:
            invalid.append(str(error))
            continue
        agent += record.status is RunStatus.AGENT_ERROR
        environment += fate_of(record) is Fate.RETRIED
        if fate_of(record) is Fate.INVALID:
            problem = main_problem(record.problems)
            invalid.append(f"{run.run_id}: {problem.message if problem else 'failed'} (try {record.tries})")
    return FailedRollouts(environment, agent, tuple(invalid))


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
