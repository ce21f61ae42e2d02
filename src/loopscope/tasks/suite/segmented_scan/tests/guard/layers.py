"""What the kernel offers to fence a process in: namespaces, ids, Landlock, seccomp, limits. Standard library only.

Nearly all of it runs in the child between clone and exec. Errors are OSError; the caller decides what to do without.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import signal
import struct
from collections.abc import Iterable

libc = ctypes.CDLL(None, use_errno=True)

NAMESPACES = 0x10000000 | 0x20000000 | 0x00020000 | 0x40000000 | 0x08000000 | 0x04000000  # user pid mnt net ipc uts
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
_KEPT_MOUNT_FLAGS = ((1, 1), (2, 2), (4, 4), (8, 8), (1024, 1024), (2048, 2048), (4096, 1 << 21))  # statvfs -> mount
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 22, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 36, 38, 47

_MACHINE = platform.machine()
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# name: (x86_64, aarch64); None where the machine has no such call
_CALLS = {
    "clone": (56, 220), "fork": (57, None), "vfork": (58, None), "clone3": (435, 435),
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "pidfd_send_signal": (424, 424), "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438), "setsid": (112, 157), "setpgid": (109, 154), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272), "unshare": (272, 97),
    "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "open_by_handle_at": (304, 265),
    "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119), "sched_setparam": (142, 118),
    "sched_setattr": (314, 274), "setpriority": (141, 140), "ioprio_set": (251, 30), "shmget": (29, 194),
    "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180), "prlimit64": (302, 261), "capset": (126, 91),
}  # fmt: skip
_NEVER = [
    "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "unshare", "setns", "mount",
    "umount2", "pivot_root", "add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd",
    "io_uring_setup", "open_by_handle_at", "sched_setscheduler", "sched_setparam", "sched_setattr",
    "setpriority", "ioprio_set", "sched_setaffinity", "shmget", "msgget", "semget", "mq_open"
]  # fmt: skip
_NO_PROCESSES = [
    "clone", "fork", "vfork", "clone3"
]  # fmt: skip
_NO_SIGNALS = [
    "kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal", "pidfd_open",
    "setsid", "setpgid"
]  # fmt: skip


def number(name: str) -> int | None:
    """This machine's number of a system call, or None."""
    return _CALLS[name][0 if _MACHINE == "x86_64" else 1] if _MACHINE in _AUDIT_ARCH else None


def check(result: int, what: str) -> int:
    """Turn a C return value into OSError."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, "%s: %s" % (what, os.strerror(code)))
    return result


def prctl(option: int, *arguments: int) -> int:
    """prctl(2); OSError when it fails."""
    padded = [ctypes.c_ulong(a) for a in arguments] + [ctypes.c_ulong(0)] * (4 - len(arguments))
    return check(libc.prctl(option, *padded), "prctl %d" % option)


# -- namespaces -------------------------------------------------------------------------------------------------------


def clone_into_namespaces() -> int:
    """fork() whose child is the first process of new user, pid, mount, network, ipc and uts namespaces."""
    if number("clone") is None:
        raise OSError(errno.ENOSYS, "clone: unknown machine %s" % _MACHINE)
    return check(int(libc.syscall(number("clone"), NAMESPACES | signal.SIGCHLD, 0, 0, 0, 0)), "clone")


def map_ids(pid: int, uid: int, gid: int, privileged: bool) -> None:
    """Called by the parent: inside the child's user namespace, id 0 is this uid and gid, and there is no other."""
    for name, text in (
        *([] if privileged else [("setgroups", "deny")]),
        ("gid_map", "0 %d 1" % gid),
        ("uid_map", "0 %d 1" % uid),
    ):
        with open("/proc/%d/%s" % (pid, name), "w") as file:
            file.write(text)


def _mount(source: str | None, target: str, kind: str | None = None, flags: int = 0, data: str | None = None) -> None:
    def encode(text: str | None) -> bytes | None:
        return None if text is None else os.fsencode(text)

    check(
        libc.mount(encode(source), encode(target), encode(kind), ctypes.c_ulong(flags), encode(data)), "mount " + target
    )


def open_sources(paths: Iterable[str]) -> list[int]:
    """O_PATH handles, taken before the identity changes: a bind then needs no permission on the way to its source."""
    return [os.open(path, os.O_PATH | os.O_CLOEXEC) for path in paths]


def enter_root(place: str, links: dict[str, str], binds: Iterable[tuple[int, str, bool]]) -> None:
    """Make `place` the only root: a tmpfs holding `links` {path: target} and `binds` [(handle, path, writable)]."""
    _mount(None, "/", None, MS_REC | MS_PRIVATE)
    _mount("guard", place, "tmpfs", MS_NOSUID | MS_NODEV, "size=268435456,mode=755")
    for path, target in links.items():
        os.symlink(target, place + path)
    for handle, path, writable in binds:
        _bind(handle, place + path, writable)
    os.makedirs(place + "/tmp", exist_ok=True)
    os.chmod(place + "/tmp", 0o1777)
    os.chdir(place)
    check(libc.pivot_root(b".", b"."), "pivot_root")
    check(libc.umount2(b".", MNT_DETACH), "umount the old root")
    os.chdir("/")


def _bind(handle: int, target: str, writable: bool) -> None:
    source = "/proc/self/fd/%d" % handle
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    _mount(source, target, None, MS_BIND | MS_REC)
    if not writable:
        now = os.statvfs(target).f_flag
        kept = sum(flag for bit, flag in _KEPT_MOUNT_FLAGS if now & bit)
        _mount(None, target, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | kept)


# -- identity and privileges ------------------------------------------------------------------------------------------


def drop_bounding_set() -> None:
    """Whatever is executed from here on gets no capability, uid 0 or not."""
    for capability in range(64):
        failed = libc.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) < 0
        if failed and ctypes.get_errno() != errno.EINVAL:  # EINVAL: beyond this kernel's last one
            return  # an ordinary user may not; it has none to drop


def drop_capabilities() -> None:
    """Give up every capability of this process."""
    libc.prctl(PR_CAP_AMBIENT, ctypes.c_ulong(4), 0, 0, 0)
    header = struct.pack("=Ii", 0x20080522, 0)
    if number("capset") is not None:
        check(libc.syscall(number("capset"), header, bytes(24)), "capset")


def set_limits(limits: dict[int, int]) -> None:
    """`limits`: {RLIMIT_*: value}. Hard limits already lower are kept."""
    for which, value in limits.items():
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))


# -- Landlock: a file fence without namespaces ------------------------------------------------------------------------

_LL_READ = 1 | 1 << 2 | 1 << 3  # execute, read file, read directory
_LL_FILE = 1 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15


def landlock(readable: Iterable[str], writable: Iterable[str]) -> int:
    """Allow reading below `readable`, anything below `writable`, no other file; no TCP and no signals where it can.

    Returns the ABI version in force, 0 where Landlock is missing.
    """
    version = int(libc.syscall(444, None, ctypes.c_size_t(0), 1))
    if version < 1:
        return 0
    every = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    attributes = struct.pack("=QQQ", every, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = check(libc.syscall(444, attributes, ctypes.c_size_t(size), 0), "landlock_create_ruleset")
    for paths, allowed in ((readable, _LL_READ), (writable, every)):
        for path in paths:
            try:
                handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            rights = allowed & every & (~0 if os.path.isdir(path) else _LL_FILE)
            rule = struct.pack("=Qi", rights, handle)
            check(libc.syscall(445, ruleset, 1, rule, 0), "landlock_add_rule " + path)
            os.close(handle)
    check(libc.syscall(446, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)
    return version


# -- seccomp: calls that no solution needs ----------------------------------------------------------------------------


def seccomp(processes: bool, signals: bool) -> bool:
    """Refuse tracing, mounting, kernel keys and the like; also new processes and threads, and signals, unless allowed.

    Needs no_new_privs. Returns False where the machine or the kernel has no filters.
    """
    if _MACHINE not in _AUDIT_ARCH:
        return False
    refused = _NEVER + ([] if processes else _NO_PROCESSES) + ([] if signals else _NO_SIGNALS)
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    allow, deny = 0x7FFF0000, 0x00050000 | errno.EPERM
    code = [(load, 0, 0, 4), (equal, 1, 0, _AUDIT_ARCH[_MACHINE]), (give, 0, 0, deny), (load, 0, 0, 0)]
    if _MACHINE == "x86_64":
        code += [(at_least, 0, 1, 0x40000000), (give, 0, 0, deny)]  # the x32 numbers of the same calls
    for name in refused:
        if (call := number(name)) is not None:
            code += [(equal, 0, 1, call), (give, 0, 0, deny)]
    # limits of oneself only: those of the verifier would kill it
    code += [
        (equal, 0, 3, number("prlimit64") or 0),
        (load, 0, 0, 16),
        (equal, 1, 0, 0),
        (give, 0, 0, deny),
        (give, 0, 0, allow),
    ]
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in code))
    pointer = struct.pack("@HP", len(code), ctypes.addressof(program))
    return bool(libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(2), ctypes.c_char_p(pointer), 0, 0) == 0)
