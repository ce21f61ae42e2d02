"""Synthetic grey images: shaded surfaces, panels with edges, woven stripes and grain, all with sensor noise."""

import math
import random

KINDS = ("shade", "panels", "weave", "grain")


def shade(rng, w, h, level):
    gx, gy, base = rng.uniform(-1, 1), rng.uniform(-1, 1), rng.uniform(90, 150)
    rows = [[base + gx * (x - w / 2) + gy * (y - h / 2) for x in range(w)] for y in range(h)]
    for _ in range(rng.randint(3, 5)):
        cx, cy, s, a = rng.uniform(0, w), rng.uniform(0, h), rng.uniform(5, 16), rng.uniform(-70, 70)
        ex = [math.exp(-(((x - cx) / s) ** 2)) for x in range(w)]
        for y in range(h):
            ey = a * math.exp(-(((y - cy) / s) ** 2))
            rows[y] = [v + ey * e for v, e in zip(rows[y], ex, strict=False)]
    return rows, 0.8 + 1.4 * level


def panels(rng, w, h, level):
    ground = rng.uniform(60, 190)
    rows = [[ground] * w for _ in range(h)]
    for _ in range(rng.randint(6, 12)):
        x0, y0 = rng.randrange(w - 8), rng.randrange(h - 8)
        x1, y1 = min(w, x0 + rng.randint(8, 30)), min(h, y0 + rng.randint(8, 30))
        tone, slope = rng.uniform(30, 220), rng.uniform(-0.6, 0.6)
        for y in range(y0, y1):
            rows[y][x0:x1] = [tone + slope * (x - x0) for x in range(x0, x1)]
    return rows, 0.5 + 1.3 * level


def weave(rng, w, h, level):
    rows, noise = shade(rng, w, h, level)
    for period in (6 + 8 * (1 - level), 10 + 8 * rng.random()):
        turn, phase, amp = rng.uniform(0, math.pi), rng.uniform(0, 6.3), rng.uniform(14, 20)
        fx, fy = 2 * math.pi / period * math.cos(turn), 2 * math.pi / period * math.sin(turn)
        for y in range(h):
            p = phase + fy * y
            rows[y] = [v + amp * math.sin(p + fx * x) for x, v in enumerate(rows[y])]
    return rows, noise


def grain(rng, w, h, level):
    a, b, s, tone = rng.uniform(0.85, 0.93), rng.uniform(0.85, 0.93), 3 + 5 * level, rng.uniform(100, 150)
    above = [0.0] * w
    rows = []
    for _ in range(h + 16):
        left = corner = 0.0
        row = []
        for up in above:
            left = a * left + b * up - a * b * corner + rng.gauss(0, s)
            corner = up
            row.append(left)
        above = row
        rows.append([tone + v for v in row])
    return rows[16:], 1.5 - level


def image(rng, kind, level):
    w, h = rng.randint(48, 56), rng.randint(48, 56)
    rows, noise = {"shade": shade, "panels": panels, "weave": weave, "grain": grain}[kind](rng, w, h, level)
    gauss = rng.gauss
    pix = bytes(min(255, max(0, int(v + gauss(0, noise) + 0.5))) for row in rows for v in row)
    return w, h, pix


def images(rng, count):
    """As many of each kind, their noise spread evenly over its range."""
    each = count // len(KINDS)
    return [image(rng, KINDS[i % len(KINDS)], (i // len(KINDS) + rng.random()) / each) for i in range(count)]


if __name__ == "__main__":  # writes the public images: images.py DIRECTORY
    import pathlib
    import sys

    for number, (w, h, pix) in enumerate(images(random.Random(20240607), 16)):
        lines = [" ".join(map(str, pix[y * w : (y + 1) * w])) for y in range(h)]
        pathlib.Path(sys.argv[1], f"{number:02d}.pgm").write_text(f"P2\n{w} {h}\n255\n" + "\n".join(lines) + "\n")
