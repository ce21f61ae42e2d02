"""The starting program as it was, to compare with; changing it changes nothing but the local evaluation."""

import numpy as np

SPECIES = 4
STEPS = 20  # of gradient descent
RATE = 0.4
DECAY = 0.02  # how strongly the weights are held small
HIDDEN = 8  # random curved features beside the measures themselves
SCALE = 0.5  # of their directions


def features(x):
    """The measures, HIDDEN random functions of them and a constant. They are the same in every process."""
    random = np.random.default_rng(0)
    directions = random.normal(0, SCALE, (x.shape[1], HIDDEN))
    offsets = random.uniform(-1, 1, HIDDEN)
    return np.hstack([np.tanh(x @ directions + offsets), x, np.ones((len(x), 1))])


def train(x, labels):
    """A model, as a dict of arrays, from measures of shape (beetles, 5) and as many labels from 0 to 3."""
    f, wanted = features(x), np.eye(SPECIES)[labels]
    weights = np.zeros((f.shape[1], SPECIES))
    for _ in range(STEPS):
        z = f @ weights
        chance = np.exp(z - z.max(1, keepdims=True))
        chance /= chance.sum(1, keepdims=True)
        weights -= RATE * (f.T @ (chance - wanted) / len(f) + DECAY * weights)
    return {"weights": weights}


def predict(model, x):
    """The species of each beetle, a whole number from 0 to 3."""
    return (features(x) @ model["weights"]).argmax(1)
