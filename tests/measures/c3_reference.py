"""C3 once more, written from the definitions in another way: whole hundredths, plain lists, one scan per question.

Nothing is shared with the implementation. Tests hold the two against each other.
"""

from __future__ import annotations

from fractions import Fraction

EPS = 1  # one hundredth


def reference_c3(
    cents: list[int | None], final: int | None, boundary: bool, counts: list[int | None] | None
) -> tuple[Fraction | None, int, int, Fraction | None]:
    """(C3, M, T, A2) of scores in hundredths."""
    places = [k for k, c in enumerate(cents) if c is not None]
    x = [c for c in cents if c is not None]
    rounds = x[1:] if boundary and cents and cents[0] is not None else x
    if not rounds:
        return None, 0, 0, None
    last = x[-1] if final is None else final
    credits = []
    descending = False
    for i in range(1, len(x)):
        drops = x[i - 1] - x[i] > EPS
        if drops and not descending:
            credits.append(_credit(x, i, places, counts))
        descending = drops
    kept = Fraction(1) if max(x) - last < EPS else Fraction(last, max(x))
    repaired = sum(credits, Fraction(0)) / len(credits) if credits else None
    score = kept if repaired is None else kept / 2 + repaired / 2
    if rounds == [0] and last == 0:
        score = Fraction(0)
    return score, len(credits), len(rounds), repaired


def _credit(x: list[int], i: int, places: list[int], counts: list[int | None] | None) -> Fraction:
    height, bottom = x[i - 1], x[i]
    returns = [j for j in range(len(x)) if j > i and x[j] + EPS >= height]
    if returns:
        target, share = returns[0], Fraction(1)
    else:
        _, target = min((-x[j], j) for j in range(i, len(x)))
        share = Fraction(x[target] - bottom, height - bottom)
    if target == i:
        return Fraction(0)
    weights = []
    for t in range(i + 1, target + 1):
        seen = 0
        for k in range(places[t - 1] + 1, places[t] + 1):
            seen += (counts[k] or 0) if counts else 0
        weights.append(Fraction({0: 20, 1: 20, 2: 17, 3: 14, 4: 12}.get(seen, 10), 20))
    return share / (target - i) * sum(weights, Fraction(0)) / len(weights)
