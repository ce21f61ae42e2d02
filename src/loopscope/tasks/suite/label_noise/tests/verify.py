"""Verifier of mislabelled beetles: trains and predicts in two fenced processes; true species never leave this one.

Collections are drawn from a secret seed. Training gets measures and wrong labels, and nothing of the beetles asked for;
predicting gets the model, as plain numbers, and the measures of those. The starting program is trained here beside it.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
for library in ("OMP", "OPENBLAS", "MKL", "BLIS"):  # before numpy: waiting threads would cost the solution's processor
    os.environ[library + "_NUM_THREADS"] = "1"
import baseline  # noqa: E402
import numpy as np  # noqa: E402
from beetles import SPECIES, draw  # noqa: E402
from guard import verdict  # noqa: E402
from guard.fence import GuardError, Limits  # noqa: E402
from wire import pack, unpack  # noqa: E402

START, TRAIN, PREDICT = 0.2, 0.15, 0.05  # seconds of processor: of the interpreter, and for each collection
GRACE = 1.25  # a busy machine counts more processor for the same work
MODEL_BYTES, MODEL_ARRAYS = 64 << 10, 16


def ask(guard, files, what, arrays, seconds):
    """Run the solution's function on these arrays within these seconds of processor."""
    limits = Limits(wall=50.0, cpu=int(GRACE * seconds) + 1, memory=1 << 30, file=1 << 20, processes=False)
    with guard.start([sys.executable, "-I", "-B", "runner.py", what], guard.new_box(files), limits) as child:
        try:
            if child.read(1) != b"!":
                raise GuardError("it wrote before it was asked")
            child.send(pack(arrays))
            child.close_input()
            output = child.read_all()
            if reason := child.wait():
                raise GuardError(reason)
            if child.cpu > GRACE * seconds:
                raise GuardError("%.2f s of processor, %.2f are allowed" % (child.cpu, seconds))
            return unpack(output)
        except (GuardError, ValueError) as error:
            raise verdict.Gate("%s: %s; %s" % (what, error, child.errors()[-500:])) from error


def judge(guard):
    files = {**verdict.submitted(["species.py"], 256 << 10), **verdict.pristine("runner.py", "wire.py")}
    random = np.random.default_rng(verdict.seed())
    count, tests = min(verdict.setting("COLLECTIONS", 12), 16), min(verdict.setting("TESTS", 4000), 5000)
    drawn = [draw(random, tests, turn) for turn in range(count)]
    lessons = {}
    for n, (x, labels, _, _) in enumerate(drawn):
        lessons["%d/x" % n], lessons["%d/labels" % n] = x, labels
    models = ask(guard, files, "train", lessons, START + TRAIN * count)
    given = {}
    for n, (_, _, asked, _) in enumerate(drawn):
        model = {name: array for name, array in models.items() if name.split("/")[0] == str(n)}
        size = sum(array.nbytes for array in model.values())
        if size > MODEL_BYTES or len(model) > MODEL_ARRAYS:
            raise verdict.Gate("the model has %d bytes in %d arrays, more than allowed" % (size, len(model)))
        given.update(model)
        given["%d/tests:" % n] = asked
    found = ask(guard, files, "predict", given, START + PREDICT * count)
    wrong = usual = 0.0
    for n, (x, labels, asked, species) in enumerate(drawn):
        answer = found.get("%d/species" % n)
        if answer is None or answer.shape != species.shape or not np.isin(answer, range(SPECIES)).all():
            raise verdict.Gate("an answer is missing, has the wrong shape, or is no species")
        wrong += float((answer != species).mean()) / count
        usual += float((baseline.predict(baseline.train(x, labels), asked) != species).mean()) / count
    avoided, anchors = 1 - wrong / usual, verdict.anchors()
    reward = anchors["reward"] * (avoided - anchors["baseline"]) / (anchors["reference"] - anchors["baseline"])
    return reward, {"avoided": avoided, "accuracy": 1 - wrong, "baseline_accuracy": 1 - usual, "collections": count}


if __name__ == "__main__":
    sys.exit(verdict.conclude(judge))
