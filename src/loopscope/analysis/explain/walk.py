"""All steps of an explanation, wherever they stand."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from loopscope.analysis.explain.told import Step


def steps_of(told: BaseModel) -> Iterator[Step]:
    """Every `Step` in it, in order."""
    for name in type(told).model_fields:
        yield from _within(getattr(told, name))


def _within(value: object) -> Iterator[Step]:
    if isinstance(value, Step):
        yield value
    elif isinstance(value, BaseModel):
        yield from steps_of(value)
    elif isinstance(value, tuple):
        for part in value:
            yield from _within(part)
