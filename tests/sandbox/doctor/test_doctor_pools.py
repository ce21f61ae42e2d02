"""Pools of the whole machine, held against what sandboxes may hold of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_root import made

from loopscope.sandbox.doctor.finding import State
from loopscope.sandbox.doctor.pools import look_pools

KERNEL = "/proc/sys/kernel/"


@pytest.mark.parametrize(
    ("pids", "threads", "pty", "states", "commands"),
    [
        ("4194304", "200000", "4096", ("ok", "ok"), 0),
        ("32768", "192730", "4096", ("weak", "ok"), 1),
        ("32768", "30000", "2048", ("weak", "weak"), 3),
    ],
)
def test_small_pools_are_told_with_the_command(
    tmp_path: Path, pids: str, threads: str, pty: str, states: tuple[str, ...], commands: int
) -> None:
    files = {f"{KERNEL}pid_max": pids, f"{KERNEL}threads-max": threads, f"{KERNEL}pty/max": pty}
    rows = list(look_pools(made(tmp_path, files, uid=0)))
    assert tuple(row.state.value for row in rows) == states
    assert sum(len(row.commands) for row in rows) == commands
    assert all(row.cost and "sysctl -w kernel." in row.commands[0] for row in rows if row.state is State.WEAK)


def test_a_kernel_that_tells_nothing_gives_no_row(tmp_path: Path) -> None:
    assert list(look_pools(made(tmp_path, {}))) == []
