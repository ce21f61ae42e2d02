"""Verifier of coupled ponds: trains and forecasts in two fenced processes; the futures never leave this one.

Systems are drawn from a secret seed. Training gets the series and nothing of the windows; forecasting gets the model, as plain numbers, and
windows of independent runs, so that no window holds another one's future.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np  # noqa: E402
from guard import verdict  # noqa: E402
from guard.fence import GuardError, Limits  # noqa: E402
from ponds import draw, log_error  # noqa: E402
from wire import pack, unpack  # noqa: E402

START = 5.0  # seconds for the interpreter and numpy; not counted
TRAIN, PREDICT = 0.25, 0.125  # seconds for each system
MODEL_BYTES, MODEL_ARRAYS = 64 << 10, 16


def ask(guard, files, what, arrays, seconds):
    """Run the solution's function on these arrays within these seconds after the start of its interpreter."""
    limits = Limits(wall=START, cpu=8, memory=1 << 30, file=1 << 20, output=4 << 20, processes=False)
    with guard.start([sys.executable, "-I", "-B", "runner.py", what], guard.new_box(files), limits) as child:
        try:
            if child.read(1) != b"!":
                raise GuardError("it wrote before it was asked")
            child.limit(seconds)
            child.send(pack(arrays))
            child.close_input()
            output = child.read_all()
            if reason := child.wait():
                raise GuardError(reason)
            return unpack(output)
        except (GuardError, ValueError) as error:
            raise verdict.Gate("%s: %s; %s" % (what, error, child.errors()[-500:])) from error


def judge(guard):
    files = {**verdict.submitted(["forecast.py"], 256 << 10), **verdict.pristine("runner.py", "wire.py")}
    random = np.random.default_rng(verdict.seed())
    count, windows = min(verdict.setting("SYSTEMS", 4), 16), min(verdict.setting("WINDOWS", 300), 2000)
    drawn = [draw(random, windows) for _ in range(count)]
    models = ask(guard, files, "train", {"%d/series" % n: series for n, (series, _, _) in enumerate(drawn)}, TRAIN * count)
    given = {}
    for n, (_, seen, _) in enumerate(drawn):
        model = {name: array for name, array in models.items() if name.split("/")[0] == str(n)}
        size = sum(array.nbytes for array in model.values())
        if size > MODEL_BYTES or len(model) > MODEL_ARRAYS:
            raise verdict.Gate("the model has %d bytes in %d arrays, more than allowed" % (size, len(model)))
        given.update(model)
        given["%d/windows:" % n] = seen
    forecasts = ask(guard, files, "predict", given, PREDICT * count)
    errors = []
    for n, (_, seen, future) in enumerate(drawn):
        forecast = forecasts.get("%d/forecast" % n)
        if forecast is None or forecast.shape != future.shape or not np.isfinite(forecast).all():
            raise verdict.Gate("a forecast is missing, has the wrong shape or is not finite")
        errors.append(log_error(forecast, seen, future))
    error = float(np.mean(errors))
    anchors = verdict.anchors()
    reward = anchors["reward"] * (anchors["baseline"] - error) / (anchors["baseline"] - anchors["reference"])
    return reward, {"log_error": error, "systems": count}


if __name__ == "__main__":
    sys.exit(verdict.conclude(judge))
