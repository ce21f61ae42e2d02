"""What a case of a vector file may hold, and how it becomes a call of a measure; see `vectors` for the format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from loopscope.measures import Checkpoint, Score, c1, c2, c3, diagnostics, exact, two_level

type Value = Fraction | int | bool | None
type Result = dict[str, Value | dict[str, Fraction | None]]


def _number(value: Score) -> Fraction | None:
    try:
        return exact(value)
    except TypeError as error:
        raise ValueError(str(error)) from None


MaybeNumber = Annotated[Fraction | None, BeforeValidator(_number)]
"""A score as the file writes it; null and NaN are missing."""
Count = Annotated[int, Field(ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class C1Inputs(_Strict):
    """Inputs of c1."""

    scores: list[MaybeNumber]


class CheckpointInput(_Strict):
    """One checkpoint of c2."""

    initial: bool = False
    delivered: bool | None = None
    observable: bool | None = None
    build_failures: Count | None = None
    env_failures: Count | None = None
    """Accepted and never counted: failures of the environment are not the agent's."""


class C2Inputs(_Strict):
    """Inputs of c2."""

    checkpoints: list[CheckpointInput]


class C3Inputs(_Strict):
    """Inputs of c3. Without `final` the last observed step stands in for it."""

    scores: list[MaybeNumber]
    final: MaybeNumber = None
    initial_is_boundary: bool
    candidate_counts: list[Count | None] | None = None


class DiagnosticsInputs(C3Inputs):
    """Inputs of diagnostics. `builds`: [builds, failures] per agent round, null where unmatched."""

    builds: list[Annotated[list[Count], Field(min_length=2, max_length=2)] | None] | None = None

    def rounds(self) -> list[tuple[int, int] | None]:
        """The builds of the evaluated agent rounds.

        One entry per evaluated round, or one per agent checkpoint; then those without a score drop out, since the
        quantities are defined over evaluated proposals.
        """
        agent = self.scores[1 if self.initial_is_boundary else 0 :]
        builds: list[tuple[int, int] | None] = [
            None if entry is None else (entry[0], entry[1]) for entry in self.builds or []
        ]
        evaluated = sum(score is not None for score in agent)
        if self.builds is None or len(builds) == evaluated:
            return builds
        if len(builds) != len(agent):
            raise ValueError(f"builds has {len(builds)} entries for {evaluated} agent rounds; give one per round")
        return [entry for entry, score in zip(builds, agent, strict=True) if score is not None]


class AggregateInputs(_Strict):
    """Inputs of aggregate: rows of model, task, seed (may be left out) and values; `value` names the one to take."""

    rows: list[dict[str, Any]]
    value: Annotated[str, Field(min_length=1)]

    @field_validator("rows")
    @classmethod
    def _named(cls, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        seen: set[tuple[str, str, str]] = set()
        for position, row in enumerate(rows):
            for field in ("model", "task"):
                if not isinstance(row.get(field), str):
                    raise ValueError(f"row {position}: {field} must be a string; correct it")
            seed = row.get("seed")
            if isinstance(seed, bool) or not isinstance(seed, int | str | None):
                raise ValueError(f"row {position}: seed must be an integer or a string; correct it")
            run = (row["model"], row["task"], repr(seed))
            if seed is not None and run in seen:
                raise ValueError(f"row {position}: the run {', '.join(run)} stands twice; keep one of them")
            seen.add(run)
        return rows

    def values(self) -> list[tuple[str, str, Fraction | None]]:
        """(model, task, value) per row; a row without the value, or with null, is a missing one."""
        if self.rows and not any(self.value in row for row in self.rows):
            raise ValueError(f"value: no row has a field {self.value!r}; name one that the rows have")
        found = []
        for position, row in enumerate(self.rows):
            try:
                found.append((row["model"], row["task"], _number(row.get(self.value))))
            except ValueError as error:
                raise ValueError(f"rows.{position}.{self.value}: {error}") from None
        return found


def run_c1(inputs: C1Inputs) -> Result:
    """C1 and its three stages."""
    found = c1(inputs.scores)
    return {"c1": found.value, "early": found.early, "middle": found.middle, "late": found.late}


def run_c2(inputs: C2Inputs) -> Result:
    """C2 and its variants."""
    found = c2(Checkpoint(**c.model_dump(exclude={"env_failures"})) for c in inputs.checkpoints)
    return {
        "c2": found.value,
        "c2_unobservable_as_zero": found.unobservable_as_zero,
        "c2_unobservable_as_one": found.unobservable_as_one,
        "c2_low": found.low,
        "c2_high": found.high,
        "attempts": found.attempts,
        "unobservable": found.unobservable,
    }


def run_c3(inputs: C3Inputs) -> Result:
    """C3 with the paper's names for its parts."""
    found = c3(
        inputs.scores,
        inputs.final,
        initial_is_boundary=inputs.initial_is_boundary,
        candidate_counts=inputs.candidate_counts,
    )
    return {"c3": found.value, "A1": found.retention, "A2": found.recovery, "M": found.M, "T": found.T}


def run_diagnostics(inputs: DiagnosticsInputs) -> Result:
    """All of Appendix D under its names; trace coverage also as plain `coverage`."""
    found = c3(
        inputs.scores,
        inputs.final,
        initial_is_boundary=inputs.initial_is_boundary,
        candidate_counts=inputs.candidate_counts,
    )
    build = diagnostics.build(inputs.rounds())
    return {
        **asdict(diagnostics.shape(inputs.scores, initial_is_boundary=inputs.initial_is_boundary)),
        **asdict(build),
        **asdict(diagnostics.feedback(found)),
        "coverage": build.trace_coverage,
        "dips": found.M,
    }


def run_aggregate(inputs: AggregateInputs) -> Result:
    """The two-level mean of each model."""
    return {"aggregate": {model: found.value for model, found in two_level(inputs.values()).items()}}


MEASURES: Mapping[str, tuple[type[BaseModel], Callable[[Any], Result]]] = {
    "c1": (C1Inputs, run_c1),
    "c2": (C2Inputs, run_c2),
    "c3": (C3Inputs, run_c3),
    "diagnostics": (DiagnosticsInputs, run_diagnostics),
    "aggregate": (AggregateInputs, run_aggregate),
}
"""What a case may name as its function: the inputs it takes and the call."""


class Case(_Strict):
    """One worked example."""

    name: Annotated[str, Field(min_length=1)]
    function: str
    inputs: dict[str, Any]
    expected: dict[str, Any]
    """Any of the keys that the function gives; an aggregate's value is an object by model."""
    why: str = ""

    @field_validator("function")
    @classmethod
    def _known(cls, function: str) -> str:
        if function not in MEASURES:
            raise ValueError(f"no measure is called {function!r}; write one of {', '.join(MEASURES)}")
        return function

    @field_validator("expected")
    @classmethod
    def _comparable(cls, expected: dict[str, Any]) -> dict[str, Any]:
        if not expected:
            raise ValueError("is empty, so the case verifies nothing; name at least one value")
        for key, value in expected.items():
            inner = value if isinstance(value, dict) else {"": value}
            for name, number in inner.items():
                if not isinstance(number, bool):
                    try:
                        _number(number)
                    except ValueError as error:
                        raise ValueError(f"{'.'.join(filter(None, (key, name)))}: {error}") from None
        return expected
