"""One analysed run without any file: from scores, builds and evaluations that a test names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from loopscope.analysis.runs import RunAnalysis, measured
from loopscope.models import (
    BuildSeen,
    BuildStatus,
    CheckpointEvidence,
    Commit,
    CommitOrigin,
    EvaluationSeen,
    EvaluationStatus,
    Grade,
    HarnessSupport,
    Imported,
    Moment,
    Reconstructed,
    RunEvidence,
    RunRecord,
    RunStatus,
    StateScore,
    TaskFacts,
    Timings,
    Usage,
    Verification,
    VerificationStatus,
)
from loopscope.models.evaluator import Evaluator

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Round:
    """What happened up to one commit, and what it is worth."""

    rewards: tuple[str, ...] = ()
    """Official ones; of an imported run, values that the evaluations of its state printed."""
    verified: bool = True
    builds: tuple[BuildStatus, ...] = ()
    evaluations: tuple[tuple[str, str], ...] = ()
    """(state, command) of others, which print nothing."""
    delivered: bool | None = True
    canonical: bool = True
    initial: str = ""
    """`clean` or `ambiguous`."""
    seen: bool = True
    """A transcript shows it."""
    claimed: str | None = None
    remarks: tuple[str, ...] = ()


class MadeRun:
    """Collects rounds; messages are numbered as they come."""

    def __init__(self, rounds: list[Round], final: tuple[str, ...] | None, evaluator: Evaluator | None = None) -> None:
        """An evaluator makes it an imported run, whose scores are reconstructed from what evaluations print."""
        self.evaluator = evaluator
        self.builds: list[BuildSeen] = []
        self.evaluations: list[EvaluationSeen] = []
        self.scores: dict[str, StateScore] = {}
        self.calls = 0
        self.rounds = rounds
        checkpoints = tuple(self._checkpoint(at, one) for at, one in enumerate(rounds))
        made = self._reconstructed(final, "last", None) if final is not None and evaluator else None
        if final is not None and not evaluator:
            self.scores["final"] = score("final", final)
        self.evidence = RunEvidence(
            run_id="t__a__s1",
            checkpoints=checkpoints,
            transcript_matched=any(one.seen for one in rounds),
            tool_calls=self.calls if evaluator or any(one.seen for one in rounds) else None,
            builds=tuple(self.builds),
            evaluations=tuple(self.evaluations),
            states=len(rounds),
            final=made,
            final_grade=Grade.CONFIRMED if made else Grade.MISSING,
            noise_band=Decimal("0.02") if evaluator else None,
            support=HarnessSupport(plan_calls=3, failed_calls=2) if evaluator else None,
        )
        self.record = _record(rounds, imported=evaluator is not None)

    def analysis(self) -> RunAnalysis:
        """As `analyze` would make it."""
        facts = self.evaluator.facts if self.evaluator else TaskFacts(name="t", title="T", category="toy")
        return measured(self.record, facts, self.evidence, self.scores)

    def _moment(self) -> Moment:
        self.calls += 1
        return Moment(message=2 * self.calls, call=self.calls)

    def _checkpoint(self, at: int, one: Round) -> CheckpointEvidence:
        made = None
        if self.evaluator is not None:
            made = self._reconstructed(one.rewards, f"s{at}", at if one.seen else None) if one.rewards else None
        elif one.verified:
            self.scores[_tree(at)] = score(_tree(at), one.rewards)
        if one.seen:
            self._work(at, one)
        window = range(self._first(at), at + 1)
        builds = [seen for seen in self.builds if seen.checkpoint in window]
        pairs = {(seen.state, seen.command) for seen in self.evaluations if seen.checkpoint in window}
        shown = [self.rounds[i].seen for i in window]
        failures = sum(seen.status is BuildStatus.CODE_FAILURE for seen in builds)
        by_state = [seen for seen in builds if seen.state == f"s{at}"]
        return CheckpointEvidence(
            sha=_sha(at),
            canonical=one.canonical,
            initial=one.initial == "clean",
            ambiguous_initial=one.initial == "ambiguous",
            reason="an artifact changed" if one.canonical else "only the journal changed",
            grade=Grade.CONFIRMED if made else Grade.OFFICIAL if one.rewards and not self.evaluator else Grade.MISSING,
            delivered=one.delivered,
            delivered_reason="a metric shows that it ran" if one.delivered else "nothing shows it",
            builds=len(builds) if one.seen else None,
            build_failures=failures if any(shown) and one.seen else None,
            env_failures=0 if one.seen else None,
            candidates=len(pairs) if one.seen else None,
            evaluated_before_commit=bool(one.evaluations) if one.seen else None,
            builds_by_state=len(by_state) if one.seen else None,
            build_failures_by_state=sum(b.status is BuildStatus.CODE_FAILURE for b in by_state) if one.seen else None,
            candidates_by_state=len({seen.command for seen in self.evaluations if seen.state == f"s{at}"}),
            subject=f"round {at}",
            state=f"s{at}",
            reconstructed=made,
            claimed=Decimal(one.claimed) if one.claimed else None,
            remarks=one.remarks,
        )

    def _first(self, at: int) -> int:
        while at > 0 and not self.rounds[at - 1].canonical:
            at -= 1
        return at

    def _work(self, at: int, one: Round) -> None:
        for status in one.builds:
            self.builds.append(
                BuildSeen(
                    at=self._moment(), tool="make", status=status, reason="gcc: error", state=f"s{at}", checkpoint=at
                )
            )
        for state, command in one.evaluations:
            self.evaluations.append(
                EvaluationSeen(
                    at=self._moment(),
                    command=command,
                    role="check",
                    status=EvaluationStatus.NO_RESULT,
                    state=state,
                    checkpoint=at,
                )
            )

    def _reconstructed(self, values: tuple[str, ...], state: str, at: int | None) -> Reconstructed | None:
        assert self.evaluator is not None
        numbers, rewards = [], []
        for text in values:
            reward = self.evaluator.score(Decimal(text))
            if reward is None:
                continue
            numbers.append(len(self.evaluations))
            rewards.append(reward)
            self.evaluations.append(
                EvaluationSeen(
                    at=self._moment(),
                    command="./solve --benchmark",
                    role="score",
                    status=EvaluationStatus.RESULT,
                    raw=(Decimal(text),),
                    rewards=(reward,),
                    state=state,
                    certain=True,
                    checkpoint=at,
                )
            )
        if not rewards:
            return None
        rewards.sort()
        return Reconstructed(
            value=rewards[(len(rewards) - 1) // 2],
            low=rewards[0],
            high=rewards[-1],
            evaluations=tuple(numbers),
            reason=f"median of {len(rewards)} evaluations of its state",
        )


def score(state: str, rewards: tuple[str, ...]) -> StateScore:
    """What a verifier said; no reward at all when there is none."""
    given = [(VerificationStatus.OK, Decimal(reward)) for reward in rewards]
    return StateScore(
        state=state,
        run_id="t__a__s1",
        verifier_hash="v",
        verifications=tuple(
            Verification(status=status, reward=reward, started_at=NOON, duration_sec=1, verifier_timeout_sec=9)
            for status, reward in given or [(VerificationStatus.TIMEOUT, None)]
        ),
    )


def _tree(at: int) -> str:
    return f"{at:040x}"


def _sha(at: int) -> str:
    return f"{at + 1:08x}" * 5


def _record(rounds: list[Round], *, imported: bool) -> RunRecord:
    return RunRecord(
        run_id="t__a__s1",
        study="s",
        task="t",
        task_hash=None if imported else "c",
        category="toy",
        agent="a",
        harness="a 1",
        seed=1,
        status=RunStatus.UNKNOWN if imported else RunStatus.COMPLETED,
        started_at=NOON,
        finished_at=NOON,
        timings=Timings(agent_sec=5.5, total_sec=6.25),
        budget_sec=None,
        environment="local",
        usage=Usage(input_uncached=100, cache_read=20, output=7, cost_usd=Decimal("0.12"), source="transcript"),
        commits=() if imported else tuple(_commit(at) for at in range(len(rounds))),
        imported=Imported(format="page", log="log.json", digest="d", usage_source="usage") if imported else None,
    )


def _commit(at: int) -> Commit:
    return Commit(
        sha=_sha(at), tree=_tree(at), scored_tree=_tree(at), parents=(), message=f"round {at}", origin=CommitOrigin.HEAD
    )
