"""Everything that there is a limited amount of. Each bounds itself, so that a machine without limits survives it too."""

from __future__ import annotations

from left import assert_nothing_found

from kinds.base import Hostile, python

MB = 1 << 20

KINDS = [
    Hostile(
        "fork_bomb",
        "forks until it is refused, from many processes at once",
        python("""
            import os, signal, time
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            started, refused, end = 0, 0, time.monotonic() + 2
            while started < 600 and refused < 50 and time.monotonic() < end:
                try:
                    if not os.fork():
                        try:
                            if started % 3 == 0: os.fork()
                        except OSError: pass
                        signal.pause()
                    started += 1
                except OSError: refused += 1
            """),
        meets=("pids",),
    ),
    Hostile(
        "thread_bomb",
        "starts threads until it is refused",
        python("""
            import threading
            threading.stack_size(1 << 16)
            stop = threading.Event()
            try:
                for _ in range(3000): threading.Thread(target=stop.wait, daemon=True).start()
            except RuntimeError: pass
            stop.set()
            """),
        meets=("pids",),
    ),
    Hostile(
        "memory_anonymous",
        "takes memory of its own, in one process and then in many",
        python("""
            import os, time
            hoard = []
            def take(megabytes):
                for _ in range(megabytes): hoard.append(bytearray(b"x") * (1 << 20))
            for _ in range(3):
                if not os.fork():
                    try: take(200)
                    finally: os._exit(0)
            for _ in range(3): os.wait()
            try: take(600)
            finally: time.sleep(1.5)
            """),
        meets=("memory",),
    ),
    Hostile(
        "memory_by_name",
        "takes memory that belongs to no process: memory files, System V segments, /dev/shm, pipes",
        python("""
            import ctypes, fcntl, os, time
            chunk, held = b"x" * (1 << 20), []
            libc = ctypes.CDLL(None, use_errno=True)
            libc.shmat.restype = ctypes.c_void_p
            file = os.memfd_create("hoard")
            for _ in range(450): os.write(file, chunk)
            for number in range(10):
                name = libc.shmget(number + 1, 30 << 20, 0o1666)
                place = libc.shmat(name, None, 0) if name >= 0 else -1
                if place not in (-1, None, 2 ** 64 - 1): ctypes.memset(place, 1, 30 << 20)
            for number in range(200):
                r, w = os.pipe(); held += [r, w]
                try:
                    fcntl.fcntl(w, 1031, 1 << 20); os.set_blocking(w, False); os.write(w, chunk)
                except OSError: pass
            try:
                with open("/dev/shm/hoard", "wb") as out:
                    for _ in range(300): out.write(chunk)
            except OSError: pass
            time.sleep(1.5)
            """),
        meets=("memory",),
    ),
    Hostile(
        "disk_filler",
        "fills every place that can be written, and leaves it full",
        """
        for place in /tmp /dev/shm /var /logs/agent /logs/verifier /logs/artifacts /root /home /run /tests /data; do
            head -c 60000000 /dev/zero > $place/full
        done; true""",
        meets=("disk",),
    ),
    Hostile(
        "inode_filler",
        "fills every place with names instead of bytes",
        python("""
            import os
            for place in ("/tmp", "/dev/shm", "/var", "/logs/artifacts"):
                try:
                    for i in range(2000): os.mkdir(f"{place}/d{i}") if i % 8 == 0 else open(f"{place}/{i}", "w").close()
                except OSError: pass
            """),
    ),
    Hostile(
        "output_flood",
        "prints a hundred megabytes on both streams, without lines and without text",
        "head -c 60000000 /dev/zero; head -c 30000000 /dev/urandom >&2; yes | head -c 20000000",
        same_for_all=True,
    ),
    Hostile(
        "log_flood",
        "leaves large logs, and many, in its folder",
        "head -c 40000000 /dev/zero > /logs/agent/big.log; for i in $(seq 100); do echo x > /logs/agent/log$i; done",
    ),
    Hostile(
        "output_of_10_gb",
        "prints 10 GB, and leaves as much in its logs as it may",
        "head -c 10000000000 /dev/zero; head -c 10000000000 /dev/zero > /logs/agent/big.log; rm -f /logs/agent/big.log",
        long=True,
    ),
    Hostile(
        "memory_of_the_kernel",
        "takes memory and pools that no group pays for: netlink, TCP and UDP queues, filters, aio contexts, terminals",
        ": > found.txt\n"
        + python("""
            import ctypes, os, resource, socket, struct
            def note(text): open("/app/found.txt", "a").write(text + "\\n")
            libc, chunk, held = ctypes.CDLL(None, use_errno=True), bytes(1 << 20), []
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
            for number in range(23):
                try: held.append(socket.socket(16, socket.SOCK_RAW, number)); note(f"netlink {number}")
                except OSError: pass
            context = ctypes.c_ulong(0)
            if os.uname().machine == "x86_64" and libc.syscall(206, 1000, ctypes.byref(context)) == 0: note("aio")
            code = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0))
            for option in (26, 51):
                wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); held.append(wire)
                try: wire.setsockopt(socket.SOL_SOCKET, option, struct.pack("HP", 1, ctypes.addressof(code))); note("filter")
                except OSError: pass
            try:
                while len(held) < 2000: held.append(os.openpty())
                note("terminals")
            except OSError: pass
            listener = socket.create_server(("127.0.0.1", 0))
            for _ in range(300):
                try:
                    a = socket.create_connection(listener.getsockname(), timeout=1); b = listener.accept()[0]
                    a.setblocking(False); held += [a, b]
                    while True: a.send(chunk)
                except OSError: pass
            """),
        also=assert_nothing_found,
    ),
    Hostile(
        "kernel_objects",
        "takes watches, timers, semaphores, message queues, keys, locks and descriptors until it is refused",
        python("""
            import ctypes, os, select
            libc = ctypes.CDLL(None, use_errno=True)
            buffer = ctypes.create_string_buffer(64)
            for _ in range(3000):
                watch = libc.inotify_init()
                if watch < 0: break
                libc.inotify_add_watch(watch, b"/tmp", 0xfff)
            for _ in range(5000):
                if libc.timer_create(0, None, buffer) < 0: break
            for number in range(3000):
                if libc.semget(number + 1, 100, 0o1666) < 0: break
            for number in range(3000):
                if libc.msgget(number + 1, 0o1666) < 0: break
            for number in range(3000):
                libc.syscall(248, b"user", b"k%d" % number, b"x" * 100, 100, -4)
            try:
                while True: os.open("/dev/null", os.O_RDONLY)
            except OSError: pass
            """),
    ),
]
