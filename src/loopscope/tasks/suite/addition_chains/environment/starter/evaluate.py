"""Local evaluation on public targets: prints `score: X`, the share of the binary method's steps that is saved."""

import random
import sys
import time

sys.dont_write_bytecode = True  # two edits within a second must not be measured from the cache

from chains import build  # noqa: E402

SECONDS = 0.35  # 0.4 with the start of the interpreter


def check(targets, steps):
    """The number of steps, or an error."""
    chain = [1]
    for i, j in steps:
        if not (0 <= i < len(chain) and 0 <= j < len(chain)):
            raise SystemExit(f"step {len(chain)} uses a place that does not exist yet: {i}, {j}")
        chain.append(chain[i] + chain[j])
        if chain[-1] > max(targets):
            raise SystemExit(f"step {len(chain) - 1} makes {chain[-1]}, larger than every target")
    missing = set(targets) - set(chain)
    if missing:
        raise SystemExit(f"{len(missing)} targets are missing, such as {min(missing)}")
    return len(steps)


def binary_steps(targets):
    return max(t.bit_length() for t in targets) - 1 + sum(bin(t).count("1") - 1 for t in targets)


def main():
    source = random.Random(20240229)
    ratios = []
    for _ in range(4):
        targets = source.sample(range(1 << 22, 1 << 24), 40)
        start = time.process_time()
        length = check(targets, build(list(targets)))
        if time.process_time() - start > SECONDS:
            sys.exit(f"build() took longer than {SECONDS} s of processor")
        ratios.append(length / binary_steps(targets))
        print(f"{length} steps, binary method {binary_steps(targets)}")
    print(f"score: {1 - sum(ratios) / len(ratios):.5f}")


if __name__ == "__main__":
    main()
