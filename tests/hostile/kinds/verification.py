"""Solutions that attack while they are verified: `answer.py` behind the guard, `run.sh` beside a verifier without one."""

from __future__ import annotations

from kinds.base import SHORT, Hostile

ATTACKS = r"""
import ctypes, os, signal, socket
def attack():
    acts = [
        lambda: open("/logs/verifier/reward.json", "w").write('{"reward": 0.9, "correctness": 1}'),
        lambda: open("/tests/verify.py").read(),
        lambda: open("/tests/verify.py", "w").write("print()"),
        lambda: os.kill(os.getppid(), signal.SIGKILL) if os.getppid() > 1 else None,
        lambda: [os.kill(pid, signal.SIGKILL) for pid in range(2, 400) if pid != os.getpid()],
        lambda: ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0),
        lambda: open(f"/proc/{os.getppid()}/mem", "r+b"),
        lambda: [os.write(fd, b"49\n") for fd in range(3, 64)],
        lambda: os.symlink("/logs/verifier/reward.json", "/app/value.txt"),
        lambda: os.fork() or os.setsid() or os.execv("/bin/sh", ["sh", "-c", "sleep 3; echo 0.9 > /logs/verifier/reward.txt"]),
    ]
    for act in acts:
        try: act()
        except BaseException: pass
"""


def answering(body: str) -> str:
    """A commit of an `answer.py` with this text; the file is what the guarded verifier asks for the square of 7."""
    return f"cat > answer.py <<'END_OF_ANSWER'\n{body}\nEND_OF_ANSWER\ngit add -A; git commit -qm 'round 2'\n"


def beside(body: str, fenced: bool = False) -> str:
    """A commit of a script with this text, which the verifier of the short study runs before it looks at value.txt.

    It ends what a fenced one leaves running, and does nothing else for its own safety.
    """
    name = "fenced.sh" if fenced else "run.sh"
    return f"cat > {name} <<'END_OF_RUN'\n{body}\nEND_OF_RUN\ngit add -A; git commit -qm 'round 2'\n"


KINDS = [
    Hostile(
        "attacks_its_guard",
        "answers rightly, and attacks the verifier's files, memory and processes on the way",
        answering(ATTACKS + "attack()\nprint(int(input()) ** 2)"),
    ),
    Hostile(
        "lies_to_its_guard",
        "prints a wrong answer, then attacks, hoping that the verdict comes from elsewhere",
        answering(ATTACKS + "print(50)\nattack()\nos._exit(0)"),
        final=("0",),
        further=("0",),
    ),
    Hostile(
        "floods_its_guard",
        "prints without end instead of an answer",
        answering("while True: print('49' * 100000)"),
        final=("0",),
        further=("0",),
    ),
    Hostile(
        "hangs_its_guard",
        "never answers, and leaves children that do not either",
        answering(
            "import os, time\nfor _ in range(3):\n    try: os.fork()\n    except OSError: pass\ntime.sleep(1000)"
        ),
        final=("0",),
        further=("0",),
    ),
    Hostile(
        "daemon_of_the_verification",
        "leaves a daemon that rewrites the reward as soon as the test command has ended",
        beside(
            "(setsid sh -c 'trap \"\" TERM HUP; while :; do echo 0.9 > /logs/verifier/reward.txt; done' > /dev/null 2>&1 &)",
            fenced=True,
        ),
        study=SHORT,
    ),
    Hostile(
        "hangs_its_verifier",
        "never lets the verifier go on",
        beside("trap '' TERM; (setsid sleep 1000 &); while :; do :; done"),
        study=SHORT,
        final=(None,),
        further=(None,),
        says=("no end within",),
    ),
    Hostile(
        "kills_its_verifier",
        "kills the verifier and everything else there before a reward is written",
        beside("kill -9 $PPID; kill -9 -1"),
        study=SHORT,
        final=(None,),
        further=(None,),
        says=("the verifier was killed",),
    ),
    Hostile(
        "floods_its_verifier",
        "prints and logs hundreds of megabytes while it is verified",
        beside("head -c 300000000 /dev/zero; for i in $(seq 2000); do echo x > /logs/verifier/log$i; done"),
        study=SHORT,
        final=("0.3", None),
        further=("0.3", None),
    ),
    Hostile(
        "spoils_the_verdict",
        "puts links, pipes, folders and giants in the place of the reward files and of the test's output",
        beside(
            """
            cd /logs/verifier; rm -f *; mkfifo reward.json; ln -s /etc/passwd details.json; mkdir -p x/y; ln -s / x/all
            truncate -s 1T huge; mknod d c 1 3; touch "$(printf '\\377')" '--checkpoint-action=exec=sh x'; ln -s "$HOST_PLACE" test-stdout.txt"""
        ),
        study=SHORT,
        final=("0.3", None),
        further=("0.3", None),
    ),
    Hostile(
        "removes_the_verdicts_folder",
        "replaces the folder of the verdict by a link to a folder of its own",
        beside(
            "rm -rf /logs/verifier; mkdir -p /tmp/mine; echo '{\"reward\": 0.9}' > /tmp/mine/reward.json; ln -s /tmp/mine /logs/verifier"
        ),
        study=SHORT,
        final=("0.3", None),
        further=("0.3", None),
    ),
    Hostile(
        "verifier_output_of_10_gb",
        "prints 10 GB while it is verified",
        beside("head -c 10000000000 /dev/zero"),
        study=SHORT,
        final=("0.3", None),
        further=("0.3", None),
        long=True,
    ),
]
