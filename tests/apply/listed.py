"""What the real loader loads for a library: nothing of it is run."""

import os
import re

from elf import Elf
from report import run

LOADER = "ld-linux-x86-64.so.2"


def listed(path):
    """What the loader in its run path loads for a library, in order; None: none there does."""
    for folder in (Elf(path).run_path() or "").split(":"):
        loader = os.path.join(folder, LOADER)
        if not os.path.isfile(loader):
            continue
        told = run(loader, "--list", path, env={"PATH": "/usr/bin:/bin"})
        files = re.findall(r"^\t(?:.* => )?(/.*) \(0x[0-9a-f]+\)$", told.stdout, re.MULTILINE)
        if files:
            return told.returncode, told.stdout.count("not found"), \
                [os.path.realpath(file) for file in files]
    return None
