"""What a run's tokens cost at dated list prices, beside what the agent or its log says that it cost."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from loopscope.models import RunRecord, Usage
from loopscope.models.usage import COST_DOUBT

FAR = 2
"""A claim is far from the list price when one is more than so many times the other."""
type _Four = tuple[Decimal, Decimal, Decimal, Decimal]
_MILLION = Decimal(1_000_000)
_MOST = 10**15
"""Tokens or US dollars beyond it are no report of any use."""
_VERSION = re.compile(r"(?:[-@]20\d\d-?\d\d-?\d\d|-preview|-latest|\[[^\]]*\])+\Z")
"""What names follow a model's own name with; the price is the same."""


class _Prices(BaseModel):
    """`prices.yaml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dated: date
    source: str
    models: dict[str, _Four]
    """US dollars per million tokens: input, read from a cache, written to a cache, output."""


@dataclass(frozen=True)
class Priced:
    """A run's tokens in US dollars."""

    model: str
    """As the price list names it."""
    dated: date
    """Of the list."""
    counts: tuple[int, int, int, int]
    """Tokens: input, read from a cache, written to a cache, output."""
    own: _Four
    """US dollars per million of each."""
    undiscounted: _Four
    """The same with all input at the full price, as the paper counts it (Section 2.3)."""

    @property
    def cached(self) -> Decimal:
        """US dollars, each kind of token at its own price."""
        return self._at(self.own)

    @property
    def full(self) -> Decimal:
        """US dollars, all input at the full price."""
        return self._at(self.undiscounted)

    def _at(self, prices: _Four) -> Decimal:
        return sum((price * count for price, count in zip(prices, self.counts, strict=True)), Decimal(0)) / _MILLION


@cache
def _list() -> _Prices:
    text = Path(__file__).with_name("prices.yaml").read_text(encoding="utf-8")
    # The reader in C, where there is one, takes a tenth of the time.
    return _Prices.model_validate(yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))  # noqa: S506


def priced(model: str | None, usage: Usage) -> Priced | None:
    """The price of all tokens at the list price of the run's model.

    None where tokens or model are unknown, or the list does not have it. Tokens of other models that a run calls beside
    its own (small ones, mostly) are priced alike, since records do not tell them apart.
    """
    if usage.input_uncached is None or usage.output is None or usage.tokens is None or not model:
        return None
    if not 0 <= usage.tokens <= _MOST:
        return None
    name = _VERSION.sub("", model.lower().rsplit("/", 1)[-1])
    prices = _list()
    if name not in prices.models:
        return None
    fresh, read, written, output = prices.models[name]
    counts = (usage.input_uncached, usage.cache_read or 0, usage.cache_write or 0, usage.output)
    return Priced(name, prices.dated, counts, (fresh, read, written, output), (fresh, fresh, fresh, output))


def price_of(record: RunRecord) -> Priced | None:
    """As `priced`, of a run."""
    return priced(record.model, record.usage)


def claimed_cost(record: RunRecord) -> Decimal | None:
    """What the agent, or an imported run's log, says that the run cost."""
    return record.imported.claimed_cost_usd if record.imported is not None else record.usage.cost_usd


def cost_doubt(record: RunRecord) -> str | None:
    """That the claimed cost lies far from the list price of the tokens; None where it does not, or one is unknown.

    A log that does not count all of its responses' tokens says nothing of what they cost.
    """
    if record.imported is not None and record.imported.usage_completeness != "complete":
        return None
    claim, price = claimed_cost(record), price_of(record)
    if claim is None or price is None or not claim.is_finite() or not 0 <= claim <= _MOST:
        return None
    if claim <= FAR * price.cached and price.cached <= FAR * claim:
        return None
    return (
        f"{COST_DOUBT} {claim:f} USD, and its tokens are worth {price.cached.normalize():f} USD at the "
        f"list prices of {price.dated} for {price.model}"
    )
