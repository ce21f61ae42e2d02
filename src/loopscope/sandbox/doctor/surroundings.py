"""In what this kernel or process group runs: a container, a virtual machine, WSL; and what that closes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from loopscope.sandbox.doctor.finding import Area, Finding, Need, State
from loopscope.sandbox.doctor.machine import Machine


@dataclass(frozen=True)
class Surroundings:
    """What is known of them, outermost last."""

    container: str | None = None
    """docker, podman, lxc, kubernetes, systemd-nspawn, ... or `a container` of an unknown kind."""
    kernel: str | None = None
    """WSL 1, WSL 2, gVisor, Firecracker, a virtual machine; None on bare metal, as far as can be seen."""

    @property
    def text(self) -> str:
        """For people."""
        inside = " on ".join(part for part in (self.container, self.kernel) if part)
        return f"in {inside}" if inside else "neither a container nor a virtual machine, as far as can be seen"

    @property
    def opens_up(self) -> str:
        """How the container would have to be started for namespaces to work; empty outside of one."""
        return _OPTIONS.get(self.container or "", _OPTIONS["docker"] if self.container else "")


_OPTIONS = {
    "docker": "start the container with `docker run --security-opt seccomp=unconfined --security-opt "
    "apparmor=unconfined --security-opt systempaths=unconfined ...`",
    "podman": "start the container with `podman run --security-opt seccomp=unconfined --security-opt unmask=ALL "
    "--security-opt label=disable ...`",
    "kubernetes": "in the pod's securityContext set seccompProfile.type and appArmorProfile.type to Unconfined and "
    "procMount to Unmasked",
    "lxc": "on the host: `lxc config set NAME security.nesting true`, then restart the container",
}


def surroundings(machine: Machine) -> Surroundings:
    """Read from what container engines and hypervisors leave to be seen."""
    return Surroundings(_container(machine), _kernel(machine))


def _container(machine: Machine) -> str | None:
    if "KUBERNETES_SERVICE_HOST" in machine.env or machine.exists("/var/run/secrets/kubernetes.io"):
        return "kubernetes"
    if machine.exists("/run/.containerenv"):
        return "podman"
    if machine.exists("/.dockerenv") and not _own_disk(machine):
        return "docker"
    groups = " ".join(machine.text(f"/proc/{pid}/cgroup") or "" for pid in ("1", "self"))
    for word, name in _GROUPS:
        if word in groups:
            return name
    manager = machine.text("/run/systemd/container") or _container_variable(machine)
    if manager:
        return {"lxc-libvirt": "lxc", "oci": "a container"}.get(manager, manager)
    return None


_GROUPS = (
    ("kubepods", "kubernetes"),
    ("libpod", "podman"),
    ("docker", "docker"),
    ("lxc.payload", "lxc"),
    ("/lxc/", "lxc"),
)


def _own_disk(machine: Machine) -> bool:
    """Whether the root is a whole disk's file system: an image that was unpacked there keeps docker's mark."""
    for line in (machine.text("/proc/self/mountinfo") or "").splitlines():
        fields, kind = line.partition(" - ")[0].split(), line.partition(" - ")[2].split()
        if len(fields) > 4 and fields[4] == "/" and len(kind) > 1:
            return fields[3] == "/" and kind[0] in ("ext4", "xfs", "btrfs") and kind[1].startswith("/dev/")
    return False


def _container_variable(machine: Machine) -> str:
    found = re.search(r"(?:\A|\0)container=([\w-]+)", machine.text("/proc/1/environ") or "")
    value = found[1] if found else machine.env.get("container", "")
    return "" if value == "wsl" else value


def _kernel(machine: Machine) -> str | None:
    release = machine.text("/proc/sys/kernel/osrelease") or ""
    version = machine.text("/proc/version") or ""
    if "microsoft" in f"{release} {version}".lower():
        return "WSL 2" if "WSL2" in release or machine.exists("/run/WSL") else "WSL 1"
    if "gvisor" in f"{release} {version}".lower() or _GVISOR in version:
        return "gVisor"
    if "firecracker" in (machine.text("/proc/cmdline") or "") or re.search(r"-fc\b", release):
        return "a Firecracker virtual machine"
    product = machine.text("/sys/class/dmi/id/product_name") or ""
    vendor = machine.text("/sys/class/dmi/id/sys_vendor") or ""
    if re.search(r"\bhypervisor\b", (machine.text("/proc/cpuinfo") or "")[:8192]):
        return f"a virtual machine ({' '.join(f'{vendor} {product}'.split())})" if vendor or product else (
            "a virtual machine"
        )  # fmt: skip
    return None


_GVISOR = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016"
"""What gVisor's own kernel says of itself, to programs that ask."""


def look(machine: Machine) -> Iterator[Finding]:
    """One row: where we are, and what follows for sandboxes and for times."""
    found = surroundings(machine)
    if found.kernel == "WSL 1":
        yield Finding(
            Area.SANDBOX,
            "surroundings",
            State.MISSING,
            f"{found.text}: it has no namespaces",
            cost="no local sandbox can be started",
            remedy="from Windows, move this distribution to WSL 2:",
            commands=(f"wsl --set-version {machine.env.get('WSL_DISTRO_NAME', 'DISTRIBUTION')} 2",),
            need=Need.REQUIRED,
        )
    elif found.kernel == "gVisor":
        yield Finding(
            Area.SANDBOX,
            "surroundings",
            State.WEAK,
            f"{found.text}: an imitated kernel",
            cost="system calls are slow and times measured here are no machine's; some namespaces are not there",
            remedy="measure times on an ordinary kernel (in docker: `--runtime=runc`)",
        )
    else:
        yield Finding(Area.SANDBOX, "surroundings", State.OK, found.text)
