"""Read what a verifier left, whatever it left: reward.json, reward.txt, both, neither, nonsense.

Harbor raises on null and text rewards, and verifiers write those on their failure paths; a reward that is missing
must become missing, never zero and never an exception that takes the rest of the file with it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from decimal import Context, Decimal, InvalidOperation

from loopscope.models.score import VerificationStatus

MAX_REWARD_FILE = 1 << 20
_MAX_METRICS = 200
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,6})?", re.ASCII)
_DIGITS = 50
"""Significant digits that are kept; no verifier measures so many."""
_ROUND = Context(prec=_DIGITS)
_ROUNDED_PLACES = 4
_LARGEST = 300
"""Decimal exponent beyond which a number is no score (and no double)."""

Json = None | bool | str | Decimal | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True)
class Verdict:
    """What one verification said."""

    status: VerificationStatus
    reward: Decimal | None = None
    metrics: dict[str, Decimal] = field(default_factory=dict)
    reason: str | None = None


def read_verdict(reward_json: bytes | None, reward_txt: bytes | None) -> Verdict:
    """Combine both files; JSON wins, as in Harbor. None means that the file does not exist."""
    if reward_json is None and reward_txt is None:
        return Verdict(VerificationStatus.NO_REWARD, reason="the verifier wrote neither reward.json nor reward.txt")
    from_json = _from_json(reward_json) if reward_json is not None else None
    from_text = _from_text(reward_txt) if reward_txt is not None else None
    if from_json is None:
        return from_text or Verdict(VerificationStatus.NO_REWARD)
    if from_text is None or from_text.reward is None:
        return from_json
    if from_json.reward is None:
        reason = f"reward.json: {from_json.reason}; taken from reward.txt"
        return Verdict(VerificationStatus.OK, from_text.reward, from_json.metrics, reason)
    if not _same(from_json.reward, from_text.reward):
        note = f"reward.txt says {from_text.reward}, reward.json {from_json.reward}; the JSON counts"
        reason = f"{from_json.reason}; {note}" if from_json.reason else note
        return Verdict(from_json.status, from_json.reward, from_json.metrics, reason)
    return from_json


def _same(one: Decimal, other: Decimal) -> bool:
    """Equal, or one is the other rounded to the places it has, at least four: text files often hold fewer digits."""
    short = max(one, other, key=lambda number: number.as_tuple().exponent)
    places = -int(short.as_tuple().exponent)
    return one == other or (places >= _ROUNDED_PLACES and abs(one - other) <= Decimal(5).scaleb(-places - 1))


def _from_text(data: bytes) -> Verdict:
    text = data.decode("utf-8", "replace").strip()
    if not text:
        return Verdict(VerificationStatus.NO_REWARD, reason="reward.txt is empty")
    number = _number(text)
    if number is None:
        return Verdict(VerificationStatus.UNREADABLE, reason=f"reward.txt is no finite number: {text[:80]!r}")
    return Verdict(VerificationStatus.OK, number)


def _from_json(data: bytes) -> Verdict:
    if not data.strip():
        return Verdict(VerificationStatus.NO_REWARD, reason="reward.json is empty")
    try:
        value: Json = json.loads(
            data[: MAX_REWARD_FILE + 1], parse_float=Decimal, parse_int=Decimal, parse_constant=lambda name: name
        )
    except (ValueError, RecursionError, InvalidOperation) as error:
        return Verdict(VerificationStatus.UNREADABLE, reason=f"reward.json is no JSON: {str(error)[:120]}")
    metrics: dict[str, Decimal] = {}
    if isinstance(value, dict):
        _collect(value, "", metrics)
    return _reward(value, metrics)


def _reward(value: Json, metrics: dict[str, Decimal]) -> Verdict:
    key, note = "", None
    if isinstance(value, dict):
        key = "reward" if "reward" in value else "score" if "score" in value else ""
        if not key:
            return Verdict(VerificationStatus.NO_REWARD, None, metrics, "reward.json has no key `reward`")
        note = None if key == "reward" else "no key `reward`; taken from `score`"
        value = value[key]
        if isinstance(value, dict):
            note, value = f"`{key}` is an object; taken from `{key}.{key}`", value.get(key)
    metrics = {name: number for name, number in metrics.items() if name != key}
    if value is None:
        return Verdict(VerificationStatus.NO_REWARD, None, metrics, f"`{key or 'reward.json'}` is null")
    if isinstance(value, bool):
        return Verdict(VerificationStatus.OK, Decimal(int(value)), metrics, "the reward is a boolean")
    number = _number(value) if isinstance(value, str | Decimal) else None
    if number is None:
        reason = f"`{key or 'reward.json'}` is no finite number: {str(value)[:80]!r}"
        return Verdict(VerificationStatus.UNREADABLE, None, metrics, reason)
    if isinstance(value, str):
        note = "the reward is a number written as text"
    if not 0 <= number <= 1 and note is None:
        note = "the reward lies outside 0..1"
    return Verdict(VerificationStatus.OK, number, metrics, note)


def _number(value: str | Decimal) -> Decimal | None:
    if isinstance(value, str):
        if not _PLAIN.fullmatch(value.strip()):
            return None
        try:
            value = Decimal(value.strip())
        except InvalidOperation:
            return None
    if not value.is_finite():
        return None
    if not value:
        return Decimal(0)  # a zero's exponent says nothing
    if abs(value.adjusted()) > _LARGEST:
        return None
    return value if len(value.as_tuple().digits) <= _DIGITS else _ROUND.create_decimal(value)


def _collect(value: dict[str, Json], prefix: str, into: dict[str, Decimal], depth: int = 8) -> None:
    for key, item in value.items():
        if len(into) >= _MAX_METRICS or depth == 0:
            return
        name = f"{prefix}{key}"[:120]
        if isinstance(item, bool):
            into[name] = Decimal(int(item))
        elif isinstance(item, dict):
            _collect(item, f"{name}.", into, depth - 1)
        elif isinstance(item, str | Decimal) and (number := _number(item)) is not None:
            into[name] = number
