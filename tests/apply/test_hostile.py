"""`stormlint apply`: plans and packages that nobody vouches for."""

import json
import os
import tempfile

from report import same
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


TESTS = [test_farm_elsewhere, test_farm_through_link]


def test(report, build):
    with tempfile.TemporaryDirectory(prefix="stormlint-hostile-") as scratch:
        os.chmod(scratch, 0o755)
        for function in TESTS:
            name = function.__name__[5:]
            report.test(f"hostile: {name}", lambda f, n: f(Bench(scratch, n, build)), function, name)
