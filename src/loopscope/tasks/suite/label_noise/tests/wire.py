"""Arrays over a pipe, without pickles: a count, then for each array its name, shape and 64-bit floats. Used on both sides."""

import struct

import numpy as np

MOST = 400  # arrays in a message


def pack(arrays):
    """{name: array} as bytes."""
    parts = [struct.pack("<I", len(arrays))]
    for name, array in arrays.items():
        array = np.ascontiguousarray(array, dtype="<f8")
        label = str(name).encode()
        parts.append(struct.pack("<II%dI" % array.ndim, len(label), array.ndim, *array.shape))
        parts += [label, array.tobytes()]
    return b"".join(parts)


def unpack(data):
    """The arrays of `pack`; ValueError for anything that is not exactly that."""
    at = 0

    def take(size):
        nonlocal at
        if size > len(data) - at:
            raise ValueError("cut short")
        at += size
        return data[at - size : at]

    (count,) = struct.unpack("<I", take(4))
    arrays = {}
    if count > MOST:
        raise ValueError("more than %d arrays" % MOST)
    for _ in range(count):
        label, dimensions = struct.unpack("<II", take(8))
        if dimensions > 8 or label > 100:
            raise ValueError("an array of %d dimensions" % dimensions)
        shape = struct.unpack("<%dI" % dimensions, take(4 * dimensions))
        name = take(label).decode("ascii", "replace")
        size = 8
        for length in shape:  # not a product of numpy's: that one may wrap around
            size *= length
        arrays[name] = np.frombuffer(take(size), dtype="<f8").reshape(shape)
    if at != len(data):
        raise ValueError("something follows the arrays")
    return arrays
