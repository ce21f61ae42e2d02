"""Pack rectangles into a strip. See the task's instruction; this file is yours to change."""

import random

LOOK_BACK = 1  # how many of the shelves made last are looked at for a place
TRIES = 1  # orders of the rectangles that are tried; the first is the given one
TIGHTEST = False  # of the shelves with room: the one with the least left, rather than the oldest


def on_shelves(width, sizes, order):
    """(height, places): every rectangle stands on a shelf as high as its first rectangle."""
    shelves, top, places = [], 0, [(0, 0)] * len(sizes)
    for number in order:
        wide, high = sizes[number]
        fitting = [shelf for shelf in shelves[-LOOK_BACK:] if high <= shelf[1] and shelf[2] + wide <= width]
        if TIGHTEST:
            fitting.sort(key=lambda shelf: -shelf[2])
        if fitting:
            shelf = fitting[0]
        else:
            shelf = [top, high, 0]  # where it stands, its height, how much of its width is taken
            shelves.append(shelf)
            top += high
        places[number] = (shelf[2], shelf[0])
        shelf[2] += wide
    return top, places


def pack(width, sizes):
    """Lower left corners (x, y), one for each (width, height) of sizes."""
    order, shuffle = list(range(len(sizes))), random.Random(1)
    best = on_shelves(width, sizes, order)
    for _ in range(TRIES - 1):
        shuffle.shuffle(order)
        best = min(best, on_shelves(width, sizes, order), key=lambda packing: packing[0])
    return best[1]
