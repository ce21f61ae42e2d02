from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopscope.sandbox.copying import ignore_rules, is_ignored
from loopscope.sandbox.dockerfile import CopyStep, DirStep, Plan, RunStep, read_dockerfile
from loopscope.sandbox.errors import DockerfileError
from loopscope.sandbox.rootfs import Users, mentioned_roots, private_root
from loopscope.sandbox.shellsteps import added_user, split, without_installs

BASE = {"PATH": "/usr/bin"}


def plan(tmp_path: Path, text: str) -> Plan:
    (tmp_path / "Dockerfile").write_text(text)
    return read_dockerfile(tmp_path / "Dockerfile", BASE)


INSTALLS = [
    ("apt-get update && apt-get install -y gcc && rm -rf /var/lib/apt/lists/*", ""),
    ("apt-get update && apt-get install -y gcc && mkdir /app/x", ":  && : && mkdir /app/x"),
    ("set -eux; apt-get update; make", "set -eux; :; make"),
    ("pip install --no-cache-dir numpy==2.0", ""),
    ("python3 -m pip install numpy && python3 setup.py", ": && python3 setup.py"),
    ("DEBIAN_FRONTEND=noninteractive apt-get install -y tzdata", ""),
    ("curl -sSf https://sh.rustup.rs | sh -s -- -y", ""),
    ("ln -s /usr/bin/python3 /usr/bin/python", ""),
    ("make && echo 'apt-get install; x && y' > note", "make && echo 'apt-get install; x && y' > note"),
    ("for i in 1 2; do echo $i; done; apt-get update", "for i in 1 2; do echo $i; done; apt-get update"),
    ("git clone https://x/y && cd y", ": && cd y"),
    ("rm -rf /app/build", "rm -rf /app/build"),
]


@pytest.mark.parametrize(("command", "left"), INSTALLS)
def test_installations_are_taken_out(command: str, left: str) -> None:
    got, _ = without_installs(command)
    assert got.replace(" ", "") == left.replace(" ", "")


@given(st.text(alphabet="ab '\"\\;&|\n(){}$#x", max_size=40))
def test_splitting_loses_nothing(command: str) -> None:
    assert "".join(separator + segment for separator, segment in split(command)) == command


def test_users() -> None:
    assert added_user(["useradd", "-m", "-u", "1234", "agent"]) == ("agent", 1234)
    assert added_user(["adduser", "--disabled-password", "bob"]) == ("bob", None)
    assert added_user(["make"]) is None
    users = Users([("agent", None), ("bob", 2000)], 65536)
    assert users.ids("agent") == ((1000, 1000), True) and users.ids("bob") == ((2000, 2000), True)
    assert users.ids("stranger") == ((0, 0), False) and users.ids(70000) == ((0, 0), False)
    assert Users([("agent", None)], 1).ids("agent") == ((0, 0), False)
    assert "agent:x:1000:1000" in users.etc()["passwd"]


def test_variables(tmp_path: Path) -> None:
    text = """
ARG TAG=1
FROM python:${TAG}
ARG TAG
ARG EMPTY
ENV A=$TAG B="${EMPTY:-dflt}" C=${A:+set} D=\\$A
ENV PATH=/x:$PATH
ENV OLD style here
WORKDIR /w/$A
COPY a$A.txt ${B}/
"""
    found = plan(tmp_path, text)
    assert found.env == {"A": "1", "B": "dflt", "C": "", "D": "$A", "PATH": "/x:/usr/bin", "OLD": "style here"}
    assert found.steps == [DirStep("/w/1", 9), CopyStep(("a1.txt",), "/w/1/dflt", True, None, None, 10)]
    assert set(found.requirements.tools) == {"python3", "python"}


def test_steps_and_roots(tmp_path: Path) -> None:
    found = plan(tmp_path, 'FROM debian\nSHELL ["/bin/bash", "-c"]\nRUN ["make", "a b"]\nRUN x > /data2/y\nCMD ["z"]\n')
    runs = [step for step in found.steps if isinstance(step, RunStep)]
    assert [(run.command, run.shell) for run in runs] == [
        ("make 'a b'", ("/bin/sh", "-c")),
        ("x > /data2/y", ("/bin/bash", "-c")),
    ]
    assert "/data2" in found.roots and found.workdir == "/"


def test_stages(tmp_path: Path) -> None:
    linear = "FROM gcc AS base\nWORKDIR /a\nFROM debian AS unused\nRUN false\nFROM base\nWORKDIR /b\n"
    found = plan(tmp_path, linear)
    assert [step.path for step in found.steps if isinstance(step, DirStep)] == ["/a", "/b"]
    assert "gcc" in found.requirements.tools


BAD = [
    ("FROM a AS b\nFROM c\nCOPY --from=b /x /y\n", r"Dockerfile:3: COPY .*multi-stage"),
    ("FROM a\nRUN <<EOF\nmkdir x\nEOF\n", r"Dockerfile:2: RUN .*here-documents"),
    ("FROM a\nADD https://x/y /z\n", r"no network"),
    ("FROM a\nADD x.tar.gz /z\n", r"archives are not unpacked"),
    ("FROM a\nCOPY one\n", r"source and a destination"),
    ("FROM a\nCOPY --chmod=u+x a /b\n", r"octal"),
    ("RUN x\n", r"no FROM"),
    ("FROM a\nWORKDIR ../x\n", r"without '\.\.'"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_what_cannot_be_followed_is_said(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DockerfileError, match=message):
        plan(tmp_path, text)


def test_requirements(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("scikit-learn>=1\n# note\nPyYAML==6\n-e .\n")
    text = """
FROM docker.io/library/rust:1.80
RUN apt-get install -y --no-install-recommends build-essential=12.9 python3-numpy gcc-12 cmake libfoo-dev && x
RUN pip3 install -U pip && pip install -r requirements.txt 'torch>=2' https://x/y.whl ./local
RUN uv pip install --system pandas && ln -s /usr/bin/python3 /usr/local/bin/python
"""
    needed = plan(tmp_path, text).requirements
    assert set(needed.tools) == {"cargo", "rustc", "gcc", "g++", "make", "cmake", "python"}
    assert set(needed.modules) == {"numpy", "sklearn", "yaml", "torch", "pandas"}
    (tmp_path / "cmake").touch(mode=0o755)
    assert "cmake" not in needed.missing_tools(str(tmp_path))
    assert needed.missing_tools(str(tmp_path))["gcc"] == "Debian: apt-get install gcc libc6-dev"


def test_private_directories() -> None:
    assert [private_root(p) for p in ("/app/x", "/", "/usr/local/x", "/opt/tool/x", "/opt/loopscope/x", "/a/../b")] == [
        "/app", None, None, "/opt/tool", None, None,
    ]  # fmt: skip
    text = "RUN curl https://a.b/c && cp a/b /models/x ; cd ~/y; ls /opt/t/u $HOME/z /etc/passwd"
    assert mentioned_roots(text) == {"/models", "/opt/t"}


def test_dockerignore(tmp_path: Path) -> None:
    (tmp_path / ".dockerignore").write_text("# c\n*.log\n**/*.o\nbuild/\n!build/keep\nsub/*.txt\n")
    rules = ignore_rules(tmp_path)
    ignored = {
        n
        for n in ("a.log", "d/a.log", "d/e/f.o", "build/x", "build/keep", "sub/a.txt", "sub/d/a.txt")
        if is_ignored(n, rules)
    }
    assert ignored == {"a.log", "d/e/f.o", "build/x", "sub/a.txt"}
