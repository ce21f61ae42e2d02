"""Rewards that a log itself states. What is no finite number is missing, and never 0."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from loopscope.models.verdict import MAX_REWARD_FILE, read_verdict
from loopscope.transcripts.canonical import Reported
from loopscope.transcripts.errors import TranscriptError
from loopscope.transcripts.files import is_file, whole
from loopscope.transcripts.shapes import short, table

_LARGEST = 12
"""Decimal exponent beyond which a number is no reward."""
_LETTERS = {"C": 1, "P": Decimal("0.5"), "I": 0, "N": 0}
"""Inspect's grades, worth what its own metrics make of them: correct, partial, incorrect, no answer."""


def reward_of(value: object) -> Decimal | None:
    """A reward in the shape that verifiers write: a number, or an object with `reward` (or `score`, or one number)."""
    if isinstance(value, dict) and len(value) == 1 and not isinstance(next(iter(value.values())), dict):
        value = next(iter(value.values()))
    try:
        data = json.dumps(value).encode()
    except (TypeError, ValueError, RecursionError):
        return None
    return _kept(read_verdict(data, None).reward)


def reward_in(folder: Path, name: str) -> Reported | None:
    """The reward that Harbor's verifier left in its own folder, as `reward.json` or `reward.txt`.

    Args:
        folder: the verifier's.
        name: of the folder, in `where`.
    """
    found = {file: _bytes(folder / file) for file in ("reward.json", "reward.txt")}
    reward = _kept(read_verdict(found["reward.json"], found["reward.txt"]).reward)
    if reward is None:
        return None
    file = "reward.json" if _kept(read_verdict(found["reward.json"], None).reward) is not None else "reward.txt"
    return Reported(reward, f"{name}/{file}")


def reward_in_result(result: Mapping[str, Any]) -> Reported | None:
    """The reward in the `result.json` of a trial of Harbor's, of its present form and of earlier ones."""
    verifier = table(result.get("verifier_result"))
    name = "rewards" if verifier.get("rewards") is not None else "reward"
    reward = reward_of(verifier.get(name))
    return Reported(reward, f"result.json verifier_result.{name}") if reward is not None else None


def reward_of_scores(scores: object) -> tuple[Reported | None, str | None]:
    """(the reward of an Inspect sample, why there is none although it was scored).

    Args:
        scores: what each scorer gave, by its name.
    """
    found = {str(scorer): table(score).get("value") for scorer, score in table(scores).items()}
    if len(found) > 1:
        found = {scorer: value for scorer, value in found.items() if scorer == "reward"} or found
    if len(found) != 1:
        return None, f"scored by {len(found)} scorers, none of them named reward" if found else None
    [(scorer, value)] = found.items()
    worth = _LETTERS.get(value, value) if isinstance(value, str) else value
    reward = _kept(Decimal(worth)) if isinstance(worth, int | Decimal) else reward_of(worth)
    if reward is None:
        return None, "its score is no number"
    return Reported(reward, f"scores.{short(scorer) or 'unnamed'}.value"), None


def _kept(reward: Decimal | None) -> Decimal | None:
    return reward if reward is not None and reward.adjusted() <= _LARGEST else None


def _bytes(path: Path) -> bytes | None:
    if not is_file(path):
        return None
    try:
        return whole(path, MAX_REWARD_FILE)
    except TranscriptError:
        return None
