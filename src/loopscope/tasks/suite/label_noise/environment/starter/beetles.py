"""Beetles measured and labelled: draws the data of one collection. The verifier draws its own in the same way."""

import itertools

import numpy as np

SPECIES, MEASURES, LESSONS = 4, 5, 2000
WRONG = (0.45, 0.40, 0.32, 0.23)  # share of wrong labels in a species; which species has which share is drawn
CONFUSED = 0.9  # of the wrong labels name the one species it is mostly taken for


def draw(random, tests, turn=0):
    """(measures, labels, test measures, true species): the labels of the 2000 beetles to learn from are often wrong.

    `turn` counts collections: in six of them the shares of wrong labels stand in each order around the ring once.
    """
    count = LESSONS + tests
    curved = random.standard_normal((SPECIES, MEASURES, MEASURES))
    curved = curved + curved.transpose(0, 2, 1)
    curved = curved - np.trace(curved, axis1=1, axis2=2)[:, None, None] * np.eye(MEASURES) / MEASURES
    curved = curved / np.sqrt(2 * (curved**2).sum((1, 2)))[:, None, None]
    straight = random.standard_normal((SPECIES, MEASURES))
    straight = straight - straight.mean(0)
    straight = straight / np.linalg.norm(straight, axis=1)[:, None]
    x = random.standard_normal((count, MEASURES))
    affinity = 1.6 * x @ straight.T + np.stack([(x @ form * x).sum(1) for form in curved], 1)
    for _ in range(50):  # until the species are about equally frequent
        share = np.bincount(affinity.argmax(1), minlength=SPECIES) / count
        affinity = affinity - (share * SPECIES - 1) / 4
    species = affinity.argmax(1)
    ring, wrong = random.permutation(SPECIES), np.empty(SPECIES)  # each species is mostly taken for the one before it
    wrong[ring] = WRONG[0], *list(itertools.permutations(WRONG[1:]))[turn % 6]
    chance = np.empty((SPECIES, SPECIES))  # of each label, for each species
    for one, other in zip(ring, np.roll(ring, 1)):
        chance[one] = wrong[one] * (1 - CONFUSED) / (SPECIES - 2)
        chance[one, other], chance[one, one] = wrong[one] * CONFUSED, 1 - wrong[one]
    labels = np.empty(LESSONS, int)
    for one in range(SPECIES):  # just so many of each label as the chances say, so that collections are alike
        own = random.permutation(np.flatnonzero(species[:LESSONS] == one))
        labels[own] = np.searchsorted((chance[one].cumsum() * len(own)).round(), np.arange(len(own)), side="right")
    return x[:LESSONS], labels, x[LESSONS:], species[LESSONS:]
