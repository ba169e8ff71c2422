# SPDX-License-Identifier: MIT
"""Readers of profile formats that know nothing of the tool: pprof, speedscope, folded stacks."""
import gzip
import json


# ---- protocol buffers ------------------------------------------------------------------


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of every field; a value is an integer or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "a field is longer than its message"
        else:
            raise AssertionError("unexpected wire type %d" % (key & 7))
        yield key >> 3, value


def message(data):
    """Number of a field to the list of its values."""
    found = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def one(found, number):
    return found.get(number, [0])[0]


def read_pprof(path, counted="samples"):
    """{(state, ((function, file, line), ...)): (samples, ns)}, innermost first; and the period."""
    with gzip.open(path) as f:
        profile = message(f.read())
    texts = [t.decode() for t in profile[6]]
    assert texts[0] == "", "the first string is not empty"
    types = [[texts[one(message(t), n)] for n in (1, 2)] for t in profile[1]]
    assert types == [[counted, "count"], ["time", "nanoseconds"]], types
    functions = {one(f, 1): (texts[one(f, 2)], texts[one(f, 4)]) for f in map(message, profile.get(5, []))}
    locations = {}
    for location in map(message, profile.get(4, [])):
        line = message(location[4][0])
        locations[one(location, 1)] = (*functions[one(line, 1)], one(line, 2))
    result = {}
    for sample in map(message, profile.get(2, [])):
        label = message(sample[3][0]) if 3 in sample else {}
        assert not label or texts[one(label, 1)] == "state", texts[one(label, 1)]
        stack = tuple(locations[number] for number in sample[1])
        result[(texts[one(label, 2)] if label else None, stack)] = tuple(sample[2])
    return result, one(profile, 12)


# ---- speedscope ------------------------------------------------------------------------


def read_speedscope(path):
    """{(state, stack, innermost first): ns}, after the rules of the published schema."""
    with open(path, encoding="utf-8") as f:
        data = json.load(f)
    assert data["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert 0 <= data["activeProfileIndex"] < len(data["profiles"])
    assert isinstance(data["name"], str) and isinstance(data["exporter"], str)
    frames = data["shared"]["frames"]
    for frame in frames:
        assert isinstance(frame["name"], str) and set(frame) <= {"name", "file", "line", "col"}, frame
    result, parts = {}, {}
    for i, profile in enumerate(data["profiles"]):
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}, profile
        assert profile["type"] == "sampled" and profile["unit"] == "nanoseconds"
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["startValue"] == 0 and profile["endValue"] == sum(profile["weights"])
        for stack, weight in zip(profile["samples"], profile["weights"]):
            places = [frames[number] for number in stack]
            key = (places[-1]["name"].strip("[]"),
                   tuple((p["name"], p.get("file", ""), p.get("line", 0)) for p in reversed(places[:-1])))
            (parts if i else result)[key] = weight
    assert parts == result, "the profiles of the states are not the parts of the whole"
    return result


# ---- folded stacks -----------------------------------------------------------------------


def read_folded(path):
    """{(state, functions with places, innermost first): microseconds}."""
    result = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            stack, _, value = line.rstrip("\n").rpartition(" ")
            *places, state = stack.split(";")
            key = (state.strip("[]"), tuple(reversed(places)))
            assert key not in result, line
            result[key] = int(value)
    return result
