"""python -m clipper: runs the program clipper, which the package clipper-npy installs."""

import os
import shutil
import sys
import sysconfig

if __name__ == "__main__":
    program = os.path.join(sysconfig.get_path("scripts"), "clipper")
    found = program if os.path.exists(program) else shutil.which("clipper")
    if found is None:
        sys.exit("python -m clipper: the program is not installed; pip install clipper-npy")
    os.execv(found, ["clipper", *sys.argv[1:]])
