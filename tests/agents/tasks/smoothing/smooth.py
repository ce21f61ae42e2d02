"""Exponential or windowed smoothing."""

METHOD = "last"  # or "mean", "exponential"
WINDOW = 1
ALPHA = 0.9
PASSES = 1


def smooth(values, window=WINDOW, alpha=ALPHA):
    result = list(values)
    for _ in range(PASSES):
        if METHOD == "mean":
            result = [
                sum(result[max(0, i - window) : i + window + 1]) / len(result[max(0, i - window) : i + window + 1])
                for i in range(len(result))
            ]
        elif METHOD == "exponential":
            level, out = result[0], []
            for value in result:
                level = alpha * value + (1 - alpha) * level
                out.append(level)
            result = out
    return result
