from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from made_root import DISK, OVERLAY, V2, made, program

from loopscope.sandbox.doctor import Finding, Machine, State, machine_memory, processors
from loopscope.sandbox.doctor.groups import look_disk_means, look_groups
from loopscope.sandbox.doctor.timing import look_memory, look_processors

OWN = "/sys/fs/cgroup/user.slice/user-1000.slice/run.scope"
SYSTEMD = {
    "/proc/self/mountinfo": DISK + V2.format(mode="rw"),
    "/proc/self/cgroup": "0::/user.slice/user-1000.slice/run.scope\n",
    "/run/systemd/system/x": "",
}


def row(machine: Machine) -> Finding:
    (found,) = look_groups(machine)
    return found


def test_delegated_groups_are_fine(tmp_path: Path) -> None:
    found = row(made(tmp_path, SYSTEMD | {f"{OWN}/cgroup.controllers": "cpu memory pids\n"}))
    assert found.state is State.OK and "version 2; memory, pids, cpu can be limited" in found.fact


def test_what_systemd_did_not_hand_on_is_asked_of_it(tmp_path: Path) -> None:
    files = {f"{OWN}/cgroup.controllers": "memory pids\n"}
    files["/sys/fs/cgroup/user.slice/user-1000.slice/cgroup.controllers"] = "memory pids\n"
    found = row(made(tmp_path, SYSTEMD | files))
    assert found.state is State.WEAK and "only memory,pids" in found.fact.replace(", ", ",")
    assert "cpu: not handed to our group" in found.fact
    assert "Delegate=cpu" in found.commands[1] and "user@1000.service" in found.commands[2]
    assert found.commands[-1] == "systemd-run --user --scope -p Delegate=yes loopscope run STUDY"


def test_a_scope_is_enough_where_systemd_hands_them_on(tmp_path: Path) -> None:
    files = {"/sys/fs/cgroup/user.slice/user-1000.slice/cgroup.controllers": "cpu memory pids\n"}
    found = row(made(tmp_path, SYSTEMD | files))
    assert found.state is State.MISSING and len(found.commands) == 1
    assert row(made(tmp_path, {}, uid=0)).commands == ("systemd-run --scope -p Delegate=yes loopscope run STUDY",)


def test_docker_mounts_them_read_only(tmp_path: Path) -> None:
    files = {
        "/.dockerenv": "",
        "/proc/self/mountinfo": OVERLAY + V2.format(mode="ro"),
        "/proc/self/cgroup": "0::/\n",
        "/sys/fs/cgroup/cgroup.controllers": "cpu memory pids\n",
    }
    found = row(made(tmp_path, files, uid=0))
    assert found.state is State.MISSING and "memory, pids, cpu: mounted read-only" in found.fact
    assert "docker run --privileged" in found.remedy


@pytest.mark.parametrize("helper", ["sudo", "su"])
def test_a_shell_is_let_into_groups_of_its_own(tmp_path: Path, helper: str) -> None:
    """Root's part is replaced by a shell of ours that does what the command says, below a made-up hierarchy."""
    files = {"/proc/self/mountinfo": DISK + V2.format(mode="rw"), "/proc/self/cgroup": "0::/\n"}
    machine = made(tmp_path, files)
    if helper == "su":
        (tmp_path / "usr/bin/sudo").unlink()
    (command,) = row(machine).commands
    assert command.startswith(helper)
    root = {"sudo": '"$@"', "su": 'shift; script=$1; shift 2; sh -c "$script" "$@"'}[helper]
    program(tmp_path / "fake" / helper, root)
    program(tmp_path / "fake" / "chown", "true")
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    program(tmp_path / "fake" / "mount", 'echo "$@" >&2')
    here = command.replace("/sys/fs/cgroup", f"{tmp_path}/sys/fs/cgroup")
    env = {"PATH": f"{tmp_path}/fake:/usr/bin:/bin"}
    shell = subprocess.run(["sh", "-c", f"{here}; echo $$"], env=env, capture_output=True, text=True, check=True)
    group = tmp_path / "sys/fs/cgroup/loopscope-1000"
    assert (group / "loopscope-engine-shell/cgroup.procs").read_text() == shell.stdout
    assert "-o remount,nsdelegate /\n" in shell.stderr
    assert (group / "cgroup.subtree_control").read_text() == "+cpu\n"  # one write(2) for each, the last is seen here
    files["/proc/self/cgroup"] = "0::/loopscope-1000/loopscope-engine-shell\n"
    files["/sys/fs/cgroup/loopscope-1000/loopscope-engine-shell/cgroup.controllers"] = "cpu memory pids\n"
    files["/sys/fs/cgroup/loopscope-1000/loopscope-engine-shell/cgroup.type"] = "domain\n"
    assert row(made(tmp_path, files)).state is State.OK


def test_a_group_with_others_in_it_is_not_fine(tmp_path: Path) -> None:
    """As a container's first group is, with its shell: the command moves that one into a leaf."""
    files = {
        "/.dockerenv": "",
        "/proc/self/mountinfo": OVERLAY + V2.format(mode="rw"),
        "/proc/self/cgroup": "0::/\n",
        "/sys/fs/cgroup/cgroup.controllers": "cpu memory pids\n",
        "/sys/fs/cgroup/cgroup.type": "domain\n",
        "/sys/fs/cgroup/cgroup.procs": f"{os.getpid()}\n",
    }
    assert row(made(tmp_path, files, uid=0)).state is State.OK
    files["/sys/fs/cgroup/cgroup.procs"] += "1\n"
    found = row(made(tmp_path, files, uid=0))
    assert found.state is State.MISSING and "holds other processes, such as 1" in found.fact
    (command,) = found.commands
    subprocess.run(["sh", "-c", command.replace("/sys/fs/cgroup", f"{tmp_path}/sys/fs/cgroup")], check=True)
    assert (tmp_path / "sys/fs/cgroup/loopscope-engine-shell/cgroup.procs").read_text() == "1\n"
    assert (tmp_path / "sys/fs/cgroup/cgroup.subtree_control").read_text() == "+cpu\n"


def test_no_groups_at_all(tmp_path: Path) -> None:
    found = row(made(tmp_path, {"/proc/self/mountinfo": DISK, "/proc/self/cgroup": ""}, uid=0))
    assert found.state is State.MISSING and "none mounted" in found.fact and found.commands


def test_loop_images_name_what_lacks(tmp_path: Path) -> None:
    (ordinary,) = look_disk_means(made(tmp_path, {"/proc/filesystems": "nodev\ttmpfs\n"}))
    assert ordinary.state is State.WEAK and not ordinary.to_mend
    (root, tmpfs) = look_disk_means(made(tmp_path / "r", {"/proc/filesystems": "nodev\tproc\n\text4\n"}, uid=0))
    assert root.state is State.MISSING and "/dev/loop-control" in root.fact
    assert tmpfs.prevents


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/memory.max": "3221225472\n",
          "/sys/fs/cgroup/a/b/memory.max": "max\n"}, 3 << 30),
        ({"/proc/self/cgroup": "4:memory:/x\n", "/sys/fs/cgroup/memory/x/memory.limit_in_bytes": "2147483648"}, 2 << 30),
        ({"/proc/self/cgroup": "4:memory:/\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712"}, 8 << 30),
    ],
)  # fmt: skip
def test_memory_is_what_the_groups_leave(tmp_path: Path, files: dict[str, str], expected: int) -> None:
    machine = made(tmp_path, files | {"/proc/meminfo": "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n"})
    assert machine_memory(machine) == expected
    assert next(iter(look_memory(machine))).state is (State.OK if expected == 8 << 30 else State.WEAK)


@pytest.mark.parametrize(
    "files",
    [
        {"/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/cpu.max": "50000 100000\n"},
        {"/proc/self/cgroup": "1:cpu:/a\n", "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "50000",
         "/sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000"},
    ],
)  # fmt: skip
def test_a_share_of_a_processor_makes_times_jump(tmp_path: Path, files: dict[str, str]) -> None:
    machine = made(tmp_path, files)
    assert processors(machine)[1] == 0.5
    (found,) = look_processors(machine)
    assert found.state is State.WEAK and "0.5" in found.fact and "--cpuset-cpus" in found.remedy
