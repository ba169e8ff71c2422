# SPDX-License-Identifier: MIT
"""ship_runs.py - runs of the tool that ship their trace, and the account that all of them have to keep."""
import glob

from harness import *

LANES = os.environ["LANES_TARGET"]


def spool_env(dir):
    return dict(os.environ, XDG_STATE_HOME=dir + "/state")


def start_ship(dir, url, *options, program=(LANES, "turns", 50, 200000), **kwargs):
    kwargs.setdefault("env", spool_env(dir))
    return popen(TOOL, "run", "--json", "--ship", url, *options, "--", *program, **kwargs)


def run_ship(*args, **kwargs):
    """`run --ship` with the JSON summary."""
    p = start_ship(*args, **kwargs)
    out, err = p.communicate(timeout=240)
    return Run(p.returncode, out, err, None)


def ship(*args, **kwargs):
    p = popen(TOOL, "ship", "--json", *args, **kwargs)
    out, err = p.communicate(timeout=240)
    return Run(p.returncode, out, err, None), [json.loads(line) for line in out.splitlines()]


def spools(dir):
    return sorted(glob.glob(dir + "/state/corotracer/spool/*.ct"))


def state_of(trace):
    with open(trace + ".shipped", encoding="utf-8") as f:
        return json.load(f)


def check_account(s):
    """written = collected + lost, and collected = shipped + spooled + given up."""
    equal(s["written"], s["collected"] + s["lost"], "written transitions")
    for kind, collected in (("transitions", s["collected"]), ("others", s["others"]["collected"])):
        equal(collected, sum(s["ship"][part][kind] for part in ("shipped", "spooled", "given_up")), "collected " + kind)


def check_arrived(run, counts, where):
    for name, got in (("blocks", len(run.blocks)), ("transitions", run.transitions()), ("others", run.others()), ("bytes", run.bytes())):
        equal(counts[name], got, f"{name} that arrived, {where}")


def check_final(run):
    """The account in the last envelope."""
    f = run.final
    equal(f["written"], f["collected"] + f["lost"], "written, in the account")
    equal(run.transitions() + f["given_up_transitions"], f["collected"], "collected, in the account")
    equal(run.others() + f["given_up_others"], f["others_collected"], "collected others, in the account")
    equal(len(run.blocks) + f["given_up_blocks"], f["blocks"], "blocks, in the account")


__all__ = ["LANES", "check_account", "check_arrived", "check_final", "run_ship", "ship", "spool_env", "spools", "start_ship", "state_of"]
