"""Local evaluation on public inputs: prints `score: X`, how many times less scan.cu costs than baseline.cu."""

import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import numpy as np  # noqa: E402

import language  # noqa: E402

INPUTS, ELEMENTS, MEAN, MASK = 3, 30000, 24, 0xFFFFFFFF


def build(source, scratch):
    try:
        kernels = language.translate(pathlib.Path(source).read_bytes())
    except language.Refused as refused:
        raise SystemExit(f"{source}: {refused}") from refused
    folder = pathlib.Path(scratch, source)
    folder.mkdir()
    (folder / "kernels.inc").write_text(kernels)
    program = str(folder / "program")
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-fwrapv", "-w", f"-I{folder}", "shim.c", "-o", program], check=True)
    return program


def drawn_lengths(random, elements, mean):
    """Lengths of segments in random order: most up to twice the mean, one of fifty some ten times as long; evenly spread, so that inputs are alike."""
    count = max(int(elements / (1.22 * mean + 0.5)), 1)
    long, lengths = count // 50, []
    for number, least, most in ((count - long, 1, 2 * mean + 1), (long, 4 * mean, 20 * mean)):
        lengths += [int(least + (most - least) * (k + random.random()) / number) for k in range(number)]
    lengths = random.permutation(lengths).tolist()
    while sum(lengths) > elements:
        lengths.pop()
    while left := elements - sum(lengths):
        lengths.append(min(left, mean))
    return lengths


def input_of(random, lengths):
    """(input, answer): bytes for a program, and what it must answer."""
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
    elements = int(starts[-1])
    heads = np.zeros((elements + 31) // 32 * 32, np.uint8)
    heads[starts[:-1]] = 1
    scale = random.integers(0, 1 << 32, elements, dtype=np.uint32) | np.uint32(1)
    shift = random.integers(0, 1 << 32, elements, dtype=np.uint32)
    scales, shifts, a, b = [], [], 1, 0
    for p, q, head in zip(scale.tolist(), shift.tolist(), heads.tolist()):
        a, b = (p, q) if head else (p * a & MASK, (p * b + q) & MASK)
        scales.append(a)
        shifts.append(b)
    head = struct.pack("=3I", elements, len(lengths), int(random.integers(0, 1 << 32)))
    words = np.packbits(heads, bitorder="little").tobytes()
    content = head + scale.tobytes() + shift.tobytes() + starts.tobytes() + words
    return content, np.array(scales + shifts, np.uint32).tobytes()


def cost(program, given):
    content, answer = given
    done = subprocess.run([program], input=content, capture_output=True, timeout=30)
    if done.returncode:
        raise SystemExit(f"{program}: exit {done.returncode}: {done.stderr[-500:].decode(errors='replace')}")
    if done.stdout[32:] != answer:
        raise SystemExit(f"{program}: wrong outputs for {len(answer) // 8} elements")
    return struct.unpack("=4Q", done.stdout[:32])


def main():
    random, ratios = np.random.default_rng(20240229), []
    with tempfile.TemporaryDirectory() as scratch:
        baseline, solution = build("baseline.cu", scratch), build("scan.cu", scratch)
        for lengths in ([1], [1] * 33, [9000], [1025, 1, 1022]):
            cost(solution, input_of(random, lengths))
        for number in range(INPUTS):
            given = input_of(random, drawn_lengths(random, ELEMENTS - number, MEAN))
            took = cost(solution, given)
            ratios.append(cost(baseline, given)[0] / took[0])
    print("cost {}, transactions {}, barriers {}, operations {} (last input)".format(*took))
    print(f"score: {statistics.median(ratios):.4f}")


if __name__ == "__main__":
    main()
