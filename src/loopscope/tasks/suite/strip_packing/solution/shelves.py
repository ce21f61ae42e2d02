"""Skyline best fit over a list of priorities, improved by local search on the list.

The lowest gap of the skyline gets the first rectangle of the list that fits into it, beside its higher neighbour; a gap
that nothing fits is filled up. Highest first is a good list; exchanges and moves that do not make it worse improve it.
"""

import random
import time

SECONDS = 0.08  # of processor for each set
FAR = 1 << 30


def skyline(width, sizes, order, limit):
    """(height, places), or (limit, None) as soon as it is no lower than that."""
    lefts, heights, widths = [0], [0], [width]
    waiting, top, places = list(order), 0, [None] * len(sizes)
    while waiting:
        level = min(heights)
        k = heights.index(level)
        room = widths[k]
        before = heights[k - 1] if k else FAR
        after = heights[k + 1] if k + 1 < len(heights) else FAR
        for at, number in enumerate(waiting):
            if sizes[number][0] <= room:
                break
        else:
            heights[k] = min(before, after)
            merge(lefts, heights, widths, k)
            continue
        del waiting[at]
        w, h = sizes[number]
        top = max(top, level + h)
        if top >= limit:
            return limit, None
        x = lefts[k] if before >= after else lefts[k] + room - w
        places[number] = (x, level)
        if w == room:
            heights[k] = level + h
        elif before >= after:
            lefts[k], widths[k] = x + w, room - w
            lefts.insert(k, x), heights.insert(k, level + h), widths.insert(k, w)
        else:
            widths[k] = room - w
            k += 1
            lefts.insert(k, x), heights.insert(k, level + h), widths.insert(k, w)
        merge(lefts, heights, widths, k)
    return top, places


def merge(lefts, heights, widths, k):
    """Join segment k to neighbours of its height."""
    if k + 1 < len(heights) and heights[k + 1] == heights[k]:
        widths[k] += widths[k + 1]
        del lefts[k + 1], heights[k + 1], widths[k + 1]
    if k and heights[k - 1] == heights[k]:
        widths[k - 1] += widths[k]
        del lefts[k], heights[k], widths[k]


def pack(width, sizes):
    end, source, count = time.process_time() + SECONDS, random.Random(1), len(sizes)
    keys = (lambda n: -sizes[n][1], lambda n: -sizes[n][0] * sizes[n][1], lambda n: -sizes[n][0] - sizes[n][1])
    starts = [sorted(range(count), key=key) for key in keys]
    best = min((*skyline(width, sizes, order, FAR), order) for order in starts)
    while time.process_time() < end:
        order = best[2][:]
        i, j = source.randrange(count), source.randrange(count)
        if source.random() < 0.5:
            order[i], order[j] = order[j], order[i]
        else:
            order.insert(j, order.pop(i))
        found = skyline(width, sizes, order, best[0] + 1)
        if found[1]:
            best = (*found, order)
    return best[1]
