"""The run as a whole: its final score, its counts, what it used."""

from __future__ import annotations

from loopscope.analysis.explain.figures import call, exactly, step, term
from loopscope.analysis.explain.rows import Told
from loopscope.analysis.explain.scores import score_told
from loopscope.analysis.explain.told import ScoreTold, Step
from loopscope.analysis.prices import Priced, claimed_cost, cost_doubt, price_of
from loopscope.models import RunRecord
from loopscope.models.evaluator import Evaluator


def final_score(told: Told, evaluator: Evaluator | None) -> ScoreTold:
    """The final score and what it is made of."""
    run = told.run
    return score_told(
        run.final_scored,
        run.final,
        run.evidence.final,
        run.evidence,
        evaluator,
        reported=run.record.imported.reported if run.record.imported is not None else None,
        table="runs",
        name="final_score",
    )


def counts(told: Told) -> tuple[Step, ...]:
    """Spread of the final score, the best checkpoint, and how many there are."""
    run = told.run
    rewards = run.final.rewards if run.final else ()
    spread = run.final.spread if run.final else None
    steps = [value for row in run.rows if (value := row.value) is not None]
    return (
        step(
            "final_spread",
            spread,
            "largest minus smallest reward of the final state",
            f"{term(rewards[-1])} - {term(rewards[0])}" if rewards else None,
            note="" if spread is not None else "fewer than two official verifications gave a reward",
            table="runs",
        ),
        _paired(told),
        *_beside(told),
        step(
            "best_step_score",
            max(steps, default=None),
            "highest score of any commit, removed ones too",
            call("max", steps) if steps else None,
            note="" if steps else "no commit has a score",
            table="runs",
        ),
        step("n_commits", len(run.rows), "commits", table="runs"),
        step(
            "n_checkpoints",
            len(told.canonical),
            "commits that passed the proposal gate",
            f"{len(run.rows)} - {len(run.rows) - len(told.canonical)}",
            table="runs",
        ),
    )


def _paired(told: Told) -> Step:
    """The official final score with the starter and the reference as they were measured here."""
    run = told.run
    value = run.paired(run.final)
    if run.pairing is None:
        note = "the task is not calibrated"
    else:
        note = "" if value is not None else "no official verification gave a reward and its metric"
    words = run.pairing.words if run.pairing else ""
    return step("final_paired", value, words, note=note, table="runs")


def _beside(told: Told) -> tuple[Step, ...]:
    """The final score of an imported run by its transcript."""
    run, made = told.run, told.run.reconstructed_final
    if run.record.imported is None:
        return (step("final_reconstructed", None, note="the run was not imported", table="runs"),)
    doubt = "; it differs by more than 0.01 from the one that the log states" if run.final_doubt else ""
    why = run.evidence.final_reason or "no evaluation of the last state gives a reward"
    note = why if made is None else f"by the transcript{doubt}"
    return (step("final_reconstructed", made, "the reconstructed score of the last state", note=note, table="runs"),)


def usage(told: Told) -> tuple[Step, ...]:
    """Tokens, money, time and interaction steps, each with its source."""
    record = told.run.record
    used, times, imported = record.usage, record.timings, record.imported
    parts = [
        count for count in (used.input_uncached, used.cache_read, used.cache_write, used.output) if count is not None
    ]
    named = {
        "input_uncached": used.input_uncached,
        "cache_read": used.cache_read,
        "cache_write": used.cache_write,
        "output": used.output,
    }
    unknown = [name for name, count in named.items() if count is None]
    source = {"none": "the agent calls no model, so all counts are truly 0"}.get(used.source, f"source: {used.source}")
    if imported is not None:
        stated = f"source: {imported.usage_source} of the log, {imported.usage_completeness}"
        source = "the log states none" if imported.usage_source == "none" else stated
    timed = "the log has no times" if imported is not None else "record.json has none"
    gaps = f"; not stated: {', '.join(unknown)}" if unknown and used.source != "none" else ""
    return (
        step(
            "tokens",
            used.tokens,
            "input_uncached + cache_read + cache_write + output",
            " + ".join(map(str, parts)),
            note=source + gaps,
            table="runs",
        ),
        *_money(record, source),
        step(
            "agent_sec",
            times.agent_sec,
            "seconds of the agent's own run",
            note=_of(times.agent_sec, timed),
            table="runs",
        ),
        step(
            "duration_sec",
            times.total_sec,
            "seconds from the try's start to its record",
            note=_of(times.total_sec, timed),
            table="runs",
        ),
    )


def _money(record: RunRecord, source: str) -> tuple[Step, ...]:
    """What the run is said to have cost, and what its tokens are worth at list prices."""
    price, doubt = price_of(record), cost_doubt(record)
    note = f"{source}; {doubt}" if doubt else source
    return (
        step("cost_usd", claimed_cost(record), "US dollars, as the source says", note=note, table="runs"),
        _worth("priced_usd", "tokens at list prices, cached ones at the cache's", price, full=False),
        _worth("priced_full_usd", "tokens at list prices, all input at the full price", price, full=True),
    )


def _worth(name: str, formula: str, price: Priced | None, *, full: bool) -> Step:
    if price is None:
        return step(name, None, formula, note="tokens, model or its list price are not known", table="runs")
    each = price.undiscounted if full else price.own
    terms = " + ".join(f"{exactly(one)} * {count}" for one, count in zip(each, price.counts, strict=True))
    return step(
        name,
        price.full if full else price.cached,
        formula,
        f"({terms}) / 1000000",
        note=f"US dollars per million of {price.model}, list of {price.dated}",
        table="runs",
    )


def _of(seconds: float | None, missing: str) -> str:
    return missing if seconds is None else "record.json"
