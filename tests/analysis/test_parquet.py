"""Rows come back from a file as they were."""

from __future__ import annotations

import io
from dataclasses import astuple, dataclass
from datetime import UTC, datetime

import polars as pl
import pytest

from loopscope.analysis.parquet import frame, parquet_bytes, schema


@dataclass(frozen=True)
class Row:
    name: str | None
    count: int | None
    share: float | None
    sure: bool | None
    when: datetime | None
    texts: tuple[str, ...]
    numbers: tuple[float, ...]


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ROWS = [
    Row("a", 1, 0.5, True, NOON, ("x", "", "x"), ()),
    Row(None, None, None, None, None, (), (0.25,)),
    Row("", 0, 0.0, False, NOON, (), (3.0, 1.0, 2.0)),
    Row("é", -(2**40), 1e-9, True, None, ("\x00",), ()),
]


@pytest.mark.parametrize("rows", [ROWS, ROWS[:1], ROWS[1:2], []])
def test_rows_survive(rows: list[Row]) -> None:
    data = parquet_bytes(frame(Row, rows))
    assert data == parquet_bytes(frame(Row, iter(rows)))
    found = pl.read_parquet(io.BytesIO(data))
    assert dict(found.schema) == schema(Row)
    expected = [
        tuple(
            v.isoformat() if isinstance(v, datetime) else list(v) if isinstance(v, tuple) else v for v in astuple(row)
        )
        for row in rows
    ]
    assert found.rows() == expected


def test_a_field_that_no_column_can_hold_is_refused() -> None:
    @dataclass
    class Odd:
        thing: complex

    with pytest.raises(KeyError):
        schema(Odd)
