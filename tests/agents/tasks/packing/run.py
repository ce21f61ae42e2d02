import random

from pack import pack

total = 0
for seed in range(3):
    rng = random.Random(seed)
    items = [rng.randint(5, 60) for _ in range(60)]
    bins = pack(items)
    assert sum(bins) == sum(items) and max(bins) <= 100, "not a packing"
    total += len(bins)
print(f"score: {total}")
