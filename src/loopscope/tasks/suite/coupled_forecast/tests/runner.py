"""Runs inside the fence: `runner.py train|predict`, arrays from standard input, arrays to standard output."""

import os
import sys

sys.path.insert(0, os.getcwd())
import numpy as np  # noqa: E402
from wire import pack, unpack  # noqa: E402

answer = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # what the solution prints is not its answer
answer.write(b"!")
answer.flush()
given = unpack(sys.stdin.buffer.read())
import forecast  # noqa: E402

systems = sorted({name.split("/")[0] for name in given}, key=int)
result = {}
for system in systems:
    own = {name.split("/", 1)[1]: np.array(array) for name, array in given.items() if name.split("/")[0] == system}
    if sys.argv[1] == "train":
        model = forecast.train(own["series"])
        result.update({"%s/%s" % (system, key): np.asarray(value, dtype=float) for key, value in model.items()})
    else:
        windows = own.pop("windows:")
        result[system + "/forecast"] = np.asarray(forecast.predict(own, windows), dtype=float)
answer.write(pack(result))
answer.flush()
