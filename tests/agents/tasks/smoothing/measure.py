import json
import math
import random

from smooth import smooth

rng = random.Random(5)
truth = [math.sin(i / 20) for i in range(400)]
noisy = [t + rng.gauss(0, 0.5) for t in truth]
got = smooth(noisy)
assert len(got) == len(truth)
error = math.sqrt(sum((a - b) ** 2 for a, b in zip(got, truth, strict=True)) / len(truth))
print("measuring 400 values")
print(json.dumps({"score": error, "correctness": 1}))
