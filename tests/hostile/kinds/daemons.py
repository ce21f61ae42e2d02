"""Agents that do not end when they should. Each writes 0.9 only once its own command is dead."""

from __future__ import annotations

from kinds.base import SHORT, Hostile, python

LATE = "cat /tmp/alive > /dev/null; while :; do echo 0.9 > /app/value.txt; done"
"""Waits for the end of the last process that holds the other end of a pipe: the agent's own command."""
HANG = "\nexec 9> /tmp/alive; while :; do sleep 1000; done"

KINDS = [
    Hostile(
        "ignores_signals",
        "ignores all signals and leaves a daemon in a session of its own that writes on after the deadline",
        f"""
        mkfifo /tmp/alive
        (trap '' TERM HUP INT QUIT USR1 PIPE ALRM CHLD; setsid bash -c "trap '' TERM HUP; {LATE}" < /dev/null > /dev/null 2>&1 &)
        trap '' TERM HUP INT QUIT{HANG}""",
        study=SHORT,
        status=("deadline",),
    ),
    Hostile(
        "daemon_in_namespaces",
        "hides its daemon in nested namespaces of users, processes and mounts",
        f"""
        mkfifo /tmp/alive
        (setsid unshare -Urpf --mount-proc bash -c "{LATE}" > /dev/null 2>&1 &)
        (setsid unshare -Ur unshare -Urm unshare -Urpf bash -c "trap '' TERM; {LATE}" > /dev/null 2>&1 &){HANG}""",
        study=SHORT,
        status=("deadline",),
    ),
    Hostile(
        "forks_ahead_of_the_killer",
        "hands its life on from child to child, faster than anybody reads a list of processes",
        python("""
            import os, signal, time
            for number in range(1, 32):
                if number not in (9, 19):
                    try: signal.signal(number, signal.SIG_IGN)
                    except OSError: pass
            end = time.monotonic() + 60
            for _ in range(4):
                if not os.fork(): break
            while time.monotonic() < end:
                if os.fork(): os._exit(0) if os.getpid() % 7 else time.sleep(0.001)
                else: os.setsid() if os.getpid() != os.getsid(0) else None
            """)
        + HANG,
        study=SHORT,
        status=("deadline", "completed"),
        meets=("pids",),
    ),
    Hostile(
        "stops_and_waits",
        "leaves processes stopped, traced, waiting for a child of vfork and as a swarm of zombies",
        python("""
            import ctypes, os, signal, time
            libc = ctypes.CDLL(None)
            for kind in range(40):
                if not os.fork():
                    if kind % 4 == 0: os.kill(os.getpid(), signal.SIGSTOP)
                    if kind % 4 == 1:
                        if not os.fork(): libc.ptrace(0, 0, None, None); os.kill(os.getpid(), signal.SIGSTOP)
                    if kind % 4 == 2:
                        for _ in range(10):
                            if not os.fork(): os._exit(0)
                    time.sleep(1000)
            """)
        + HANG,
        study=SHORT,
        status=("deadline",),
    ),
    Hostile(
        "holds_its_pipes",
        "ends at once but leaves a process that holds its output open and prints on",
        "(setsid yes &) ; (setsid sleep 1000 &) ; echo done",
        study=SHORT,
    ),
    Hostile(
        "changes_files_while_read",
        "grows, shrinks, renames and removes files all the time, so that a packer meets none as it was listed",
        """
        mkdir busy; for i in 1 2 3; do (setsid bash -c 'while :; do head -c $((RANDOM * 30)) /dev/zero > busy/$RANDOM; truncate -s 3 busy/*;
            mv busy/$((RANDOM % 100))* busy/moved; mv busy busier; mkdir -p busier; mv busier busy; rm -f busy/*; done' > /dev/null 2>&1 &); done""",
        study=SHORT,
    ),
    Hostile(
        "kills_its_way_in",
        "kills whatever of the command's own tree it can, again and again, until the deadline",
        "(setsid bash -c 'trap \"\" TERM; while :; do kill -9 -1; done' > /dev/null 2>&1 &)" + HANG,
        study=SHORT,
        status=("deadline", "completed", "agent_error"),
    ),
    Hostile(
        "burns_the_processor",
        "keeps every processor busy with processes of the highest priority it can have",
        "for i in 1 2 3 4; do (nice -n -20 chrt -f 99 sh -c 'while :; do :; done' || sh -c 'while :; do :; done') > /dev/null 2>&1 & done"
        + HANG,
        study=SHORT,
        status=("deadline",),
    ),
]
