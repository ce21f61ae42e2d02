"""Rows to Parquet: the schema follows from the row type, and equal rows give equal bytes."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from types import NoneType
from typing import Any, get_args, get_type_hints

import polars as pl

_COLUMNS: dict[Any, Any] = {
    str: pl.String,
    int: pl.Int64,
    float: pl.Float64,
    bool: pl.Boolean,
    datetime: pl.String,
    tuple[str, ...]: pl.List(pl.String),
    tuple[float, ...]: pl.List(pl.Float64),
}


def schema(kind: type) -> dict[str, Any]:
    """Columns of a row type in its order, with their polars types. KeyError for a field that no column can hold."""
    hints = get_type_hints(kind)
    return {field.name: _COLUMNS[_plain(hints[field.name])] for field in fields(kind)}


def frame[Row](kind: type[Row], rows: Iterable[Row]) -> pl.DataFrame:
    """A table of these rows; with all its columns even where there is no row."""
    found = list(rows)
    hints = get_type_hints(kind)
    series = []
    for name, dtype in schema(kind).items():
        values: list[Any] = [getattr(row, name) for row in found]
        if _plain(hints[name]) is datetime:
            values = [None if value is None else value.isoformat() for value in values]
        made = _lists(name, values, dtype) if isinstance(dtype, pl.List) else pl.Series(name, values, dtype=dtype)
        series.append(made)
    return pl.DataFrame(series)


def _lists(name: str, values: Sequence[Sequence[Any]], dtype: pl.List) -> pl.Series:
    """A column of lists, made of all their items at once: polars makes one list at a time ten times as slowly."""
    items = pl.DataFrame(
        [
            pl.Series("row", [row for row, value in enumerate(values) for _ in value], dtype=pl.UInt32),
            pl.Series(name, [item for value in values for item in value], dtype=dtype.inner),
        ]
    )
    filled = items.group_by("row", maintain_order=True).agg(pl.col(name))
    rows = pl.DataFrame([pl.Series("row", range(len(values)), dtype=pl.UInt32)])
    found = rows.join(filled, on="row", how="left", maintain_order="left")[name]
    return found.fill_null(pl.Series([[]], dtype=dtype)).rechunk()


def parquet_bytes(table: pl.DataFrame) -> bytes:
    """The file's content."""
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", compression_level=3, statistics=False)
    return buffer.getvalue()


def _plain(hint: Any) -> Any:
    """The type without its None."""
    known = [part for part in get_args(hint) if part is not NoneType]
    return known[0] if NoneType in get_args(hint) else hint
