"""The dispatcher of the paint shop: which order goes into a booth that has become free."""

DUE_WEIGHT = 1.0  # per minute until the order must start to be on time
CLEAN_WEIGHT = 4.0  # per minute of cleaning before it
PENALTY_WEIGHT = 10.0  # per euro that a late minute costs
LENGTH_WEIGHT = 0.0  # per minute of painting


def start(shop):
    """Called before each scenario.

    shop: {"booths": number, "clean": minutes[from colour][to colour], "solvent": euro per minute of cleaning}.
    """
    global clean
    clean = shop["clean"]


def rating(order, now, colour):
    """Lower goes first."""
    cleaning = clean[colour][order["colour"]]
    slack = order["due"] - now - cleaning - order["minutes"]
    return (
        DUE_WEIGHT * slack
        + CLEAN_WEIGHT * cleaning
        - PENALTY_WEIGHT * order["penalty"]
        + LENGTH_WEIGHT * order["minutes"]
    )


def choose(now, booth, colours, free_at, waiting):
    """The id of the waiting order to paint in this booth, or None to leave it empty until something happens.

    colours[b] and free_at[b]: the colour last painted in booth b, and when it is (or was) done.
    waiting: orders {"id", "colour", "minutes", "due", "penalty"}, in order of arrival; never empty.
    """
    return min(waiting, key=lambda order: rating(order, now, colours[booth]))["id"]
