"""Studies that are killed and go on: starts the command by way of the fork server and keeps account of what it does.

`Arena` is a study with its surroundings (locks, temporary files, logs of each start). A start is made with a `Blow`;
afterwards what was finished before must be there unchanged. docs/design/durability.md says how to repeat a start.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from killing_agent import LEDGER
from killing_blows import Blow
from killing_ledger import Finished, compare
from toy_study import write_task

_SUPPORT = Path(__file__).parent


def _given_path() -> list[str]:
    return [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]


class ForkServer:
    """The process of `killing_server.py`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(_SUPPORT / "killing_server.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ
            | {"PYTHONPATH": os.pathsep.join([str(_SUPPORT), *_given_path()]), "OPENBLAS_NUM_THREADS": "1"},
        )
        self._answer()

    def ask(self, do: str, **request: object) -> dict[str, Any]:
        """One request and its answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def call(self, function: str, argument: Path) -> Any:
        """A function's answer, seen from where starts run."""
        found = self.ask("call", function=function, argument=str(argument))
        assert "error" not in found, found["error"]
        return found["answer"]

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the fork server died; its words are on standard error"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End it."""
        self._process.communicate()


@dataclass(frozen=True)
class Start:
    """How a start ended."""

    argv: tuple[str, ...]
    blow: Blow
    code: int
    """Exit code; negative: the signal."""
    logs: Path
    stopped: bool = False
    pid: int = 0
    seconds: float = 0.0
    cpu: float = 0.0

    @property
    def out(self) -> str:
        """Standard output."""
        return (self.logs / "out").read_text(errors="replace")

    @property
    def err(self) -> str:
        """Standard error."""
        return (self.logs / "err").read_text(errors="replace")

    @property
    def report(self) -> list[dict[str, str]]:
        """What the saboteur said."""
        return [json.loads(line) for line in (self.logs / "report").read_text().splitlines()]

    @property
    def struck(self) -> str | None:
        """Where the blow fell; None when its moment never came."""
        told = [line for line in self.report if "missed" not in line]
        if len(told) < len(self.report):
            return None
        return next((line["at"] for line in told if "struck" in line), None)

    @property
    def idle(self) -> bool:
        """Whether it was an undisturbed `run`, without further options, that came to its end and found nothing to do."""
        plain = self.argv[0] == "run" and len(self.argv) == 4 and self.blow == Blow() and not self.stopped
        return plain and (self.code, self.began("verifier"), self.began("agent")) == (0, 0, 0)

    def began(self, kind: str) -> int:
        """How many `verifier` or `agent` commands were started."""
        return sum(line.get("began") == kind for line in self.report)

    def text(self) -> str:
        """How to do it again, and what it said."""
        return (
            f"`{' '.join(self.argv)}` with {self.blow.text()}: code {self.code}\n{self.err[-3000:]}{self.out[-1500:]}"
        )


@dataclass
class Tally:
    """Starts of a study."""

    starts: int = 0
    struck: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    cpu: float = 0.0
    verifiers: int = 0


class Arena:
    """A study and all that belongs to it, below one directory."""

    def __init__(self, server: ForkServer, home: Path, *, frozen: bool = True) -> None:
        self.server, self.home, self.frozen = server, home, frozen
        self.study = home / "fs" / "study"
        self.tally = Tally()
        self.finished = Finished()
        self.pids: set[int] = set()
        self.last: Start | None = None
        for name in ("fs", "locks", "tmp", "starts"):
            (home / name).mkdir(parents=True)

    def write(self, *, timed: bool = False, agents: int = 2, seeds: int = 1, **more: Any) -> None:
        """A study of one toy task and steady agents."""
        write_task(self.home / "toy", timed=timed, test_sh=VERIFIER)
        entries = [
            {
                "name": "killing_agent:SteadyAgent",
                "label": f"steady{number}",
                "kwargs": {"values": [f"0.{number}{step}" for step in (3, 1, 5)]},
            }
            for number in range(1, agents + 1)
        ]
        spec = {"name": "k", "tasks": [str(self.home / "toy")], "agents": entries, "seeds": seeds, "concurrency": 2}
        spec |= {"scoring": {"repeats": 1, "repeats_timed": 2}} | more
        self.file.write_text(yaml.safe_dump(spec))

    def edit(self, **fields: Any) -> None:
        """Change fields of the study file."""
        spec = yaml.safe_load(self.file.read_text())
        self.file.write_text(yaml.safe_dump(spec | fields))

    @property
    def file(self) -> Path:
        """The study file."""
        return self.home / "study.yaml"

    def start(
        self, *argv: str, blow: Blow | None = None, trace: Path | None = None, study: Path | None = None
    ) -> Start:
        """Start the command; afterwards nothing that was finished is changed, and no process is left."""
        self.tally.starts += 1
        logs = self.home / "starts" / str(self.tally.starts)
        logs.mkdir()
        (logs / "report").touch()
        chosen = blow or Blow()
        answer = self.server.ask(
            "start",
            argv=argv,
            cwd=str(self.home),
            env={
                "LOOPSCOPE_LOCK_DIR": str(self.home / "locks"),
                "TMPDIR": str(self.home / "tmp"),
                LEDGER: str(self.home / "ledger"),
            },
            logs=str(logs),
            study=str(study or self.study),
            blow=chosen.text(),
            frozen=self.frozen,
            trace=str(trace or ""),
        )
        return self._ended(argv, chosen, logs, answer)

    def go_on(self, start: Start, *, kill: bool = False) -> Start:
        """Let a start that stopped itself go on, or kill it."""
        answer = self.server.ask("go_on", pid=start.pid, kill=kill)
        return self._ended(start.argv, start.blow, start.logs, answer)

    def _ended(self, argv: tuple[str, ...], blow: Blow, logs: Path, answer: dict[str, Any]) -> Start:
        if answer["stopped"]:
            return Start(argv, blow, 0, logs, stopped=True, pid=answer["pid"])
        self.pids.add(answer["pid"])
        start = self.last = Start(argv, blow, answer["code"], logs, seconds=answer["seconds"], cpu=answer["cpu"])
        self.tally.seconds += start.seconds
        self.tally.cpu += start.cpu
        self.tally.verifiers += start.began("verifier")
        if start.struck:
            self.tally.struck[blow.victim] += 1
        assert not answer["left"], f"processes were left: {answer['left']}\n{start.text()}"
        assert "Traceback" not in start.err, start.text()
        return start

    def run(self, blow: Blow | None = None, *more: str) -> Start:
        """`loopscope run`, and account of it."""
        begun = len(self.beginnings())
        start = self.start("run", str(self.file), "--out", str(self.study), *more, blow=blow)
        again = [run for run in self.beginnings()[begun:] if run in self.finished.files]
        assert not again, f"finished rollouts were begun again: {again}\n{start.text()}"
        self.check(start)
        return start

    def check(self, start: Start) -> None:
        """Hold what is there against what was there before."""
        now = self.look()
        wrong = compare(self.finished, now)
        assert not wrong, "\n".join([*wrong, start.text()])
        self.finished = now

    def look(self) -> Finished:
        """What is finished now."""
        return Finished(**self.server.call("killing_ledger:look", self.study))

    def beginnings(self) -> list[str]:
        """Ids of the rollouts that were begun, in order."""
        file = self.home / "ledger"
        return file.read_text().split() if file.exists() else []

    def tables(self) -> dict[str, str]:
        """Hashes of the tables, made now."""
        done = self.start("analyze", str(self.study))
        assert done.code == 0, done.text()
        found: dict[str, str] = self.server.call("killing_ledger:tables", self.study)
        return found

    def leftovers(self) -> list[str]:
        """What no finished study leaves: scratch, temporary files, loop devices, control groups, mounts."""
        found: list[str] = self.server.call("killing_ledger:litter", self.study)
        found += [str(path) for path in (self.home / "tmp").iterdir()]
        for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
            if str(self.home) in backing.read_text():
                found.append(str(backing))
        for folder, groups, _ in os.walk("/sys/fs/cgroup"):
            found += [
                f"{folder}/{name}" for name in groups if name.startswith(tuple(f"loopscope-{n}-" for n in self.pids))
            ]
        found += [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(self.home) in line]
        return found


WORK = "i=0; while [ $i -lt 12000 ]; do i=$((i+1)); done\n"
"""So that a verifier lives long enough to be found and killed."""
VERIFIER = (
    WORK
    + 'value=$(cat /app/value.txt 2>/dev/null)\necho "checked $value"\n'
    + 'echo "{\\"reward\\": $value, \\"correctness\\": 1}" > /logs/verifier/reward.json\n'
)
