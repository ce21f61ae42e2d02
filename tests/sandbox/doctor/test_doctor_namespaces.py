from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from made_root import UBUNTU, made

from loopscope.sandbox import bwrap
from loopscope.sandbox.doctor import Area, Finding, Need, State, examine, namespaces
from loopscope.sandbox.doctor.finding import Check


def test_ubuntus_restriction_is_lifted_for_bubblewrap_alone(tmp_path: Path) -> None:
    mend = namespaces.blocked_by(made(tmp_path, UBUNTU))
    assert mend is not None and "AppArmor" in mend.fact
    write, load = mend.commands
    lines = write.splitlines()
    assert lines[0] == "sudo tee /etc/apparmor.d/loopscope-bwrap >/dev/null <<'END'" and lines[-1] == "END"
    assert "  userns," in lines and "flags=(unconfined)" in write and f" {bwrap.find_bwrap()} " in write
    assert load == "sudo apparmor_parser -r /etc/apparmor.d/loopscope-bwrap"
    assert "restrict_unprivileged_userns=0" not in f"{mend.commands}", "the restriction itself stays"


def test_the_command_writes_a_profile(tmp_path: Path) -> None:
    mend = namespaces.blocked_by(made(tmp_path, UBUNTU))
    assert mend is not None
    here = mend.commands[0].replace("sudo tee /etc/apparmor.d/", f"tee {tmp_path}/")
    subprocess.run(["/bin/sh", "-c", here], check=True)
    text = (tmp_path / "loopscope-bwrap").read_text()
    assert text.startswith("abi <abi/4.0>,\n") and text.endswith("}\n") and text.count("{") == 1


def test_a_profile_that_is_there_is_not_written_again(tmp_path: Path) -> None:
    there = UBUNTU | {"/etc/apparmor.d/bwrap": f"profile bwrap {bwrap.find_bwrap()} {{ userns, }}"}
    mend = namespaces.blocked_by(made(tmp_path, there))
    assert mend is not None and mend.commands == ("sudo systemctl reload apparmor",)


def test_root_is_not_kept_out_by_what_holds_for_ordinary_users(tmp_path: Path) -> None:
    closed = UBUNTU | {"/proc/sys/kernel/unprivileged_userns_clone": "0\n"}
    assert namespaces.blocked_by(made(tmp_path, closed, uid=0)) is None


@pytest.mark.parametrize(
    ("name", "bad", "uid", "good"),
    [
        ("user/max_user_namespaces", "0", 0, "sysctl -w user.max_user_namespaces=10000"),
        ("user/max_user_namespaces", "0", 1000, "sudo sysctl -w user.max_user_namespaces=10000"),
        ("kernel/unprivileged_userns_clone", "0", 1000, "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
    ],
)
def test_switches_are_named_with_their_command(tmp_path: Path, name: str, bad: str, uid: int, good: str) -> None:
    mend = namespaces.blocked_by(made(tmp_path, {f"/proc/sys/{name}": f"{bad}\n"}, uid=uid))
    assert mend is not None and mend.commands[0] == good
    assert "/etc/sysctl.d/" in mend.commands[1], "it also outlives a restart"


def test_policies_are_told(tmp_path: Path) -> None:
    rows = list(namespaces.look_policies(made(tmp_path, UBUNTU | {"/sys/fs/selinux/enforce": "1"})))
    facts = {row.name: row.fact for row in rows}
    assert facts == {"AppArmor": "on; restricts user namespaces to programs with a profile", "SELinux": "enforcing"}
    assert list(namespaces.look_policies(made(tmp_path / "none", {"/etc/x": ""}))) == []


@pytest.mark.sandbox
def test_the_real_try_succeeds_where_sandboxes_do(tmp_path: Path) -> None:
    rows = {row.name: row for row in namespaces.look(made(tmp_path, {"/proc/sys/user/max_user_namespaces": "77"}))}
    assert rows[namespaces.USERNS].state is State.OK and "77" in rows[namespaces.USERNS].fact


@pytest.mark.parametrize("others", [State.MISSING, State.UNKNOWN])
@pytest.mark.parametrize("start", [State.OK, State.MISSING])
def test_a_sandbox_that_starts_needs_no_namespaces_of_other_programs(start: State, others: State) -> None:
    rows = [
        Finding(Area.SANDBOX, namespaces.START, start, "", need=Need.REQUIRED),
        Finding(Area.SANDBOX, namespaces.USERNS, others, "no", "cost", "mend", ("x",), Need.REQUIRED),
    ]
    survey = examine([Check(Area.SANDBOX, "both", lambda _: rows)])
    userns = next(row for row in survey.findings if row.name == namespaces.USERNS)
    assert userns.state is (State.OK if start is State.OK else others)
    assert bool(userns.commands) is (start is not State.OK)
