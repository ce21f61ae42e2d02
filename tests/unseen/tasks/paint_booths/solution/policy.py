"""The dispatcher of the paint shop: plays the waiting orders to the end after each likely choice."""

from heapq import nsmallest
from math import exp

SLACK = 40.0  # minutes over which urgency fades
CLEAN = 7.0  # minutes of cleaning that divide the index by e
SHARPEN = 0.8  # power of penalty per minute
CANDIDATES = 5
HORIZON = 20  # orders played
AFTER = 1.0  # cost of an order not played, per euro and minute of its lateness if it began then


def start(shop):
    global clean, solvent, row
    clean, solvent = shop["clean"], shop["solvent"]
    row = [[exp(-c / CLEAN) for c in line] for line in clean]


def index(o, now, fade, cleaning):
    due, minutes, base, colour = o[1], o[2], o[4], o[0]
    slack = due - now - cleaning[colour] - minutes
    return base * fade[colour] * (exp(-slack / SLACK) if slack > 0 else 1.0 - slack * 0.001)


def play(now, colours, free, rest, best):
    """Cost of painting the rest by the index; stops where it exceeds the best known."""
    cost = 0.0
    for _ in range(min(HORIZON, len(rest))):
        t = min(free)
        b = free.index(t)
        if t < now:
            t = now
        fade, cleaning = row[colours[b]], clean[colours[b]]
        top, pick = -1.0, 0
        for i, (colour, due, minutes, _, base) in enumerate(rest):
            slack = due - t - cleaning[colour] - minutes
            v = base * fade[colour]
            if slack > 0:
                v *= exp(-slack / SLACK)
            if v > top:
                top, pick = v, i
        colour, due, minutes, penalty, _ = rest.pop(pick)
        end = t + cleaning[colour] + minutes
        free[b], colours[b] = end, colour
        cost += cleaning[colour] * solvent
        if end > due:
            cost += (end - due) * penalty
        if cost >= best:
            return cost
    t = max(now, min(free))
    for _, due, minutes, penalty, _ in rest:
        cost += AFTER * penalty * max(0, t + minutes - due)
    return cost


def choose(now, booth, colours, free_at, waiting):
    rest = [
        (o["colour"], o["due"], o["minutes"], o["penalty"], (o["penalty"] / o["minutes"]) ** SHARPEN) for o in waiting
    ]
    if len(rest) == 1:
        return waiting[0]["id"]
    fade, cleaning = row[colours[booth]], clean[colours[booth]]
    first = nsmallest(CANDIDATES, range(len(rest)), key=lambda i: -index(rest[i], now, fade, cleaning))
    best, pick = 1e18, first[0]
    for i in first:
        colour, due, minutes, penalty, _ = rest[i]
        c = cleaning[colour]
        end = now + c + minutes
        free, tones = [max(now, f) for f in free_at], list(colours)
        free[booth], tones[booth] = end, colour
        cost = c * solvent + max(0, end - due) * penalty
        if cost < best:
            cost += play(now, tones, free, rest[:i] + rest[i + 1 :], best - cost)
        if cost < best:
            best, pick = cost, i
    return waiting[pick]["id"]
