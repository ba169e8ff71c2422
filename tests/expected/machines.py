# SPDX-License-Identifier: MIT
"""machines.py - machines for `mem sim --config`, right and wrong ones: {name: text}."""

LEVEL = '"size": "1K", "ways": 2'


def level(more):
    return '{"levels": [{' + LEVEL + ", " + more + "}]}"


MACHINES = {
    "full": '{"levels": [{"name": "first", "size": "512", "line": 32, "ways": "full", "policy": "fifo", "write": "through", "allocate": false, "prefetch": "next-line"},'
            ' {"size": 4096, "line": 64, "ways": 4, "policy": "plru", "write": "back", "allocate": true, "inclusion": "inclusive", "share": "all", "prefetch": "tagged"},'
            ' {"size": "16K", "ways": 8, "policy": "lifo", "share": "all"}],'
            ' "tlb": [{"name": "d", "entries": 4, "ways": 2}, {"entries": 16, "ways": "full"}], "page": "4K", "cores": 2, "seed": 7}',
    "random": level('"policy": "random", "inclusion": "non-inclusive", "prefetch": "none"'),
    "exclusive": '{"levels": [{"size": 1024, "ways": 2}, {"size": 4096, "ways": 4, "inclusion": "exclusive", "share": 1}, {"size": "16K", "ways": 8, "inclusion": "inclusive"}]}',
    "suite": '{"caches": [{"name": "D1", "cache_size": 10, "block_size": 6, "set_assoc": 2, "rep_policy": 0}, {"cache_size": 13, "block_size": 6, "set_assoc": 4,'
             ' "rep_policy": 1}]}',
    "suite-last": '{"caches": [{"cache_size": 10, "block_size": 5, "set_assoc": 1, "rep_policy": 2}, {"cache_size": 11, "block_size": 6, "set_assoc": 2, "rep_policy": 3},'
                  ' {"cache_size": 12, "block_size": 6, "set_assoc": 4, "rep_policy": 4}]}',
    "empty": "",
    "list": "[]",
    "cut": '{"levels": [',
    "nothing": "{}",
    "no-levels": '{"levels": []}',
    "no-list": '{"levels": 7}',
    "no-object": '{"levels": [7]}',
    "many-levels": '{"levels": [' + ",".join(["{" + LEVEL + "}"] * 7) + "]}",
    "no-size": '{"levels": [{"ways": 2}]}',
    "no-ways": '{"levels": [{"size": 1024}]}',
    **{f"wrong-{i}": level(more) for i, more in enumerate((
        '"line": "x"', '"line": 48', '"line": 16', '"policy": "mru"',
        '"policy": 1', '"inclusion": "both"', '"prefetch": "two"', '"write": "around"', '"write": 1', '"allocate": 1', '"share": "none"', '"share": -1', '"name": ""',
        '"name": 7', '"name": "0123456789abcdef"', '"name": "a\\u0001"', '"colour": 1', '"inclusion": "exclusive"'))},
    **{f"wrong-level-{i}": '{"levels": [{' + text + "}]}" for i, text in enumerate((
        '"size": "1X", "ways": 2', '"size": -1, "ways": 2', '"size": true, "ways": 2', '"size": 0, "ways": 2', '"size": 1000, "ways": 2', '"size": 1024, "ways": "half"',
        '"size": 1024, "ways": -2', '"size": 1024, "ways": 1.5', '"size": 1024, "ways": 3', '"size": 1024, "ways": 32', '"size": 1024, "size": 1024'))},
    **{f"wrong-machine-{i}": '{"levels": [{' + LEVEL + "}], " + more + "}" for i, more in enumerate((
        '"tlb": 1', '"tlb": [1]', '"tlb": [{}]', '"tlb": [{"entries": 0}]', '"tlb": [{"entries": "x"}]', '"tlb": [{"entries": 4, "ways": 3}]',
        '"tlb": [{"entries": 4, "size": 3}]', '"tlb": [{"entries":1},{"entries":1},{"entries":1},{"entries":1}]', '"page": 1000', '"page": "x"', '"cores": -1',
        '"cores": 1025', '"cores": 1024', '"seed": "x"', '"clock": 1'))},
    **{f"wrong-suite-{i}": '{"caches": [{' + more + "}]}" for i, more in enumerate((
        '"cache_size": 10', '"cache_size": 64, "block_size": 6, "set_assoc": 2, "rep_policy": 0', '"cache_size": 10, "block_size": 40, "set_assoc": 2, "rep_policy": 0',
        '"cache_size": 10, "block_size": 6, "set_assoc": 2, "rep_policy": 5', '"cache_size": "1K", "block_size": 6, "set_assoc": 2, "rep_policy": 0'))},
}


def write(dir):
    for name, text in MACHINES.items():
        with open(f"{dir}/{name}.machine", "w", encoding="utf-8") as f:
            f.write(text)


def simulated():
    """Those that are right, on a trace; those that are wrong, shown."""
    right = ("full", "random", "exclusive", "suite", "suite-last")
    return [*([*("mem", "sim", "-c", name + ".machine"), *more, "{walk}"] for name in right for more in ([], ["--csv", "-b"])),
            *(["mem", "sim", "--show", "-c", name + ".machine"] for name in MACHINES)]
