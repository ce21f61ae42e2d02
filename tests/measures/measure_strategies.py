"""Random trajectories on the grid of hundredths, where the tolerance bites."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

cents = st.integers(0, 100)
scores = cents.map(lambda c: Fraction(c, 100))
"""A score of 0.00, 0.01, ..., 1.00."""
maybe_scores = st.one_of(scores, st.none())
trajectories = st.lists(maybe_scores, max_size=30)
counts = st.one_of(st.none(), st.integers(0, 8))
