"""Three coupled ponds seen by two sensors: draws the data of one system. The verifier draws its own in the same way."""

import numpy as np

SERIES, LENGTH = 12, 250  # what a model learns from
WINDOW, HORIZON = 24, 2  # what it sees, and what it must foretell


SYSTEMS = 8


def draw(random, windows, turn=0):
    """(series, seen, future): arrays of 12 x 250 x 2, windows x 24 x 2 and windows x 2 x 2.

    Every window comes from a run of its own, so that no window holds another one's future. Both sensors have mean 0 and
    standard deviation 1 over all runs. `turn` counts systems: in eight of them each growth and the exchange fall once into
    each eighth of their ranges, so that sets of systems are alike.
    """
    runs = SERIES + windows
    place = (turn * np.array([1, 3, 5, 7]) % SYSTEMS + random.uniform(0, 1, 4)) / SYSTEMS
    growth, exchange = 3.9 + 0.1 * place[:3], 0.05 + 0.03 * place[3]
    sensors = np.array([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]]) * random.uniform(0.9, 1.1, (2, 3))
    state = random.uniform(0.1, 0.9, (runs, 3))
    record = []
    for step in range(50 + LENGTH):
        grown = growth * state * (1 - state)
        state = (1 - exchange) * grown + exchange * np.roll(grown, 1, axis=1)
        if step >= 50:
            record.append(np.tanh(1.2 * (state - 0.5) @ sensors.T))
    seen = np.array(record).transpose(1, 0, 2)
    seen = (seen - seen.mean((0, 1))) / seen.std((0, 1))
    seen = seen + 0.005 * random.standard_normal(seen.shape)
    tests = seen[SERIES:]
    return seen[:SERIES], tests[:, :WINDOW], tests[:, WINDOW : WINDOW + HORIZON]


def log_error(forecast, seen, future):
    """ln of the forecast's root mean squared error relative to that of persistence (the last value repeated)."""
    persistence = np.repeat(seen[:, -1:], future.shape[1], axis=1)
    error = np.sqrt(((forecast - future) ** 2).mean())
    return float(np.log(max(error, 1e-12) / np.sqrt(((persistence - future) ** 2).mean())))
