"""Local evaluation on public readings: prints `score: X`, how many times faster groupby.c is than baseline.c."""

import pathlib
import random
import re
import statistics
import struct
import subprocess
import tempfile

FILES, PAIRS, ROWS, STATIONS = 2, 8, 40000, 400
FLAG = re.compile(r"-(O[0-3sfast]*|[fm][A-Za-z0-9.,=_-]+|g[0-3]?|std=[a-z0-9:]+|D[A-Za-z0-9_]+(=\w+)?)")


def build(source, flags, program):
    command = ["gcc", "-std=gnu11", "-O1", *flags, "-I.", source, "bench.c", "-o", program, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")


def readings(source):
    """One file of readings, as text."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    names = list({"".join(source.choices(letters, k=source.randint(6, 20))) for _ in range(STATIONS)})
    lines = []
    for _ in range(ROWS):
        value = source.randint(-9999, 99999)
        reading = f"{'-' if value < 0 else ''}{abs(value) // 100}.{abs(value) % 100:02}"
        lines.append(f"{source.randint(10**9, 2 * 10**9)},{source.choice(names)},{reading},{source.choice('ABCX')}\n")
    return "".join(lines)


def expected(text):
    """The same summary, plainly."""
    rows = {}
    for line in text.splitlines():
        _, name, reading, quality = line.split(",")
        if quality != "X":
            value = int(reading.replace(".", ""))
            count, total, low, high = rows.get(name, (0, 0, value, value))
            rows[name] = (count + 1, total + value, min(low, value), max(high, value))
    packed = b"".join(struct.pack("=24s4q", name.encode(), *row) for name, row in rows.items())
    return struct.pack("=Q", len(rows)) + packed


def seconds(program, file, answer):
    done = subprocess.run([program, file], capture_output=True, timeout=60)
    if done.returncode or done.stdout != answer:
        raise SystemExit(f"{program}: exit {done.returncode}, wrong table\n{done.stderr[-500:].decode(errors='replace')}")
    return float(done.stderr.split()[-1])


def main():
    flags = pathlib.Path("flags.txt").read_text().split()
    bad = [flag for flag in flags if not FLAG.fullmatch(flag)]
    if bad:
        raise SystemExit(f"flags.txt: not allowed: {' '.join(bad)}")
    source, ratios = random.Random(20240229), []
    with tempfile.TemporaryDirectory() as scratch:
        build("baseline.c", [], f"{scratch}/baseline")
        build("groupby.c", flags, f"{scratch}/groupby")
        for number in range(FILES):
            text = readings(source)
            file = f"{scratch}/readings{number}.csv"
            pathlib.Path(file).write_text(text)
            answer = expected(text)
            for _ in range(PAIRS // FILES):
                base = seconds(f"{scratch}/baseline", file, answer)
                ratios.append(base / max(seconds(f"{scratch}/groupby", file, answer), 1e-9))
    print(f"spread {min(ratios):.2f} to {max(ratios):.2f}")
    print(f"score: {statistics.median(ratios):.4f}")


if __name__ == "__main__":
    main()
