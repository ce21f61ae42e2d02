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
from ponds import SYSTEMS, draw, log_error  # noqa: E402
from wire import pack, unpack  # noqa: E402

START, TRAIN, PREDICT = 0.2, 0.25, 0.15  # seconds of processor: of the interpreter, and for each system
MODEL_BYTES, MODEL_ARRAYS = 64 << 10, 16


def ask(guard, files, what, arrays, seconds):
    """Run the solution's function on these arrays within these seconds of processor."""
    limits = Limits(wall=25.0, cpu=int(seconds) + 1, memory=1 << 30, file=1 << 20, processes=False)
    with guard.start([sys.executable, "-I", "-B", "runner.py", what], guard.new_box(files), limits) as child:
        try:
            if child.read(1) != b"!":
                raise GuardError("it wrote before it was asked")
            child.send(pack(arrays))
            child.close_input()
            output = child.read_all()
            if reason := child.wait():
                raise GuardError(reason)
            if child.cpu > seconds:
                raise GuardError("%.2f s of processor, %.2f are allowed" % (child.cpu, seconds))
            return unpack(output)
        except (GuardError, ValueError) as error:
            raise verdict.Gate("%s: %s; %s" % (what, error, child.errors()[-500:])) from error


def judge(guard):
    files = {**verdict.submitted(["forecast.py"], 256 << 10), **verdict.pristine("runner.py", "wire.py")}
    random = np.random.default_rng(verdict.seed())
    count, windows = min(verdict.setting("SYSTEMS", SYSTEMS), 16), min(verdict.setting("WINDOWS", 300), 2000)
    drawn = [draw(random, windows, turn) for turn in range(count)]
    lessons = {"%d/series" % n: series for n, (series, _, _) in enumerate(drawn)}
    models = ask(guard, files, "train", lessons, START + TRAIN * count)
    given = {}
    for n, (_, seen, _) in enumerate(drawn):
        model = {name: array for name, array in models.items() if name.split("/")[0] == str(n)}
        size = sum(array.nbytes for array in model.values())
        if size > MODEL_BYTES or len(model) > MODEL_ARRAYS:
            raise verdict.Gate("the model has %d bytes in %d arrays, more than allowed" % (size, len(model)))
        given.update(model)
        given["%d/windows:" % n] = seen
    forecasts = ask(guard, files, "predict", given, START + PREDICT * count)
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
