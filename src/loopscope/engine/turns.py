"""In which order things take turns, so that work which is stopped early is balanced."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator


def fair_order[Item](
    items: Iterable[Item],
    round_of: Callable[[Item], int | tuple[int, ...]],
    cell_of: Callable[[Item], tuple[Hashable, Hashable]],
) -> list[Item]:
    """Round by round; within one, tasks and agents take turns.

    Of a full round, any beginning is spread over the tasks, and over the agents, as evenly as whole numbers can be.

    Args:
        cell_of: (task, agent) of an item.
    """
    listed = list(items)
    rows = {row: i for i, row in enumerate(dict.fromkeys(cell_of(item)[0] for item in listed))}
    columns = {column: i for i, column in enumerate(dict.fromkeys(cell_of(item)[1] for item in listed))}
    height, width = len(rows), len(columns)
    # Both indices count up together; after their common multiple they would meet the same pairs again, hence the shift.
    lcm = math.lcm(height, width)
    turn = {(n % height, (n + n // lcm) % width): n for n in range(height * width)}

    def place(item: Item) -> tuple[int | tuple[int, ...], int]:
        task, agent = cell_of(item)
        return round_of(item), turn[rows[task], columns[agent]]

    return sorted(listed, key=place)


def evenly(count: int) -> list[int]:
    """The numbers below `count` so that any beginning is spread over them: the last, the first, then the middles of
    what lies between, the widest gaps first."""
    return list(dict.fromkeys(_halved(count)))


def _halved(count: int) -> Iterator[int]:
    if count:
        yield from (count - 1, 0)
    gaps = [(0, count - 1)] if count else []
    while gaps:
        halves = []
        for low, high in gaps:
            middle = (low + high) // 2
            if middle != low:
                yield middle
                halves += [(low, middle), (middle, high)]
        gaps = sorted(halves, key=lambda gap: gap[0] - gap[1])
