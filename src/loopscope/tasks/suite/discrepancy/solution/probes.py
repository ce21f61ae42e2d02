"""Place probes by coordinate descent: one coordinate of one probe at a time goes to where the discrepancy is exactly least.

As a function of one coordinate t of a probe, n^2 times the squared discrepancy is, up to a constant,

    n (1 - v^2) t^2 / 2  -  (1 - v) t  +  2 sum_i w_i (1 - max(t, t_i)),   w_i = 1 - max(v, v_i),

where v is the probe's other coordinate and (t_i, v_i) are the other probes. Between two neighbouring t_i it is a parabola, so one pass over
the sorted t_i finds the least value of all.
"""

SWEEPS = 5


def mirrored(number, base):
    """The van der Corput sequence."""
    value, digit = 0.0, 1.0
    while number:
        digit /= base
        value += digit * (number % base)
        number //= base
    return value


def best_place(others, v, n):
    """The coordinate t that makes the discrepancy least; `others` are the other probes as (t_i, v_i), sorted."""
    curve, best, best_t = n * (1 - v * v) / 2, float("inf"), 0.5
    low, slope = 0.0, v - 1  # of the linear part, between the t_i
    constant = 2 * sum((1 - t) * (1 - max(v, u)) for t, u in others)
    for t_i, v_i in [*others, (1.0, 1.0)]:
        t = min(max(-slope / (2 * curve), low), t_i) 
        value = curve * t * t + slope * t + constant
        if value < best:
            best, best_t = value, t
        weight = 2 * (1 - max(v, v_i))
        slope -= weight
        constant += weight * t_i
        low = t_i
    return best_t


def place(standing, count):
    """`count` places (x, y) for new probes, given those that stand already."""
    points = [list(point) for point in standing] + [[mirrored(k, 2), mirrored(k, 3)] for k in range(1, count + 1)]
    n = len(points)
    for _ in range(SWEEPS):
        for chosen in range(len(standing), n):
            for axis in (0, 1):
                if points[chosen][1 - axis] == 1.0:
                    continue  # no rectangle holds it, wherever it goes
                others = sorted((p[axis], p[1 - axis]) for k, p in enumerate(points) if k != chosen)
                points[chosen][axis] = best_place(others, points[chosen][1 - axis], n)
    return [(x, y) for x, y in points[len(standing) :]]
