"""Reads value.txt strictly. With `answer.py` there, that must also give the square of a number, behind the guard."""

# SECRET-OF-THE-VERIFIER
import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from guard import verdict
from guard.fence import Limits

LIMITS = Limits(wall=1.0, cpu=1, memory=256 << 20, file=1 << 20, output=64 << 10, processes=True)


def judge(guard):
    text = verdict.read_regular(verdict.APP, "value.txt", 64)
    if not re.fullmatch(rb"(0(\.[0-9]{1,6})?|1(\.0)?)\s*", text):
        raise verdict.Gate(f"value.txt holds no number from 0 to 1: {text!r}")
    if os.path.lexists(os.path.join(verdict.APP, "answer.py")):
        number = random.SystemRandom().randrange(1000)
        box = guard.new_box(verdict.submitted(["answer.py"], 64 << 10))
        outcome = guard.run([sys.executable, "-I", "-B", "answer.py"], box, LIMITS, given=b"%d\n" % number)
        if not outcome.ok or outcome.output != b"%d\n" % number**2:
            raise verdict.Gate(f"answer.py: {outcome.reason or 'a wrong answer'}")
    return float(text), {}


if __name__ == "__main__":
    sys.exit(verdict.conclude(judge))
