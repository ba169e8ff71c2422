# SPDX-License-Identifier: MIT
"""wrong_specs.py - specs of frames with one error each, and some at a limit without one."""
FRAME = "frame f { int a; }\n"


def spec(body, head="emit C;\nbuffer B 64;\n"):
    return head + body


SPECS = {
    "empty": "",
    "no-emit": "buffer B 64;\n" + FRAME,
    "no-frame": spec(""),
    "emit-language": "emit Rust;\n" + FRAME,
    "emit-twice": "emit C;\nemit C++;\n" + FRAME,
    "buffer-twice": spec(FRAME, "emit C;\nbuffer A 1;\nbuffer B 2;\n"),
    "buffer-zero": spec(FRAME, "emit C;\nbuffer A 0;\n"),
    "buffer-huge": spec(FRAME, "emit C;\nbuffer A 99999999999999999999;\n"),
    "buffer-name": spec(FRAME, "emit C;\nbuffer 9a 1;\n"),
    "option-unknown": spec("option colour red;\n" + FRAME),
    "option-value": spec("option debug maybe;\n" + FRAME),
    "option-clock": spec("option time timespec sundial;\n" + FRAME),
    "option-after-frame": spec(FRAME + "option debug true;\n"),
    "tag-open": spec('option tag a "never closed;\n' + FRAME),
    "comment-open": spec("/* never /* closed */\n" + FRAME),
    "comment-nested": spec("/* a /* b */ c */ // d\n" + FRAME),
    "frame-empty": spec("frame f { }\n"),
    "frame-twice": spec(FRAME + FRAME),
    "frame-keyword": spec("frame while { int a; }\n"),
    "frame-open": spec("frame f { int a;\n"),
    "text-after": spec(FRAME + "more"),
    "member-twice": spec("frame f { int a, a; }\n"),
    "member-keyword": spec("frame f { int return; }\n"),
    "member-cpp-keyword": spec("frame f { int class; }\n"),
    "member-type": spec("frame f { quad a; }\n"),
    "member-no-name": spec("frame f { int; }\n"),
    "member-own-name": spec("frame f { int __ppt_seqno; }\n"),
    "interval-clash": spec("frame f { interval int a; int a_end; }\n"),
    "interval-bool": spec("frame f { interval bool a; }\n"),
    "interval-string": spec("frame f { interval string a[4]; }\n"),
    "interval-array": spec("frame f { interval int a[4]; }\n"),
    "array-zero": spec("frame f { int a[0]; }\n"),
    "array-huge": spec("frame f { int a[4294967296]; }\n"),
    "array-of-times": spec("frame f { time a[2]; }\n"),
    "array-of-counters": spec("frame f { counter a[2]; }\n"),
    "string-no-size": spec("frame f { string a; }\n"),
    "enum-unknown": spec("frame f { enum e a; }\n"),
    "enum-empty": spec("enum e { };\n" + FRAME),
    "enum-twice": spec("enum e { a };\nenum e { b };\n" + FRAME),
    "enum-name-twice": spec("enum e { a, a };\n" + FRAME),
    "enum-clash": spec("enum a { b_c };\nenum a_b { c };\n" + FRAME),
    "enum-value": spec("enum e { a = 4294967296 };\n" + FRAME),
    "enum-negative": spec("enum e { a = -1, b };\nframe f { enum e x; }\n"),
    "character": spec("frame f { int $; }\n"),
    "long-name": spec("frame f { int " + "n" * 70 + "; }\n"),
    "longer-name": spec("frame f { int " + "n" * 300 + "; }\n"),
    "many-frames": spec("".join(f"frame f{i} {{ int a; }}\n" for i in range(1025))),
    "many-members": spec("frame f { int8 " + ", ".join(f"a{i}" for i in range(4100)) + "; }\n"),
    "huge-frame": spec("frame f { " + "".join(f"int64 a{i}[65536];" for i in range(3)) + " }\n"),
    "large-frame": spec("frame f { string a[60000]; string b[60000]; }\n"),
    "own-name-c": spec("frame handle { int a; }\n"),
    "own-name-cpp": spec("frame attached { int a; }\n", "emit C++;\nbuffer B 64;\n"),
    "defaults": "emit C;\n" + FRAME,
}


def write(dir):
    for name, text in SPECS.items():
        with open(f"{dir}/{name}.spec", "w", encoding="utf-8") as f:
            f.write(text)
