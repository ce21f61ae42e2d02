"""Everything again as an ordinary user, when the tests run as root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from loopscope.sandbox import toolchain

UID = 54_321


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.skipif(os.geteuid() != 0, reason="the tests run as an ordinary user already")
def test_the_sandbox_tests_pass_as_an_ordinary_user(tmp_path: Path) -> None:
    home = Path("/tmp") / f"loopscope-test-{os.getpid()}"
    built = toolchain.build()
    try:
        cache = home / "cache" / "toolchain"
        cache.mkdir(parents=True)
        shutil.copytree(built.binds[0].source, cache / Path(built.binds[0].source).name, symlinks=True)
        subprocess.run(["chown", "-R", f"{UID}:{UID}", str(home)], check=True)
        here = Path(__file__).parent
        argv = [sys.executable, str(here / "as_user.py"), str(UID), sys.executable, "-m", "pytest", str(here)]
        argv += ["-m", "sandbox", "-p", "no:cacheprovider", "--basetemp", str(home / "t")]
        env = {"PATH": os.environ["PATH"], "HOME": "", "LOOPSCOPE_CACHE": str(home / "cache"), "LANG": "C.UTF-8"}
        env["PYTHONDONTWRITEBYTECODE"] = "1"
        done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        assert "no sandbox can be started" not in done.stdout
    finally:
        shutil.rmtree(home, ignore_errors=True)
