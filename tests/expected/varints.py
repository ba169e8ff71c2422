# SPDX-License-Identifier: MIT
"""varints.py - integers of seven bits per byte, the lowest first."""


def read_varint(data, at):
    """The value, and the position after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
