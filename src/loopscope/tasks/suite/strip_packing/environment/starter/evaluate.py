"""Local evaluation on public rectangles: prints `score: X`, minus the natural logarithm of the waste."""

import math
import random
import sys
import time

sys.dont_write_bytecode = True  # two edits within a second must not be measured from the cache

from rectangles import WIDTH, bound, draw, height  # noqa: E402
from shelves import pack  # noqa: E402

SETS, SECONDS = 12, 1.1  # 1.2 with the start of the interpreter


def main():
    source = random.Random(20240229)
    waste = seconds = 0.0
    for _ in range(SETS):
        sizes = draw(source)
        start = time.process_time()
        places = [(int(x), int(y)) for x, y in pack(WIDTH, [list(size) for size in sizes])]
        seconds += time.process_time() - start
        if seconds > SECONDS:
            sys.exit(f"pack() took longer than {SECONDS} s of processor for all sets")
        try:
            reached = height(WIDTH, sizes, places)
        except ValueError as error:
            sys.exit(f"no packing: {error}")
        waste += (reached / bound(WIDTH, sizes) - 1) / SETS
    print(f"{seconds:.2f} s; waste {waste:.4f}")
    print(f"score: {-math.log(max(waste, 1e-3)):.4f}")


if __name__ == "__main__":
    main()
