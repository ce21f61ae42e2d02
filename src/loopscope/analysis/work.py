"""The analysis of one run, wherever it is done: here, or in a process of its own beside others.

`main` is such a process: it takes what is known of the study and then directories of runs from its connection, and
answers with what tables take from each. polars is not loaded here, so that it starts quickly.
"""

from __future__ import annotations

import contextlib
import gc
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from loopscope.analysis.runs import RunAnalysis, analyze_run
from loopscope.analysis.tabled import TabledRun, tabled
from loopscope.evidence.evaluator import completed, evaluator_for
from loopscope.models import RunRecord, TaskFacts
from loopscope.models.pairing import Pairing
from loopscope.records import RecordError, RunDir, StudyStore
from loopscope.records.faults import told_fault


@dataclass(frozen=True)
class Known:
    """What the analysis of a run needs besides its own directory; the same for all runs of a study."""

    study: Path
    tasks: Mapping[str, TaskFacts]
    """The prepared tasks by name."""
    prepared: Mapping[str, frozenset[bytes]]
    """Files of their untouched work directories, where they are known."""
    pairings: Mapping[str, Pairing] = field(default_factory=dict)
    """How the rewards of the calibrated tasks are paired."""

    def facts(self, run: RunDir, record: RunRecord) -> TaskFacts:
        """What is known of a run's task: the prepared one, else what its log and the evaluator file say.

        Raises:
            RecordError: the run is our own, and its task is not there; or the evaluator file cannot be used.
        """
        if (prepared := self.tasks.get(record.task)) is not None:
            return prepared
        if record.imported is None:
            raise RecordError(f"{run.path}: its task {record.task!r} is not among the study's prepared tasks")
        store = StudyStore(self.study)
        return completed(store.facts(record), evaluator_for(record.task, store.evaluators))

    def analyze(self, run: RunDir) -> RunAnalysis:
        """A run with its measures. RecordError: its records cannot be read."""
        record = run.record
        facts = self.facts(run, record)
        prepared = self.prepared.get(record.task, frozenset())
        pairing = self.pairings.get(record.task)
        return analyze_run(run, facts, prepared, StudyStore(self.study).evaluators, pairing)


@dataclass(frozen=True)
class LeftOut:
    """A run whose records cannot be read, or that our own code fails on."""

    reason: str
    fault: bool = False
    """It is our code that fails."""


type Answer = TabledRun | LeftOut | OSError
"""What comes of a run; an OSError is the machine's or the study's fault and ends the analysis."""


def answer(known: Known, run: RunDir) -> TabledRun | LeftOut:
    """What tables take from a run. OSError: the study cannot be read or written."""
    try:
        with no_search_for_cycles():
            return tabled(known.analyze(run))
    except RecordError as error:
        return LeftOut(str(error))
    except OSError:
        raise
    except Exception as error:  # whatever a log brings our code to, it costs that run alone
        return LeftOut(f"{run.path}: could not be analysed: {told_fault(error)}", fault=True)
    finally:
        # What was read of it is not needed again, and hundreds of records are much.
        vars(run).pop("record", None)


@contextlib.contextmanager
def no_search_for_cycles() -> Iterator[None]:
    """A run is read into thousands of objects that hold no cycles: looking for some takes some percent of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _serve(connection: Connection) -> None:
    """Answer until the other side hangs up."""
    known: Known = connection.recv()
    while True:
        run = RunDir(connection.recv())
        try:
            found: Answer = answer(known, run)
        except OSError as error:
            found = error
        connection.send(found)


def main() -> None:
    """Entry point of a process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one that started this hears it too, and hangs up
    with contextlib.suppress(EOFError, BrokenPipeError), Connection(int(sys.argv[1])) as connection:
        _serve(connection)
