"""The paint shop: orders arrive, booths paint them one by one, a change of colour needs cleaning first."""


def simulate(scenario, choose):
    """Cost of one scenario in euro, lateness and solvent; choose(now, booth, colours, free_at, waiting) -> id."""
    orders, clean, booths = scenario["orders"], scenario["clean"], scenario["booths"]
    colours, free_at, busy = list(scenario["colours"]), [0] * booths, [False] * booths
    waiting, done, late, cleaning, now = [], 0, 0.0, 0, 0
    n = 0
    while done < len(orders):
        while n < len(orders) and orders[n]["arrives"] <= now:
            o = orders[n]
            waiting.append({k: o[k] for k in ("id", "colour", "minutes", "due", "penalty")})
            n += 1
        for b in range(booths):
            if busy[b] and free_at[b] <= now:
                busy[b] = False
        for b in range(booths):
            if busy[b] or not waiting:
                continue
            pick = choose(now, b, list(colours), list(free_at), [dict(o) for o in waiting])
            if pick is None:
                if n < len(orders) or any(busy):
                    continue
                pick = waiting[0]["id"]  # nothing would ever happen
            found = [i for i, o in enumerate(waiting) if o["id"] == pick]
            if not found or isinstance(pick, bool):
                raise ValueError(f"no such order waiting: {pick!r}")
            o = waiting.pop(found[0])
            c = clean[colours[b]][o["colour"]]
            end = now + c + o["minutes"]
            colours[b], free_at[b], busy[b] = o["colour"], end, True
            cleaning += c
            late += max(0, end - o["due"]) * o["penalty"]
            done += 1
        coming = [f for f, on in zip(free_at, busy, strict=False) if on]
        if n < len(orders):
            coming.append(orders[n]["arrives"])
        now = min(coming, default=now)
    return late + cleaning * scenario["solvent"]
