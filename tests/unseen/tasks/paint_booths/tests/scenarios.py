"""Random days of the paint shop."""

COLOURS = 7


def scenario(rng, orders=120):
    booths = rng.choice((2, 3))
    dark = sorted(rng.random() for _ in range(COLOURS))
    rng.shuffle(dark)
    clean = [
        [0 if a == b else round(4 + 5 * rng.random() + 22 * max(0.0, dark[a] - dark[b])) for b in range(COLOURS)]
        for a in range(COLOURS)
    ]
    share = [rng.uniform(0.3, 1.6) for _ in range(COLOURS)]
    load = rng.uniform(0.64, 0.74)
    gap = 20.0 / (booths * load)
    now, made = 0.0, []
    while len(made) < orders:
        batch = rng.randint(2, 5) if rng.random() < 0.25 else 1  # some customers send several orders at once
        now += rng.expovariate(1 / (gap * batch))
        for _ in range(batch):
            minutes = rng.randint(8, 32)
            made.append(
                {
                    "id": len(made),
                    "arrives": int(now),
                    "colour": rng.choices(range(COLOURS), share)[0],
                    "minutes": minutes,
                    "due": int(now) + minutes + rng.randint(20, 140),
                    "penalty": rng.choice((0.5, 0.5, 1.0, 1.0, 2.0, 4.0)),
                }
            )
    return {
        "booths": booths,
        "clean": clean,
        "solvent": 1.0,
        "colours": [rng.randrange(COLOURS) for _ in range(booths)],
        "orders": made[:orders],
    }


if __name__ == "__main__":  # writes the public scenarios: scenarios.py FILE
    import json
    import pathlib
    import random
    import sys

    sys.path.insert(0, str(pathlib.Path(__file__).parent / "baseline"))
    import policy
    import shop

    rng = random.Random(771)
    days = [scenario(rng) for _ in range(16)]
    for day in days:
        policy.start(day)
        day["original_cost"] = shop.simulate(day, policy.choose)
    pathlib.Path(sys.argv[1]).write_text("[\n" + ",\n".join(map(json.dumps, days)) + "\n]\n")
