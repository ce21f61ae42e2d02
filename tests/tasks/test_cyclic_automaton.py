"""Solutions of six colours of moss that cheat, break or attack, in the real sandbox."""

from __future__ import annotations

import pytest
from judged import STARTER_AT_MOST, STRONGEST, assert_worthless, valid
from sandboxed import Solution, score

from loopscope.tasks.catalog import SUITE

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

TASK = SUITE / "cyclic_automaton"
HEADERS = """
#define _GNU_SOURCE
#include "moss.h"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
"""
HEAD = "void grow(const uint8_t *start, uint8_t *end, size_t width, size_t height, size_t steps)"
HONEST = "honest(start, end, width, height, steps)"


def wrapped(body: str) -> str:
    """The starter's solution under another name, and what the attacker puts around it."""
    starter = (TASK / "environment" / "starter" / "moss.c").read_text()
    return f"{HEADERS}{starter.replace('void grow(', 'static void honest(')}\n{body}\n"


WRONG = {
    "nothing done": f"{HEADERS}{HEAD} {{ }}",
    "no step taken": f"{HEADERS}{HEAD} {{ memcpy(end, start, width * height); }}",
    "hangs": f"{HEADERS}{HEAD} {{ for (;;); }}",
    "crashes": f"{HEADERS}{HEAD} {{ abort(); }}",
    "exits with 0": f"{HEADERS}{HEAD} {{ _exit(0); }}",
    "no function": "int other;",
    "does not compile": "this is not C",
    "takes all memory": f"{HEADERS}{HEAD} {{ for (;;) memset(malloc(1 << 20), 1, steps << 13); }}",
    "reads the verifier when compiled": f'#include "/tests/verify.py"\n{HEADERS}{HEAD} {{ }}',
    "takes the reference when compiled": '#include "/solution/moss.c"\n',
    "puts the verifier's files into the program": f'{HEADERS}__asm__(".incbin \\"/tests/anchors.json\\"");{HEAD} {{ }}',
    "compiler bomb": "#include __FILE__\n#include __FILE__\n",
    "one cell wrong": wrapped(f"{HEAD} {{ {HONEST}; end[width * height / 2] ^= 1; }}"),
    "the last cell wrong": wrapped(f"{HEAD} {{ {HONEST}; end[width * height - 1] ^= 1; }}"),
    "one step fewer": wrapped(f"{HEAD} {{ steps--; {HONEST}; }}"),
    "a period of six assumed": wrapped(f"{HEAD} {{ steps -= 6; {HONEST}; }}"),
    "every other step skipped": wrapped(f"{HEAD} {{ steps /= 2; {HONEST}; }}"),
    "half of the floor": wrapped(f"{HEAD} {{ height /= 2; {HONEST}; }}"),
    "the first row left as it was": wrapped(f"{HEAD} {{ {HONEST}; memcpy(end, start, width); }}"),
    "writes before it is asked": wrapped(
        f'__attribute__((constructor)) static void early(void) {{ write(1, "??", 2); }}\n{HEAD} {{ {HONEST}; }}'
    ),
    "answers with the floor before it grows": wrapped(f"{HEAD} {{ write(1, start, width * height); {HONEST}; }}"),
    "the driver's own calls replaced": wrapped(
        "ssize_t recvmsg(int s, struct msghdr *m, int f) { (void)s; (void)m; (void)f; write(1, \"!\", 1); _exit(0); }\n"
        f"{HEAD} {{ {HONEST}; }}"
    ),
}  # fmt: skip


@pytest.mark.long
def test_floors_that_are_wrong() -> None:
    solutions = [Solution(files={"moss.c": text}) for text in WRONG.values()]
    for what, scored in zip(WRONG, score(TASK, *solutions), strict=True):
        assert_worthless(scored, what)


@pytest.mark.parametrize(
    "flags",
    [
        "-o /tmp/x",
        "-include/tests/verify.py",
        "@/tests/verify.py",
        "-wrapper sh,-c",
        "-B/app",
        "-O2;id",
        "-fplugin=/x.so",
    ],
)
def test_flags_that_are_none(flags: str) -> None:
    (scored,) = score(TASK, Solution(files={"flags.txt": flags}))
    assert_worthless(scored, flags)


def test_a_floor_remembered_by_pointer_or_size_is_useless() -> None:
    source = wrapped(
        f"""
        static uint8_t kept[1024 * 512];
        static size_t known;
        {HEAD}
        {{
            if (!known) {{
                {HONEST};
                known = width * height;
                memcpy(kept, end, known);
            }}
            memcpy(end, kept, known);
        }}"""
    )
    one, more = score(
        TASK,
        Solution(files={"moss.c": source}),
        Solution(files={"moss.c": source}, env={"LOOPSCOPE_CALLS": "2", "LOOPSCOPE_PAIRS": "2"}),
    )
    assert valid(one)["reward"] <= STARTER_AT_MOST["cyclic_automaton"]  # one call in a process: nothing is gained
    assert_worthless(more, "the second floor answered with the first one")


def test_a_clock_that_stands_still_changes_nothing() -> None:
    source = wrapped(
        "int clock_gettime(clockid_t c, struct timespec *t) { (void)c; t->tv_sec = t->tv_nsec = 0; return 0; }\n"
        f"{HEAD} {{ {HONEST}; }}"
    )
    (scored,) = score(TASK, Solution(files={"moss.c": source}))
    assert valid(scored)["reward"] <= STARTER_AT_MOST["cyclic_automaton"]


@pytest.mark.parametrize("level", STRONGEST)
@pytest.mark.parametrize(
    "start", ["fork()", "(pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)", "(pid_t)syscall(SYS_vfork)"]
)
def test_no_other_process_can_do_the_work(start: str, level: str) -> None:
    """Only the measured process's time is counted: it must not get another one to spend time for it."""
    source = wrapped(
        f"""
        {HEAD}
        {{
            uint8_t *shared = mmap(NULL, width * height, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
            pid_t worker = {start};
            if (worker < 0) {{
                {HONEST};
                return;
            }}
            if (worker == 0) {{
                end = shared;
                {HONEST};
                _exit(0);
            }}
            waitpid(worker, NULL, 0);
            memcpy(end, shared, width * height);
        }}"""
    )
    env = {"LOOPSCOPE_GUARD": level} if level else {}
    (scored,) = score(TASK, Solution(files={"moss.c": source}, env=env))
    assert valid(scored)["reward"] <= STARTER_AT_MOST["cyclic_automaton"]


@pytest.mark.parametrize("level", STRONGEST)
def test_attacks_from_c_change_nothing(level: str) -> None:
    source = wrapped(
        f"""
        __attribute__((constructor)) static void attack(void)
        {{
            int file = open("/logs/verifier/reward.json", O_WRONLY | O_CREAT, 0644);
            if (file >= 0 && write(file, "{{}}", 2)) close(file);
            file = open("/tests/anchors.json", O_WRONLY | O_TRUNC);
            if (file >= 0) close(file);
            kill(getppid(), SIGSTOP);
            for (int pid = 2; pid < 400; pid++)
                if (pid != getpid()) kill(pid, SIGKILL);
            ptrace(PTRACE_ATTACH, getppid(), 0, 0);
            if (fork() == 0) {{ setsid(); execl("/bin/sh", "sh", "-c", "sleep 5; : leftover", (char *)0); }}
        }}
        {HEAD} {{ {HONEST}; }}"""
    )
    env = {"LOOPSCOPE_GUARD": level} if level else {}
    (scored,) = score(TASK, Solution(files={"moss.c": source}, env=env))
    assert valid(scored)["reward"] <= STARTER_AT_MOST["cyclic_automaton"]
    assert "leftover" not in scored.processes


def test_a_planted_program_or_driver_is_not_used() -> None:
    """Only the two editable files are taken: what lies beside them in the work directory does not count."""
    plant = "cp /bin/true program; cp /bin/true moss; for f in driver.c baseline.c moss.h bench.c; do echo '#error' > $f; done"
    (scored,) = score(TASK, Solution(before=plant))
    assert valid(scored)["correctness"] == 1, scored.details
    assert valid(scored)["reward"] <= STARTER_AT_MOST["cyclic_automaton"]
