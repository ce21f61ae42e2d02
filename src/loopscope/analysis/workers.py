"""Several processes analyse the runs of a study; what comes of it is the same as from one."""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from multiprocessing import Pipe
from multiprocessing.connection import wait
from typing import ClassVar

from loopscope.analysis.tabled import TabledRun
from loopscope.analysis.work import Answer, Known, LeftOut, answer
from loopscope.records import RecordError, RunDir

AHEAD = 2
"""Runs that a process is given beforehand, so that it never waits for the next."""

_START = "from loopscope.analysis.work import main; main()"
"""Not `-m`: the module would be called `__main__` there, and so would what it sends."""


class WorkerDiedError(RecordError):
    """A process ended in the middle of a run: killed for its memory, or by a fault of ours."""

    midway: ClassVar[bool] = True
    """This machine is to blame, not what was asked for."""


class _Worker:
    """One process and the runs that it has been given."""

    def __init__(self, known: Known) -> None:
        self.connection, other = Pipe()
        with other:
            command = [sys.executable, "-P", "-c", _START, str(other.fileno())]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[other.fileno()])
        self.given: deque[tuple[int, RunDir]] = deque()
        self._send(known)

    def give(self, index: int, run: RunDir) -> None:
        self.given.append((index, run))
        self._send(run.path)

    def _send(self, what: object) -> None:
        with suppress(OSError):  # it has died, which is told where its answer is missed
            self.connection.send(what)

    def take(self) -> tuple[int, Answer]:
        """The next answer. WorkerDiedError: there will be none."""
        index, run = self.given[0]
        try:
            found: Answer = self.connection.recv()
        except (EOFError, OSError):
            status = self.process.wait()
            how = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
            raise WorkerDiedError(
                f"{run.path}: the process that analysed it ended ({how}); see what it printed, free memory, and "
                "analyse again, with --workers 1 if need be: what is finished is not done again"
            ) from None
        self.given.popleft()
        return index, found

    def close(self) -> None:
        """End it, whatever it is doing."""
        self.connection.close()
        self.process.kill()
        self.process.wait()


def in_processes(known: Known, runs: Sequence[RunDir], count: int) -> Iterator[tuple[int, TabledRun | LeftOut]]:
    """(position, what came of the run), as they are finished, by `count` processes, this one among them.

    Raises:
        WorkerDiedError: a process ended in the middle of a run.
        OSError: the study cannot be read or written.
    """
    waiting = deque(enumerate(runs))
    with ExitStack() as stack:
        workers = _started(known, min(count - 1, len(runs)), stack)
        for worker in workers * AHEAD:
            if waiting:
                worker.give(*waiting.popleft())
        while waiting or any(worker.given for worker in workers):
            for worker in _ready(workers, patient=not waiting):
                index, found = worker.take()
                if waiting:
                    worker.give(*waiting.popleft())
                if isinstance(found, OSError):
                    raise found
                yield index, found
            if waiting:
                index, run = waiting.popleft()
                yield index, answer(known, run)


def _started(known: Known, count: int, stack: ExitStack) -> list[_Worker]:
    workers = []
    for _ in range(count):
        workers.append(_Worker(known))
        stack.callback(workers[-1].close)
    return workers


def _ready(workers: Sequence[_Worker], *, patient: bool) -> list[_Worker]:
    """Those that have an answer, or have died; with patience, at least one of those that owe one."""
    owing = {worker.connection: worker for worker in workers if worker.given}
    found = wait(list(owing), None if patient else 0)
    return [worker for connection, worker in owing.items() if connection in found]
