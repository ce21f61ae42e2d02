"""Plays fresh days with the submitted policy and with the original; rewards the mean share of the cost saved."""

import contextlib
import json
import os
import pathlib
import random
import select
import signal
import subprocess
import sys
import time

TESTS = pathlib.Path(os.environ.get("TESTS", "/tests"))
APP = pathlib.Path(os.environ.get("APP", "/app"))
LOGS = pathlib.Path(os.environ.get("LOGS", "/logs/verifier"))
sys.path.insert(0, str(TESTS / "baseline"))

import fence  # noqa: E402
import policy as original  # noqa: E402
import scenarios  # noqa: E402
import shop  # noqa: E402

DAYS, FULL, CPU_S, WALL_S = 24, 0.55, 3, 20


class Rejected(Exception):
    pass


class Policy:
    """The submitted policy in its process."""

    def __init__(self, source):
        self.p = subprocess.Popen(
            [sys.executable, "-I", "-B", str(TESTS / "runner.py"), str(CPU_S)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            cwd="/",
            env={"PATH": os.environ.get("PATH", "/usr/bin:/bin")},
        )
        self.end = time.monotonic() + WALL_S
        self.send(source)

    def send(self, message):
        try:
            self.p.stdin.write(json.dumps(message).encode() + b"\n")
            self.p.stdin.flush()
        except OSError:
            raise Rejected(f"the policy ended ({self.p.wait(5)})") from None

    def ask(self, message):
        self.send(message)
        text, fd = b"", self.p.stdout.fileno()
        while not text.endswith(b"\n"):
            left = self.end - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                raise Rejected("out of time")
            part = os.read(fd, 64)
            text += part
            if not part:
                raise Rejected(f"the policy ended ({self.p.wait(5)})")
            if len(text) > 64:
                raise Rejected("too long an answer")
        answer = json.loads(text)
        if answer is not None and type(answer) is not int:
            raise Rejected(f"not an answer: {answer!r}")
        return answer

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.p.pid, signal.SIGKILL)
        self.p.wait()


def verify():
    file = APP / "policy.py"
    if file.is_symlink() or not file.is_file() or file.stat().st_size > 65536:
        raise Rejected("policy.py: missing or too large")
    rng = random.Random(random.SystemRandom().getrandbits(256))
    days = [scenarios.scenario(rng) for _ in range(DAYS)]
    policy = Policy(file.read_text())
    saved = []
    try:
        for day in days:
            known = {k: day[k] for k in ("booths", "clean", "solvent")}
            policy.ask(known)
            cost = shop.simulate(day, lambda *state: policy.ask(state))
            original.start(known)
            saved.append(1 - cost / shop.simulate(day, original.choose))
    finally:
        policy.close()
    share = sum(saved) / DAYS
    return {
        "reward": round(min(1.0, max(0.0, share / FULL)), 6),
        "correctness": 1,
        "saved_percent": round(100 * share, 4),
    }


def main():
    fence.undumpable()
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        result = verify()
    except Exception as e:
        print(f"rejected: {type(e).__name__}: {e}", file=sys.stderr)
        result = {"reward": 0, "correctness": 0}
    LOGS.mkdir(parents=True, exist_ok=True)
    (LOGS / "reward.json").write_text(json.dumps(result) + "\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
