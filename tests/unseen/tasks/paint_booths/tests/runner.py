"""Runs the submitted policy behind a fence. Its source comes first, as JSON; then a request and an answer a line."""

import bisect  # noqa: F401  (a policy may import these; afterwards no file can be opened)
import collections
import collections.abc  # noqa: F401
import dataclasses  # noqa: F401
import functools  # noqa: F401
import heapq  # noqa: F401
import itertools  # noqa: F401
import json
import math  # noqa: F401
import operator  # noqa: F401
import os
import random  # noqa: F401
import statistics  # noqa: F401
import sys
import time  # noqa: F401
import types
import typing  # noqa: F401

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fence

answers = os.fdopen(os.dup(1), "w", buffering=1)
requests = os.fdopen(os.dup(0), "r")
null = os.open(os.devnull, os.O_RDWR)
for fd in (0, 1):
    os.dup2(null, fd)
source = json.loads(requests.readline())
fence.limits(int(sys.argv[1]), 1 << 30)
if not fence.close_gate():
    print("warning: no system-call filter on this machine", file=sys.stderr)
policy = types.ModuleType("policy")
sys.modules["policy"] = policy
exec(compile(source, "policy.py", "exec"), policy.__dict__)
for line in requests:
    request = json.loads(line)
    if isinstance(request, dict):
        policy.start(request)
        answers.write("null\n")
    else:
        pick = policy.choose(*request)
        answers.write("null\n" if pick is None else f"{int(pick)}\n")
