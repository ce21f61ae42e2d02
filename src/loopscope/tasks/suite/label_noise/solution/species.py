"""A small network whose loss knows how species are mislabelled, and an estimate of that made with it in turns.

The network's chances of the true species, times the matrix of label chances, are its chances of each label: these are
fitted (forward correction). Between rounds of that the matrix is estimated anew by expectation maximization.
"""

import numpy as np

SPECIES, HIDDEN, BATCH = 4, 32, 100
WARM, ROUNDS, EPOCHS = 6, 8, 4
RATE, DECAY = 2e-2, 1e-3


def chances(net, x):
    z = np.tanh(x @ net[0] + net[1]) @ net[2] + net[3]
    z = np.exp(z - z.max(1, keepdims=True))
    return z / z.sum(1, keepdims=True)


def fit(net, x, labels, matrix, epochs, rate, random):
    """Adam on the forward-corrected cross entropy, its rate falling to zero."""
    first, second = [np.zeros_like(p) for p in net], [np.zeros_like(p) for p in net]
    batches = len(x) // BATCH
    for step in range(epochs * batches):
        if step % batches == 0:
            order = random.permutation(len(x))
        chosen = order[step % batches * BATCH :][:BATCH]
        inputs, toward = x[chosen], matrix[:, labels[chosen]].T
        hidden = np.tanh(inputs @ net[0] + net[1])
        z = hidden @ net[2] + net[3]
        p = np.exp(z - z.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        posterior = p * toward
        posterior /= posterior.sum(1, keepdims=True)
        slope = (p - posterior) / BATCH
        back = (slope @ net[2].T) * (1 - hidden**2)
        gradients = [inputs.T @ back + DECAY * net[0], back.sum(0), hidden.T @ slope + DECAY * net[2], slope.sum(0)]
        now = rate * (1 - step / (epochs * batches))
        for k, gradient in enumerate(gradients):
            first[k] = 0.9 * first[k] + 0.1 * gradient
            second[k] = 0.99 * second[k] + 0.01 * gradient**2
            size = np.sqrt(second[k] / (1 - 0.99 ** (step + 1))) + 1e-8
            net[k] = net[k] - now * first[k] / (1 - 0.9 ** (step + 1)) / size
    return net


def mislabelling(net, x, labels, matrix):
    """Chance of each label for each species, by expectation maximization on the network's chances."""
    p = chances(net, x)
    given = np.eye(SPECIES)[labels]
    for _ in range(5):
        posterior = p * matrix[:, labels].T
        posterior /= posterior.sum(1, keepdims=True)
        counts = posterior.T @ given + 1
        matrix = counts / counts.sum(1, keepdims=True)
    return matrix


def train(x, labels):
    random = np.random.default_rng(0)
    net = [
        random.normal(0, 1.5 / np.sqrt(x.shape[1]), (x.shape[1], HIDDEN)),
        random.uniform(-1, 1, HIDDEN),
        random.normal(0, 1 / np.sqrt(HIDDEN), (HIDDEN, SPECIES)),
        np.zeros(SPECIES),
    ]
    matrix = np.full((SPECIES, SPECIES), 0.4 / (SPECIES - 1))
    np.fill_diagonal(matrix, 0.6)
    net = fit(net, x, labels, matrix, WARM, RATE, random)
    for _ in range(ROUNDS):
        matrix = mislabelling(net, x, labels, matrix)
        net = fit(net, x, labels, matrix, EPOCHS, 0.6 * RATE, random)
    return {str(k): array for k, array in enumerate(net)}


def predict(model, x):
    return chances([model[str(k)] for k in range(4)], x).argmax(1)
