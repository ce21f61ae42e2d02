"""One run of each study per user, shared by all workers: whoever comes first runs it, the others wait for its findings."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from arena import Seen, read_seen
from kinds import KINDS
from kinds.base import Part

from loopscope.records import StudyStore
from loopscope.sandbox import toolchain

UID = 54_322
AS_USER = Path(__file__).parents[1] / "sandbox" / "as_user.py"
ARENA = Path(__file__).parent / "arena.py"


@dataclass(frozen=True)
class Fought:
    """A finished study of hostile agents."""

    place: Path
    seen: Seen

    @property
    def store(self) -> StudyStore:
        return StudyStore(self.place / "study")


def kinds_of(study: str, user: str, part: Part) -> list[str]:
    """Names of the agents of a study; the variable HOSTILE_ONLY picks some, for a person who looks into one."""
    only = os.environ.get("HOSTILE_ONLY", "").split()
    chosen = [kind.name for kind in KINDS.values() if kind.study == study and kind.part(user) == part]
    return [name for name in chosen if not only or name in only]


def fight(battlefield: Path, user: str, study: str, part: Part = "normal") -> Fought:
    """The findings of one study as one user; run by the first who asks."""
    place = battlefield / f"{user}-{study}{'' if part == 'normal' else f'-{part}'}"
    with (battlefield / f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            _run(place, user, study, part)
    if not (place / "seen.json").is_file():
        pytest.fail(f"the study did not come to its end: {(place / 'arena.log').read_text()[-3000:]}", pytrace=False)
    return Fought(place, read_seen(place / "seen.json"))


def _run(place: Path, user: str, study: str, part: Part) -> None:
    place.mkdir()
    built = toolchain.build()
    cache = place.with_name(f"{place.name}-cache")
    (cache / "toolchain").mkdir(parents=True)
    shutil.copytree(built.binds[0].source, cache / "toolchain" / Path(built.binds[0].source).name, symlinks=True)
    argv = [sys.executable, str(ARENA), str(place), study, part, *kinds_of(study, user, part)]
    if user == "user" and os.geteuid() == 0:
        argv = [sys.executable, str(AS_USER), str(UID), *argv]
        subprocess.run(["chown", "-R", f"{UID}:{UID}", str(place), str(cache)], check=True)
    env = {"PATH": os.environ["PATH"], "LOOPSCOPE_CACHE": str(cache), "LANG": "C.UTF-8", "HOME": str(place)}
    env["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    with (place.parent / f"{place.name}.log").open("wb") as log:
        subprocess.run(argv, env=env, stdout=log, stderr=log, check=False)
    (place.parent / f"{place.name}.log").replace(place / "arena.log")
