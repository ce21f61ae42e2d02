"""Build one addition chain that contains every target. See the task's instruction; this file is yours to change."""

REMEMBER = 0  # how many of the numbers made last are looked up before one is made again
TAIL = 1  # this many low bits of a target are made as one piece
HIGH_BITS_FIRST = False


def build(targets):
    """Steps (i, j) of a chain: step k appends chain[i] + chain[j], and chain[0] is 1."""
    chain, steps, recent = [1], [], {}

    def add(i, j):
        value = chain[i] + chain[j]
        if value in recent:
            return recent[value]
        chain.append(value)
        steps.append((i, j))
        recent[value] = len(chain) - 1
        while len(recent) > REMEMBER:
            recent.pop(next(iter(recent)))
        return len(chain) - 1

    powers = [0]  # powers[b] is the place of 2**b in the chain
    for _ in range(max(targets).bit_length() - 1):
        powers.append(add(powers[-1], powers[-1]))

    def total(bits):
        place = powers[bits[0]]
        for bit in bits[1:]:
            place = add(place, powers[bit])
        return place

    for target in targets:
        bits = [b for b in range(target.bit_length()) if target >> b & 1]
        tail = [b for b in bits if b < TAIL]
        rest = [b for b in bits if b >= TAIL]
        if HIGH_BITS_FIRST:
            rest.reverse()
        if tail and rest:
            add(total(tail), total(rest))
        else:
            total(tail or rest)
    return steps
