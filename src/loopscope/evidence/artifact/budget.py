"""How much is computed of what a run's programs do to files: no log, whatever it holds, keeps an analysis busy.

What is spent is a nominal cost and no time that was measured, so that every machine comes to the same evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_COST = 5_000_000_000
"""Nominal nanoseconds of one run. The costs below are about what an ordinary processor takes."""
MAX_STEPS = 2_000_000_000
"""Steps of expressions of one run, at the worst that could be; hardly one of them is ever made, so they count apart."""

READ = 30
"""An expression looks at a character."""
REPLACED = 2000
"""One match is replaced."""
LINE = 500
"""A line is taken up."""
PARSED = 2000
"""A character of a program, from its text to its statements."""
STATEMENT = 2000
"""A statement or an expression is carried out."""


@dataclass
class Budget:
    """What is left of it. Who is refused once gives up what it computes; the state is then only named."""

    cost: int = MAX_COST
    steps: int = MAX_STEPS

    def spend(self, cost: int) -> bool:
        """Take from the nominal cost; False, and nothing is taken, where it is more than is left."""
        if cost > self.cost:
            return False
        self.cost -= cost
        return True

    def step(self, steps: int) -> bool:
        """The same for steps of expressions."""
        if steps > self.steps:
            return False
        self.steps -= steps
        return True
