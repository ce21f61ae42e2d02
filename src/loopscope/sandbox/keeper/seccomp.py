"""A system call filter for everything that runs inside: refuses what a task has no use for and an attacker has.

Refused calls fail with an error, as on a kernel built without them; nothing is killed. Foreign instruction sets (i386,
x32, 32-bit arm) are refused whole: their call numbers differ, so a filter by number would not see them.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from loopscope.sandbox.keeper.system import libc

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _JEQ, _JSET, _RET = 0x20, 0x15, 0x45, 0x06
_X32_BIT = 0x40000000
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# name: (x86_64, aarch64); -1 where the architecture has it not.
_NUMBERS = {
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "memfd_secret": (447, 447),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "create_module": (174, -1), "query_module": (178, -1), "get_kernel_syms": (177, -1),
    "acct": (163, 89), "swapon": (167, 224), "swapoff": (168, 225), "syslog": (103, 116),
    "open_by_handle_at": (304, 265), "fanotify_init": (300, 262), "lookup_dcookie": (212, 18),
    "quotactl": (179, 60), "quotactl_fd": (443, 443), "nfsservctl": (180, 42),
    "iopl": (172, -1), "ioperm": (173, -1), "uselib": (134, -1), "io_setup": (206, 0),
    "sched_setaffinity": (203, 122), "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190),
    "socket": (41, 198), "socketpair": (53, 199), "setsockopt": (54, 208),
}  # fmt: skip
_ONLY_WHEN_ASKED = ("sched_setaffinity", "shmget", "msgget", "semget")
_SOCKETS = ("socket", "socketpair")
_BY_ARGUMENT = (*_SOCKETS, "setsockopt")
_ABSENT = ("io_setup", "io_uring_setup", "io_uring_enter", "io_uring_register", "shmget", "msgget", "semget")
"""Programs fall back from these when they are told that the kernel has them not."""

_FAMILIES = {"unix": 1, "inet": 2, "inet6": 10}
"""Not netlink: what waits in its sockets is the kernel's memory that no control group and no watchdog sees."""

_SOL_SOCKET, _ATTACH = 1, {"filter": 26, "reuseport_cbpf": 51}
"""Compiled filters of sockets: the machine has room for some thousands of them in all, and nobody's group pays for it.
Where they have used it up, no filter of system calls can be installed any more either."""


def _op(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _refuse(number: int) -> bytes:
    return _op(_RET, _ERRNO | number)


def program(extra: tuple[str, ...] = (), machine: str = os.uname().machine) -> bytes:
    """The filter as an array of `struct sock_filter`; `extra`: names of `_ONLY_WHEN_ASKED` to refuse too.

    Empty on an architecture that has no table here.
    """
    if machine not in _AUDIT_ARCH:
        return b""
    column = list(_AUDIT_ARCH).index(machine)
    numbers = {name: pair[column] for name, pair in _NUMBERS.items() if pair[column] >= 0}
    code = [_op(_LOAD, 4), _op(_JEQ, _AUDIT_ARCH[machine], 1, 0), _refuse(errno.ENOSYS), _op(_LOAD, 0)]
    if machine == "x86_64":
        code += [_op(_JSET, _X32_BIT, 0, 1), _refuse(errno.ENOSYS)]
    for name, number in numbers.items():
        if name not in _BY_ARGUMENT and (name not in _ONLY_WHEN_ASKED or name in extra):
            code += [_op(_JEQ, number, 0, 1), _refuse(errno.ENOSYS if name in _ABSENT else errno.EPERM)]
    code += _without_filters(numbers["setsockopt"])
    first, second = (numbers[name] for name in _SOCKETS)
    code += [_op(_JEQ, first, 2, 0), _op(_JEQ, second, 1, 0), _op(_RET, _ALLOW), _op(_LOAD, 16)]
    for family in _FAMILIES.values():
        code += [_op(_JEQ, family, 0, 1), _op(_RET, _ALLOW)]
    return b"".join([*code, _refuse(errno.EAFNOSUPPORT)])


def _without_filters(number: int) -> list[bytes]:
    """Refuses setsockopt(2), whose number this is, where it attaches a filter; other calls go on to what follows."""
    code = [_op(_JEQ, number, 0, 7), _op(_LOAD, 24), _op(_JEQ, _SOL_SOCKET, 0, 4), _op(_LOAD, 32)]
    code += [_op(_JEQ, _ATTACH["filter"], 1, 0), _op(_JEQ, _ATTACH["reuseport_cbpf"], 0, 1)]
    return [*code, _refuse(errno.ENOPROTOOPT), _op(_RET, _ALLOW)]


def install(code: bytes) -> None:
    """Filter this process and all that descend from it, for ever. Needs no_new_privs. OSError where it is refused."""
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("HP", len(code) // 8, ctypes.addressof(buffer))
    if libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), header, ctypes.c_ulong(0), ctypes.c_ulong(0)):
        raise OSError(ctypes.get_errno(), "seccomp")


def missing() -> str:
    """Why no filter can be used here; empty when one can."""
    if not program():
        return f"no table of system calls for {os.uname().machine}"
    try:
        with open("/proc/sys/kernel/seccomp/actions_avail") as f:
            return "" if "errno" in f.read().split() else "this kernel's seccomp cannot return errors"
    except OSError:
        return "this kernel has no seccomp filters (Linux 4.14 with CONFIG_SECCOMP_FILTER)"
