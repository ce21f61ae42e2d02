"""Options of the local sandbox that make no sense: refused before anything starts, in a line with field and remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loopscope.sandbox import options
from loopscope.sandbox.environment import LocalEnvironment
from loopscope.sandbox.errors import SandboxError

ABSURD: list[tuple[dict[str, Any], str]] = [
    ({"pids_limit": 2}, r"pids_limit: 2 does not fit: greater than or equal to 16; remove it for the default \(4096\)"),
    ({"pids_limit": 10**9}, r"pids_limit: 1000000000 is more than .* \(\d+\); lower it"),
    ({"pids_limit": "many"}, "pids_limit: 'many' does not fit"),
    ({"shm_mb": -1}, r"shm_mb: -1 does not fit: .*; remove it for the default \(64\)"),
    ({"shm_mb": 0}, "shm_mb: 0 does not fit"),
    ({"shm_mb": 10**9}, "shm_mb: 1000000000 is more than this machine's memory"),
    ({"storage": 0}, "storage: 0 does not fit: 'auto', 'loop', 'tmpfs' or 'directory'; .*default .auto"),
    ({"limits": "some"}, "limits: 'some' does not fit: 'strongest', 'watchdog' or 'none'"),
    ({"python_packages": "numpy"}, "python_packages: 'numpy' does not fit"),
    ({"max_transfer_bytes": 0}, "max_transfer_bytes: 0 does not fit"),
    ({"transfer_timeout_sec": float("inf")}, "transfer_timeout_sec: inf does not fit"),
    ({"pid_limit": 300}, "pid_limit: no option of the local sandbox; did you mean pids_limit"),
    ({"memory_mb": 1}, r"memory_mb: .*write it as `environment\.memory_mb`"),
    ({"storage_mb": 0}, r"storage_mb: .*task\.toml"),
]


@pytest.mark.parametrize(("kwargs", "said"), ABSURD, ids=str)
def test_absurd_options_are_refused_in_one_line(kwargs: dict[str, Any], said: str) -> None:
    with pytest.raises(SandboxError, match=said) as caught:
        options.parse(kwargs)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=said):
        LocalEnvironment.parse_options(kwargs)


def test_what_makes_sense_is_taken_as_it_is() -> None:
    given = {"shm_mb": 1000, "pids_limit": 16, "storage": "tmpfs", "limits": "watchdog", "python_packages": []}
    parsed = options.parse(given)
    assert (parsed.shm_mb, parsed.pids_limit, parsed.storage, parsed.limits.value) == (1000, 16, "tmpfs", "watchdog")
    assert parsed.python_packages == () and options.parse({}).pids_limit == 4096


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"memory_mb": 1}, "memory_mb"),
        ({"memory_mb": -5}, "memory_mb"),
        ({"cpus": 0.0}, "cpus"),
        ({"cpus": float("nan")}, "cpus"),
        ({"storage_mb": 0}, "storage_mb"),
        ({"memory_mb": 32, "cpus": 0.1, "storage_mb": 1}, None),
        ({}, None),
    ],
)
def test_resources_that_hold_nothing_are_refused(asked: dict[str, Any], field: str | None) -> None:
    wrong = options.check_resources(**asked)
    assert (wrong and wrong[0]) == field
    assert wrong is None or "remove it" in wrong[1]


def test_most_processes_is_the_lesser_of_the_kernels_bounds(tmp_path: Path) -> None:
    assert options.most_processes(tmp_path) > 4096
    (tmp_path / "pid_max").write_text("32768\n")
    (tmp_path / "threads-max").write_text("20000\n")
    assert options.most_processes(tmp_path) == 20000
