"""Learn from series, then foretell windows. See the task's instruction; this file is yours to change."""

import numpy as np

BLEND = 0.0  # weight of the linear forecast; the rest is persistence
LAGS = 1  # values of each sensor that the linear forecast sees
RIDGE = 3000.0  # how strongly its weights are held small
HORIZON = 2


def inputs(windows):
    """The last LAGS values of both sensors, newest first, and a constant: one row for each window."""
    recent = windows[:, ::-1][:, :LAGS]
    return np.hstack([recent.reshape(len(windows), -1), np.ones((len(windows), 1))])


def train(series):
    """A model, as a dict of arrays, from series of shape (runs, time, sensors)."""
    seen, future = [], []
    for t in range(LAGS, series.shape[1] - HORIZON + 1):
        seen.append(series[:, t - LAGS : t])
        future.append(series[:, t : t + HORIZON])
    x = inputs(np.concatenate(seen))
    y = np.concatenate(future).reshape(len(x), -1)
    weights = np.linalg.solve(x.T @ x + RIDGE * np.eye(x.shape[1]), x.T @ y)
    return {"weights": weights}


def predict(model, windows):
    """Forecasts of shape (windows, 2, sensors) for windows of shape (windows, 24, sensors)."""
    persistence = np.repeat(windows[:, -1:], HORIZON, axis=1)
    linear = (inputs(windows) @ model["weights"]).reshape(persistence.shape)
    return (1 - BLEND) * persistence + BLEND * linear
