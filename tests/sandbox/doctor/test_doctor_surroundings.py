from __future__ import annotations

from pathlib import Path

import pytest
from made_root import DISK, OVERLAY, made

from loopscope.sandbox.doctor import State
from loopscope.sandbox.doctor.surroundings import look, surroundings

CONTAINERS = {
    "docker": {"/.dockerenv": "", "/proc/self/mountinfo": OVERLAY},
    "podman": {"/run/.containerenv": "", "/proc/self/mountinfo": OVERLAY},
    "lxc": {"/run/systemd/container": "lxc", "/proc/self/mountinfo": DISK},
    "kubernetes": {"/proc/1/cgroup": "0::/kubepods.slice/pod1\n", "/proc/self/mountinfo": OVERLAY},
    "systemd-nspawn": {"/proc/1/environ": "a=b\0container=systemd-nspawn\0c=d"},
}
KERNELS = {
    "WSL 2": {"/proc/sys/kernel/osrelease": "5.15.153.1-microsoft-standard-WSL2"},
    "WSL 1": {"/proc/sys/kernel/osrelease": "4.4.0-19041-Microsoft"},
    "gVisor": {"/proc/version": "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016"},
    "a Firecracker virtual machine": {"/proc/cmdline": "console=ttyS0 reboot=k pci=off -- --firecracker-init"},
    "a virtual machine (QEMU Standard PC)": {
        "/proc/cpuinfo": "processor : 0\nflags : fpu vme hypervisor lahf_lm\n",
        "/sys/class/dmi/id/sys_vendor": "QEMU\n",
        "/sys/class/dmi/id/product_name": "Standard PC\n",
    },
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_containers_are_told_apart_and_say_how_to_be_started(tmp_path: Path, kind: str) -> None:
    found = surroundings(made(tmp_path, CONTAINERS[kind]))
    assert found.container == kind and found.kernel is None and found.text == f"in {kind}"
    assert found.opens_up


@pytest.mark.parametrize("kind", KERNELS)
def test_kernels_are_told_apart(tmp_path: Path, kind: str) -> None:
    found = surroundings(made(tmp_path, KERNELS[kind]))
    assert found.kernel == kind and found.container is None and not found.opens_up


def test_bare_metal_claims_nothing(tmp_path: Path) -> None:
    machine = made(tmp_path, {"/proc/sys/kernel/osrelease": "6.8.0", "/proc/cpuinfo": "flags : fpu vme\n"})
    (row,) = look(machine)
    assert row.state is State.OK and "as far as can be seen" in row.fact


def test_an_unpacked_image_is_no_container(tmp_path: Path) -> None:
    assert surroundings(made(tmp_path, {"/.dockerenv": "", "/proc/self/mountinfo": DISK})).container is None


def test_wsl_1_cannot_and_says_what_can(tmp_path: Path) -> None:
    (row,) = look(made(tmp_path, KERNELS["WSL 1"], env={"WSL_DISTRO_NAME": "Debian"}))
    assert row.prevents and row.commands == ("wsl --set-version Debian 2",)


def test_gvisor_is_weak(tmp_path: Path) -> None:
    (row,) = look(made(tmp_path, KERNELS["gVisor"]))
    assert row.state is State.WEAK and row.cost and not row.prevents
