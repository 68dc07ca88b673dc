"""`stormlint apply`: plans and packages that nobody vouches for."""

import json
import os
import shutil
import tempfile

from report import Failed, run, same
from store import snapshot
from test_apply import Bench


def test_farm_elsewhere(b):
    """A plan from somewhere may not choose the place of a farm."""
    usual = "/nix-support/stormlint/farm"
    plan = json.dumps(b.plan())
    for place in ("/../../../evil", "/bin", usual + "-x/y", usual + "s"):
        b.write_plan(json.loads(plan.replace(usual, place)))
        b.refuses("farms lie in 'nix-support/stormlint/farm'")
    same("outside", os.path.exists(f"{b.dir}/../evil"), False)


def test_farm_through_link(b):
    """What lies behind a link is no part of the package."""
    elsewhere = f"{b.dir}/elsewhere"
    os.makedirs(elsewhere)
    os.symlink(elsewhere, f"{b.store.app}/nix-support")
    b.refuses("is no directory of its own", elsewhere)
    same("elsewhere", os.listdir(elsewhere), [])
    b.store.plan(b.stormlint, b.plan_file)
    same("planned", b.plan()["objects"][0]["strategy"], "none")


def test_reason_is_plain(b):
    """What a plan says is shown, and does not speak to the terminal."""
    with open(b.store.policy, encoding="utf-8") as file:
        policy = json.load(file)
    with open(b.store.policy, "w", encoding="utf-8") as file:
        json.dump({**policy, "min_saving": 1000}, file)
    b.store.plan(b.stormlint, b.plan_file)
    plan = b.plan()
    plan["objects"][0]["reason"] = "\\x1b[31mred"
    b.write_plan(plan)
    said = b.apply()
    same("shown", ("\x1b" in said, "nothing to do: \\x1b[31mred" in said), (False, True))


def test_twice(b):
    """The same plan twice, or one with an object twice: files would change names twice."""
    b.refuses("is planned twice", args=(b.plan_file,))
    plan = b.plan()
    plan["objects"] *= 2
    b.write_plan(plan)
    b.refuses("is planned twice")
    b.refuses("output 'out' is given twice", args=("--output", f"out={b.dir}"), status=2)


def test_out_stays_away(b):
    """Who fails leaves no directories either."""
    b.store.program("app", "-Wl,--no-as-needed", "-lm")
    b.refuses("stale", args=("--out", f"{b.dir}/new/deep"))
    same("made", os.path.exists(f"{b.dir}/new"), False)


def test_loader_gone(b):
    os.unlink(b.store.loader)
    b.refuses(f"its loader '{b.store.loader}' cannot be looked at: No such file")


def test_plan_not_kept(b):
    """A plan that cannot be kept is noticed before anything is edited."""
    os.makedirs(f"{b.store.app}/nix-support/stormlint/plan.json")
    before = snapshot(b.store.app)
    here = (b.stormlint, "apply", "--output", f"out={b.store.app}", "--policy", b.store.policy)
    done = run(*here, "--keep-plan")
    same("status", done.returncode, 4)
    if "not applied" not in done.stderr or "Is a directory" not in done.stderr:
        raise Failed(done.stderr)
    same("untouched", snapshot(b.store.app) == before, True)
    shutil.rmtree(f"{b.store.app}/nix-support")
    before = snapshot(b.store.app)
    os.link(b.path(), f"{b.dir}/elsewhere")
    done = run(*here, "--keep-plan")
    same("status", (done.returncode, "2 names" in done.stderr), (4, True))
    same("untouched", snapshot(b.store.app) == before, True)


TESTS = [test_farm_elsewhere, test_farm_through_link, test_reason_is_plain, test_twice,
         test_out_stays_away,
         test_loader_gone, test_plan_not_kept]


def test(report, build):
    with tempfile.TemporaryDirectory(prefix="stormlint-hostile-") as scratch:
        os.chmod(scratch, 0o755)
        for function in TESTS:
            name = function.__name__[5:]
            report.test(f"hostile: {name}", lambda f, n: f(Bench(scratch, n, build)), function, name)
