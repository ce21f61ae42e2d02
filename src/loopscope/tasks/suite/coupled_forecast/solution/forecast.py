"""Ridge regression on the last two observations and random features of them, one set of weights for both steps ahead."""

import numpy as np

LAGS, FEATURES, SCALE, RIDGE, HORIZON = 2, 500, 0.5, 1e-3, 2


def features(windows):
    """The last LAGS observations, random features of them and a constant. The features are the same in every process."""
    recent = windows[:, ::-1][:, :LAGS].reshape(len(windows), -1)
    random = np.random.default_rng(0)
    directions = random.normal(0, SCALE, (recent.shape[1], FEATURES))
    offsets = random.uniform(-1, 1, FEATURES)
    return np.hstack([np.tanh(recent @ directions + offsets), recent, np.ones((len(recent), 1))])


def train(series):
    steps = range(LAGS, series.shape[1] - HORIZON + 1)
    x = features(np.concatenate([series[:, t - LAGS : t] for t in steps]))
    y = np.concatenate([series[:, t : t + HORIZON] for t in steps]).reshape(len(x), -1)
    return {"weights": np.linalg.solve(x.T @ x + RIDGE * np.eye(x.shape[1]), x.T @ y)}


def predict(model, windows):
    return (features(windows) @ model["weights"]).reshape(len(windows), HORIZON, -1)
