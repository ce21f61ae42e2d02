"""Local evaluation on public floors: prints `score: X`, how many times faster moss.c is than baseline.c."""

import pathlib
import random
import re
import statistics
import struct
import subprocess
import tempfile

import numpy as np

FLOORS, PAIRS, WIDTH, HEIGHT, STEPS = 2, 8, 256, 96, 96
FLAG = re.compile(r"-(O[0-3sfast]*|[fm][A-Za-z0-9.,=_-]+|g[0-3]?|std=[a-z0-9:]+|D[A-Za-z0-9_]+(=\w+)?)")


def build(source, flags, program):
    command = ["gcc", "-std=gnu11", "-O1", *flags, "-I.", source, "bench.c", "-o", program, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")


def grown(floor, steps):
    """The same growth, plainly."""
    for _ in range(steps):
        wanted = (floor + 1) % 6
        around = [np.roll(floor, (down, right), (0, 1)) for down in (-1, 0, 1) for right in (-1, 0, 1)]
        found = sum((cells == wanted).astype(int) for cells in around)  # no cell has its own next colour
        floor = np.where(found >= 2, wanted, floor)
    return floor


def seconds(program, file, answer):
    done = subprocess.run([program, file], capture_output=True, timeout=60)
    if done.returncode or done.stdout != answer:
        raise SystemExit(f"{program}: exit {done.returncode}, wrong floor\n{done.stderr[-500:].decode(errors='replace')}")
    return float(done.stderr.split()[-1])


def main():
    flags = pathlib.Path("flags.txt").read_text().split()
    bad = [flag for flag in flags if not FLAG.fullmatch(flag)]
    if bad:
        raise SystemExit(f"flags.txt: not allowed: {' '.join(bad)}")
    source, ratios = random.Random(20240229), []
    with tempfile.TemporaryDirectory() as scratch:
        build("baseline.c", [], f"{scratch}/baseline")
        build("moss.c", flags, f"{scratch}/moss")
        for number in range(FLOORS):
            floor = np.array(source.choices(range(6), k=WIDTH * HEIGHT), np.uint8).reshape(HEIGHT, WIDTH)
            file = f"{scratch}/floor{number}"
            pathlib.Path(file).write_bytes(struct.pack("=3I", WIDTH, HEIGHT, STEPS) + floor.tobytes())
            answer = grown(floor, STEPS).astype(np.uint8).tobytes()
            for _ in range(PAIRS // FLOORS):
                base = seconds(f"{scratch}/baseline", file, answer)
                ratios.append(base / max(seconds(f"{scratch}/moss", file, answer), 1e-9))
    print(f"spread {min(ratios):.2f} to {max(ratios):.2f}")
    print(f"score: {statistics.median(ratios):.4f}")


if __name__ == "__main__":
    main()
