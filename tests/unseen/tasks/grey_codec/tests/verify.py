"""Packs fresh images with the submitted codec and with the original, and rewards the share of bits saved."""

import json
import os
import pathlib
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import fence
import images

APP = pathlib.Path(os.environ.get("APP", "/app"))
TESTS = pathlib.Path(os.environ.get("TESTS", "/tests"))
LOGS = pathlib.Path(os.environ.get("LOGS", "/logs/verifier"))
EDITABLE = ("codec.c", "tuning.h")
COUNT, FULL, CPU_S = 20, 0.28, 2


class Rejected(Exception):
    pass


def run(argv, data=b"", wall=15, gate=False, cpu=CPU_S, memory=1 << 30, most=1 << 22):
    """Standard output of a process group, which is dead afterwards."""

    def prepare():
        if not gate:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
            return
        fence.limits(cpu, memory)
        if not fence.close_gate(exec_allowed=True):
            os.write(2, b"warning: no system-call filter on this machine\n")

    with tempfile.TemporaryFile() as given:
        given.write(data)
        given.seek(0)
        p = subprocess.Popen(
            argv,
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if gate else None,
            preexec_fn=prepare,
            close_fds=False,
            start_new_session=True,
            env={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C"},
        )
        timer = threading.Timer(wall, os.killpg, (p.pid, signal.SIGKILL))
        timer.start()
        try:
            out = p.stdout.read(most + 1)
            p.stdout.close()
            code = p.wait()
        finally:
            timer.cancel()
    if code:
        raise Rejected(f"{pathlib.Path(argv[0]).name} ended with {code}")
    if len(out) > most:
        raise Rejected("too much output")
    return out


def build(source, where):
    where.mkdir()
    (where / "codec.h").write_bytes((TESTS / "baseline" / "codec.h").read_bytes())
    (where / "runner.c").write_bytes((TESTS / "runner.c").read_bytes())
    size = 0
    for name in EDITABLE:
        f = source / name
        if f.is_symlink() or not f.is_file() or f.stat().st_size > 65536:
            raise Rejected(f"{name}: missing or too large")
        size += f.stat().st_size
        (where / name).write_bytes(f.read_bytes())
    if size > 65536:
        raise Rejected("the files are larger than 64 KiB together")
    files = [str(where / n) for n in ("runner.c", "codec.c")]
    run(["gcc", "-O2", "-std=c11", "-static", "-o", str(where / "runner"), *files, "-lm"], cpu=10, memory=1 << 30)
    return where / "runner"


def batch(runner, mode, items):
    data = struct.pack("<I", len(items)) + b"".join(struct.pack("<III", w, h, len(b)) + b for w, h, b in items)
    out, pos, parts = run([str(runner), mode], data, gate=True), 0, []
    for _ in items:
        if pos + 4 > len(out):
            raise Rejected("output cut short")
        (n,) = struct.unpack_from("<I", out, pos)
        parts.append(out[pos + 4 : pos + 4 + n])
        pos += 4 + n
    if pos != len(out):
        raise Rejected("output of the wrong length")
    return parts


def verify(work):
    rng = random.SystemRandom()
    secret = random.Random(rng.getrandbits(256))
    with ThreadPoolExecutor(2) as pool:
        theirs, ours = pool.submit(build, APP, work / "theirs"), pool.submit(build, TESTS / "baseline", work / "ours")
        pictures = images.images(secret, COUNT)
        theirs, ours = theirs.result(), ours.result()
    base = batch(ours, "e", pictures)
    codes = batch(theirs, "e", pictures)
    order = list(range(COUNT))
    rng.shuffle(order)
    back = batch(theirs, "d", [(pictures[i][0], pictures[i][1], codes[i]) for i in order])
    for i, pix in zip(order, back, strict=False):
        if pix != pictures[i][2]:
            raise Rejected(f"image {i} ({images.KINDS[i % 4]}) is not restored")
    pixels = sum(len(p[2]) for p in pictures)
    bits, was = (8 * sum(map(len, c)) / pixels for c in (codes, base))
    return {
        "reward": round(min(1.0, max(0.0, (1 - bits / was) / FULL)), 6),
        "correctness": 1,
        "bits_per_pixel": round(bits, 5),
        "original_bits_per_pixel": round(was, 5),
    }


def main():
    fence.undumpable()
    try:
        with tempfile.TemporaryDirectory() as d:
            result = verify(pathlib.Path(d))
    except Exception as e:
        print(f"rejected: {type(e).__name__}: {e}", file=sys.stderr)
        result = {"reward": 0, "correctness": 0}
    LOGS.mkdir(parents=True, exist_ok=True)
    (LOGS / "reward.json").write_text(json.dumps(result) + "\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
