# SPDX-License-Identifier: MIT
"""inside.py - try one mutant in a mount namespace: an overlay over the tree, and processes that end with it.

Not in a process namespace as well: some tests look at other processes through perf, which does not translate numbers.

Reads one job as JSON from standard input, and prints the result as JSON.
"""
import ctypes
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import reached  # noqa: E402
import relevant  # noqa: E402

STEP_LIMIT = 300  # seconds to compile and link

# A build with -Werror would reject mutants that leave something unused; tests have to find them.
HARMLESS = ("pragmas unused-parameter unused-function unused-variable unused-but-set-variable unused-but-set-parameter unused-value unused-label "
            "unused-const-variable empty-body type-limits bool-compare parentheses logical-not-parentheses int-in-bool-context conversion "
            "sign-conversion sign-compare aggressive-loop-optimizations alloc-size-larger-than= implicit-fallthrough missing-field-initializers "
            "int-conversion format-truncation format-overflow stringop-overflow stringop-truncation array-bounds logical-op tautological-compare "
            "switch-unreachable duplicated-branches misleading-indentation restrict nonnull sizeof-pointer-memaccess memset-elt-size free-nonheap-object "
            "unused-result overflow shift-negative-value div-by-zero sizeof-array-argument bool-operation enum-compare discarded-qualifiers")
PRAGMAS = "".join(f'#pragma GCC diagnostic ignored "-W{name}"\n' for name in HARMLESS.split()) + "#line 1\n"


def end_of(path, size=4000):
    with open(path, "rb") as f:
        f.seek(max(0, os.fstat(f.fileno()).st_size - size))
        return f.read().decode(errors="replace")


def run_quietly(command, limit, log, **kwargs):
    """(status, end of the output); a status of None: the time was over.  The first failed case of a script is enough."""
    over = time.monotonic() + limit
    with open(log, "wb") as out, subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, **kwargs) as p:
        while True:
            try:
                status = p.wait(0.2)
                end_processes()
                return status, end_of(log, 600)
            except subprocess.TimeoutExpired:
                has_failed = "\nnot ok - " in "\n" + end_of(log)
            if has_failed or time.monotonic() > over:
                p.kill()
                p.wait()
                end_processes()
                return 1 if has_failed else None, end_of(log, 600)


class Sandbox:
    def __init__(self, job):
        self.job, self.dir = job, job["dir"]
        self.log = os.path.join(self.dir, "log")
        # Some tests want short paths: /tmp, unless that hides something.
        is_hiding = any(path.startswith("/tmp/") for path in (self.dir, job["root"], job["build"]))
        self.temporary = os.path.join(self.dir, "tmp") if is_hiding else "/tmp"
        self.reached = os.path.join(self.dir, "reached") if job.get("layers") else ""

    def enter(self):
        """Mount; from here on the tree is a copy, and /dev/shm and the temporary folder are empty."""
        for name in ("upper", "work", "tmp", "old"):
            os.makedirs(os.path.join(self.dir, name), exist_ok=True)
        below = ":".join([*self.job.get("layers", []), self.job["root"]])
        options = f"lowerdir={below},upperdir={self.dir}/upper,workdir={self.dir}/work"
        if os.getuid() or self.job["is_user_namespace"]:
            options += ",userxattr"
        for command in (["mount", "--bind", self.job["root"], f"{self.dir}/old"],
                        ["mount", "-t", "overlay", "overlay", "-o", options, self.job["root"]],
                        *(["mount", "-t", "tmpfs", "-o", "size=2g", "tmpfs", at] for at in ("/dev/shm", self.temporary))):
            subprocess.run(command, check=True, capture_output=True)
        os.chdir(self.job["root"])
        # No core files, no endless output; where memory is short, the mutant ends.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        pathlib.Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")

    def instrument(self):
        """Leaves the layer that map runs have over the tree."""
        self.enter()
        reached.instrument(self.job["root"], self.job["build"], self.job["runtime"])
        env = dict(os.environ, CCACHE_DISABLE="1")
        command = ["ninja", "-C", self.job["build"], "-k", "0", "-j", str(self.job["jobs"])]
        status, out = run_quietly(command, limit=self.job["limit"], log=self.log, env=env)
        return {"result": "answered" if status is not None else "failed", "output": out}

    def apply(self):
        change = self.job["mutant"]
        path = pathlib.Path(self.job["root"], change["file"])
        text = path.read_text(encoding="utf-8")
        path.write_text(PRAGMAS + text[:change["start"]] + change["text"] + text[change["end"]:], encoding="utf-8")

    def build(self, targets):
        env = dict(os.environ, CCACHE_DISABLE="1")
        return run_quietly(["ninja", "-C", self.job["build"], "-j1", *targets], limit=STEP_LIMIT, log=self.log, env=env)

    def new_objects(self):
        upper = pathlib.Path(self.dir, "upper")
        return [str(p.relative_to(upper)) for p in upper.rglob("*.o")]

    def is_same_code(self):
        """Is every compiled object, without its debugging information, as it was?"""
        objects = self.new_objects()
        for name in objects:
            codes = []
            for place in (f"{self.dir}/old", f"{self.dir}/upper"):
                out = os.path.join(self.dir, "code.o")
                subprocess.run(["objcopy", "--strip-debug", os.path.join(place, name), out], check=True, capture_output=True)
                codes.append(pathlib.Path(out).read_bytes())
            if codes[0] != codes[1]:
                return False
        return bool(objects)

    def is_compiled(self):
        """Has one of the compiled objects code of the function?"""
        change = self.job["mutant"]
        lines = relevant.function_around(os.path.join(self.dir, "old", change["file"]), change["line"])
        name = os.path.basename(change["file"])
        return any(relevant.lines_of(os.path.join(self.dir, "old", o), name).intersection(lines) for o in self.new_objects())

    def run_test(self, test):
        env = dict(os.environ, **test["environment"], TMPDIR=self.temporary, PYTHONUNBUFFERED="1")
        env.update({"MUTATE_REACHED": self.reached} if self.reached else {})
        command = test["command"]
        if test["preload"]:
            env["LD_PRELOAD"] = test["preload"]
        started = time.monotonic()
        status, out = run_quietly(command, limit=test["limit"], log=self.log, env=env, cwd=test["directory"], start_new_session=True)
        return {"test": test["name"], "status": status, "seconds": round(time.monotonic() - started, 2), "output": out}

    @staticmethod
    def is_failure(run):
        return run["status"] not in (0, 77, "unbuilt")

    def run_tests(self):
        """Up to the first test that fails.  A busy machine disturbs tests: they have to fail twice."""
        runs, over = [], time.monotonic() + self.job["limit"]
        for test in self.job["tests"]:
            if time.monotonic() > over:
                break
            status, out = self.build(test["targets"]) if not self.reached else (0, "")
            if status != 0:
                runs.append({"test": test["name"], "status": "unbuilt", "seconds": 0, "output": out})
                continue
            runs.append(self.run_test(test))
            if self.is_failure(runs[-1]) and runs[-1]["status"] is not None:
                runs.append(self.run_test(test))
            if self.is_failure(runs[-1]):
                break
        return runs

    def map_test(self):
        """What a test reaches, whether it passes or not."""
        self.enter()
        os.mkdir(self.reached)
        os.chmod(self.reached, 0o777)  # tests start programs as other users
        run = self.run_test(self.job["tests"][0])
        return {"result": "mapped", "status": run["status"], "seconds": run["seconds"], "reached": reached.pack(self.reached)}

    def try_mutant(self):
        self.enter()
        if self.job.get("mutant"):
            self.apply()
            if self.job["objects"]:
                status, out = self.build(self.job["objects"])
                if status != 0:
                    return {"result": "invalid", "output": out}
                if self.is_same_code():
                    return {"result": "equivalent"}
        return self.judge(self.run_tests())

    def judge(self, runs):
        built = [r for r in runs if r["status"] != "unbuilt"]
        if runs and not built:
            return {"result": "invalid", "output": runs[-1]["output"]}
        if not runs:
            return {"result": "untested"}
        if self.is_failure(built[-1]):
            return {"result": "killed", "runs": runs}
        result = "survived"
        if self.job.get("mutant") and not self.job["objects"] and self.is_same_code():
            result = "equivalent" if self.is_compiled() else "untested"
        return {"result": result, "runs": runs}

    def answer(self):
        """What a command prints; ctest and ninja write logs even if they are only asked."""
        self.enter()
        p = subprocess.run(self.job["question"], capture_output=True, text=True, check=True, timeout=STEP_LIMIT)
        return {"result": "answered", "output": p.stdout}

    def work(self):
        if "question" in self.job:
            return self.answer()
        if "runtime" in self.job:
            return self.instrument()
        return self.map_test() if self.reached else self.try_mutant()


def adopt_processes():
    """Become the parent of every orphan below, and end when our own parent does."""
    PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


def end_processes():
    """Kill all children; theirs become ours, until there are none."""
    me = os.getpid()
    while True:
        left = pathlib.Path(f"/proc/{me}/task/{me}/children").read_text(encoding="ascii").split()
        if not left:
            return
        for pid in map(int, left):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def main():
    adopt_processes()
    job = json.load(sys.stdin)
    sandbox = Sandbox(job)
    try:
        print(json.dumps(sandbox.work()))
    finally:
        end_processes()


main()
