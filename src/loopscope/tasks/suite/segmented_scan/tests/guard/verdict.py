"""How a verifier takes a solution in and gives its verdict out. Standard library only."""

from __future__ import annotations

import json
import math
import os
import stat
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any

from .fence import Guard

APP = os.environ.get("APP_DIR", "/app")
LOGS = os.environ.get("LOG_DIR", "/logs/verifier")
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Gate(Exception):
    """The solution fails: reward 0 and correctness 0, with this reason beside them."""


def anchors() -> dict[str, float]:
    """{baseline, reference, reward}: two values of the metric, and what the second is worth.

    They stand in task.toml; `anchors.json` is a copy, held equal by a test, because only tests/ reaches the sandbox.
    """
    with open(os.path.join(HERE, "anchors.json")) as file:
        return dict(json.load(file))


def pristine(*names: str) -> dict[str, bytes]:
    """Files of the verifier's own, by name: {name: bytes}."""
    found = {}
    for name in names:
        with open(os.path.join(HERE, name), "rb") as file:
            found[name] = file.read()
    return found


def submitted(names: Iterable[str], most: int) -> dict[str, bytes]:
    """The editable files as the solution left them: {name: bytes}; regular files of at most `most` bytes each."""
    return {name: read_regular(APP, name, most) for name in names}


def read_regular(directory: str, name: str, most: int) -> bytes:
    """A plain file directly in `directory`; `Gate` for anything else."""
    try:
        parent = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=parent)
        finally:
            os.close(parent)
    except OSError as error:
        raise Gate("%s cannot be read: %s" % (name, error.strerror)) from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Gate("%s is not a regular file" % name)
        with os.fdopen(os.dup(handle), "rb") as file:
            content = file.read(most + 1)
    finally:
        os.close(handle)
    if len(content) > most:
        raise Gate("%s is larger than %d bytes" % (name, most))
    return content


def seed() -> int:
    """Fresh from the system at every verification, unless LOOPSCOPE_SEED fixes it for a counterfactual."""
    return int(os.environ.get("LOOPSCOPE_SEED") or int.from_bytes(os.urandom(16), "big"))


def setting(name: str, default: int) -> int:
    """A whole number from the verifier's environment: LOOPSCOPE_<NAME>, at least 1."""
    return max(int(os.environ.get("LOOPSCOPE_" + name) or default), 1)


def clamp(value: float) -> float:
    """Into [0, 1]; what is not finite earns nothing."""
    return min(max(value, 0.0), 1.0) if math.isfinite(value) else 0.0


def conclude(judge: Callable[[Guard], tuple[float, dict[str, Any]]]) -> int:
    """Call `judge(guard)` -> (reward, {name: number or text}) and write what comes of it.

    A `Gate` gives reward 0. Any other exception is a fault of this verifier or of the machine: no reward is written and
    the exit status is 1, for a missing reward is not a zero.
    """
    started = time.monotonic()
    os.makedirs(LOGS, exist_ok=True)
    for name in ("reward.json", "reward.txt", "details.json"):
        _remove(os.path.join(LOGS, name))
    try:
        with Guard(os.environ.get("LOOPSCOPE_GUARD") or None) as guard:
            try:
                reward, details = judge(guard)
                verdict: dict[str, Any] = {"reward": clamp(reward), "correctness": 1}
            except Gate as gate:
                verdict, details = {"reward": 0, "correctness": 0}, {"reason": str(gate)}
            details.update(
                guard=guard.level, seconds=round(time.monotonic() - started, 3), fences_refused=guard.refusals
            )
    except Exception:
        traceback.print_exc()
        return 1
    verdict.update({k: v for k, v in details.items() if _is_number(v)})
    _write("details.json", details)
    _write("reward.json", verdict)
    json.dump({**verdict, **details}, sys.stdout, indent=1)
    print()
    return 0


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def _write(name: str, value: dict[str, Any]) -> None:
    path = os.path.join(LOGS, name)
    _remove(path + ".new")
    handle = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    with os.fdopen(handle, "w") as file:
        json.dump(value, file)
    os.replace(path + ".new", path)
