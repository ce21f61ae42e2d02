"""A chroot: what is said there, and that the command which is printed mends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loopscope.sandbox import chroot
from loopscope.sandbox.chroot import COMMAND, is_chroot

ROOT_LINE = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
PROC_LINE = "22 1 0:21 / /proc rw - proc proc rw\n"

WITHIN = """
import asyncio, json, sys
from pathlib import Path
from loopscope.engine.plan import plan_study
from loopscope.records import StudyError
from loopscope.sandbox.doctor import Machine, start
from loopscope.sandbox.probe import probe
found = {"start": asyncio.run(probe()).message, "refusal": ""}
row = next(iter(start.look_start(Machine())))
found["doctor"] = [row.state, row.fact, row.remedy, *row.commands]
try:
    plan_study(Path(sys.argv[1]), Path(sys.argv[1]).parent / "out")
except StudyError as error:
    found["refusal"] = str(error)
print(json.dumps(found))
"""

MADE = """
for d in /*; do
    if [ -L "$d" ]; then ln -s "$(readlink "$d")" "$ROOT$d"
    elif [ -d "$d" ]; then mkdir "$ROOT$d"; mount --rbind "$d" "$ROOT$d"; fi
done
exec "$@"
"""
"""Everything of the host in a directory that nothing is mounted at, seen by this process alone."""


def test_a_root_that_nothing_is_mounted_at_is_known() -> None:
    assert is_chroot(PROC_LINE) and is_chroot(PROC_LINE, lambda: True)
    assert not is_chroot(ROOT_LINE + PROC_LINE) and not is_chroot(None) and not is_chroot("")
    assert is_chroot(ROOT_LINE + PROC_LINE, lambda: True)


def test_nothing_lies_outside_of_this_process(tmp_path: Path) -> None:
    for name, where in (("1", "/"), ("self", str(tmp_path))):
        (tmp_path / name / "ns").mkdir(parents=True)
        (tmp_path / name / "ns/mnt").symlink_to("mnt:[4026531841]")
        (tmp_path / name / "root").symlink_to(where)
    assert chroot.has_more_outside(tmp_path) and not chroot.has_more_outside()
    (tmp_path / "1/ns/mnt").unlink()
    (tmp_path / "1/ns/mnt").symlink_to("mnt:[4026531842]")
    assert not chroot.has_more_outside(tmp_path)


@pytest.mark.sandbox
@pytest.mark.skipif(os.geteuid() != 0, reason="a chroot takes root")
def test_a_chroot_is_named_with_a_command_that_mends_it(tmp_path: Path) -> None:
    from toy_study import write_task

    write_task(tmp_path / "toy")
    study = tmp_path / "s.yaml"
    study.write_text("{name: s, tasks: [./toy], agents: [nop], seeds: 1}")

    def looked(root: Path, *way_in: str) -> dict[str, Any]:
        root.mkdir()
        argv = ["unshare", "--mount", "sh", "-c", MADE, "sh", *way_in, sys.executable, "-c", WITHIN, str(study)]
        env = {**os.environ, "ROOT": str(root), "LOOPSCOPE_LOCK_DIR": str(tmp_path)}
        done = subprocess.run(argv, env=env, stdout=subprocess.PIPE, check=True, text=True)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    said = looked(tmp_path / "plain", "chroot", str(tmp_path / "plain"))
    line = f"no sandbox can be started: {chroot.WHY}; {chroot.REMEDY} {COMMAND}"
    assert said["start"] == line and "\n" not in line
    assert said["refusal"] == f"{study}: environment.type: local cannot be used here: {line}"
    assert said["doctor"] == ["missing", f"no: {chroot.WHY}", chroot.REMEDY, COMMAND]

    before, _, place = COMMAND.rpartition(" ")
    assert place == "/path/to/the/chroot" and before.endswith("exec chroot . /bin/bash'")
    command = before.replace("/bin/bash'", '"$@"\'')  # what is run there in the place of a shell
    mended = looked(tmp_path / "mended", "sh", "-c", f'exec {command} "$ROOT" "$@"', "sh")
    assert mended["start"].startswith("sandboxes work") and mended["refusal"] == "" and mended["doctor"][0] == "ok"
