"""One addition chain for many targets: greedy elimination of common pairs of bits.

Every target begins as the set of its bits. The pair of summands that occurs together in most sets becomes a new element of the
chain and replaces the pair in each of them, until each target is a single element.
"""

from collections import Counter
from itertools import combinations


def build(targets):
    """Steps (i, j) of a chain: step k appends chain[i] + chain[j], and chain[0] is 1."""
    chain, steps = [1], []
    for _ in range(max(targets).bit_length() - 1):
        steps.append((len(chain) - 1, len(chain) - 1))
        chain.append(2 * chain[-1])
    rows = [{b for b in range(t.bit_length()) if t >> b & 1} for t in targets]
    counts = Counter(pair for row in rows for pair in combinations(sorted(row), 2))
    while counts:
        (a, b), _ = max(counts.items(), key=lambda item: item[1])
        new = len(chain)
        steps.append((a, b))
        chain.append(chain[a] + chain[b])
        for row in rows:
            if a in row and b in row:
                row -= {a, b}
                counts[a, b] -= 1
                for x in row:
                    counts[min(a, x), max(a, x)] -= 1
                    counts[min(b, x), max(b, x)] -= 1
                    counts[x, new] += 1
                row.add(new)
        counts = +counts
    return steps
