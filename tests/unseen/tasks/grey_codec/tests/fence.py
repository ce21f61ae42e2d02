"""Confine an untrusted process by a system-call filter: memory, its open pipes and its end, nothing else."""

import ctypes
import platform
import resource
import struct

# read write close fstat lseek mmap mprotect munmap mremap brk madvise futex rt_sigaction rt_sigprocmask rt_sigreturn
# sigaltstack sched_yield getpid gettid clock_gettime clock_getres gettimeofday getrandom exit exit_group
# set_tid_address set_robust_list rseq prlimit64 arch_prctl newfstatat stat readlink readlinkat restart_syscall;
# execve apart
ALLOWED = {
    "x86_64": (
        0xC000003E,
        "0 1 3 5 8 9 10 11 25 12 28 202 13 14 15 131 24 39 186 228 229 96 318 60 231 218 273 "
        "334 302 158 262 4 89 267 219",
        59,
    ),
    "aarch64": (
        0xC00000B7,
        "63 64 57 80 62 222 226 215 216 214 233 98 134 135 139 132 124 172 178 113 114 169 "
        "278 93 94 96 99 293 261 79 78 128",
        221,
    ),
}


def undumpable():
    """This process's memory is closed to others of the same user."""
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)


def limits(cpu_s, memory):
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def close_gate(exec_allowed=False):
    """From here on, every other system call fails with EPERM. Returns False where the machine offers no filters."""
    known = ALLOWED.get(platform.machine())
    if known is None:
        return False
    arch, calls, execve = known
    calls = [int(nr) for nr in calls.split()] + [execve] * exec_allowed
    ins = [(0x20, 0, 0, 4), (0x15, 1, 0, arch), (0x06, 0, 0, 0x80000000), (0x20, 0, 0, 0)]
    for i, nr in enumerate(calls):
        ins.append((0x15, len(calls) - i, 0, nr))
    ins += [(0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
    code = b"".join(struct.pack("HBBI", *i) for i in ins)
    buf = ctypes.create_string_buffer(code, len(code))
    prog = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(ins), ctypes.addressof(buf)))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)
    return libc.prctl(22, 2, ctypes.c_void_p(ctypes.addressof(prog)), 0, 0) == 0
