"""Draws sets of rectangles, bounds and checks packings. The verifier draws its own in the same way."""

WIDTH, COUNT = 100, 100


def spread(source, count, low, high):
    """Whole numbers from low to high, evenly spread, in random order."""
    values = [low + int((high - low + 1) * (k + source.random()) / count) for k in range(count)]
    source.shuffle(values)
    return values


def draw(source, count=COUNT, width=WIDTH):
    """(width, height) of each rectangle: 4 to 40 hundredths of the strip's width, 4 to 60 high."""
    wide = spread(source, count, width * 4 // 100, width * 40 // 100)
    return [list(size) for size in zip(wide, spread(source, count, 4, 60))]


def bound(width, sizes):
    """No packing is lower: the area over the width, the highest rectangle, and those too wide to stand side by side."""
    area = sum(w * h for w, h in sizes)
    return max(-(-area // width), max(h for _, h in sizes), sum(h for w, h in sizes if 2 * w > width))


def height(width, sizes, places):
    """Height of a packing; ValueError where it is none."""
    if len(places) != len(sizes):
        raise ValueError("%d places for %d rectangles" % (len(places), len(sizes)))
    rows = {}  # of the strip, each a number with a bit for every column that is taken
    for number, ((w, h), (x, y)) in enumerate(zip(sizes, places)):
        if x < 0 or y < 0 or x + w > width:
            raise ValueError("rectangle %d leaves the strip" % number)
        covered = ((1 << w) - 1) << x
        for row in range(y, y + h):
            if rows.get(row, 0) & covered:
                raise ValueError("rectangle %d overlaps another one" % number)
            rows[row] = rows.get(row, 0) | covered
    return max(rows) + 1
