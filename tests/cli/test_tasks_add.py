"""`loopscope tasks add`: what it takes, prints, writes and refuses."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from loopscope.tasks.intake import Intake, State

sys.path.append(str(Path(__file__).parents[1] / "tasks"))
from make_task import TOML, make_task

TEST_SH = """BASELINE=20.0
REFERENCE=0.5
python3 - "$X" "$BASELINE" "$REFERENCE" <<'PY'
import math, sys
x, baseline, reference = float(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
reward = 0.5 * math.log(baseline / x) / math.log(baseline / reference)
PY
"""


def source(tmp_path: Path) -> Path:
    root = tmp_path / "from"
    make_task(root / "plain", dockerfile="FROM debian\nRUN apt-get install -y gcc\nWORKDIR /app\n")
    (root / "plain/tests/test.sh").write_text(TEST_SH)
    make_task(root / "gpu", TOML + "[environment]\ngpus = 2\n")
    make_task(root / "julia", dockerfile="FROM julia:1.10\nRUN pip install torchvision\n")
    make_task(root / "odd", dockerfile="FROM debian\nCOPY --from=x /a /b\n")
    make_task(root / "bare")
    shutil.rmtree(root / "bare/environment")
    make_task(root / "torn")
    (root / "torn/task.toml").write_text("[agent\n")
    return root


def test_each_task_is_taken_and_classified(cli, tmp_path):
    done = cli("tasks", "add", "mine", str(source(tmp_path)), check=1)
    intake = Intake.model_validate_json((tmp_path / "mine/intake.json").read_bytes())
    assert (intake.collection, intake.commit) == ("mine", None)
    by_name = {task.name: task for task in intake.tasks}
    assert {name for name, task in by_name.items() if task.state is State.ADDED} == set(by_name) - {"torn"}
    assert sorted(p.name for p in (tmp_path / "mine").iterdir()) == sorted([*(set(by_name) - {"torn"}), "intake.json"])
    assert {name for name, task in by_name.items() if task.runs_here} == {"plain"}
    kinds = {name: [obstacle.kind.value for obstacle in task.obstacles] for name, task in by_name.items()}
    assert kinds == {"plain": [], "gpu": ["gpu"], "julia": ["toolchain", "python"], "odd": ["dockerfile"], "bare": ["dockerfile"], "torn": []}  # fmt: skip
    julia, package = by_name["julia"].obstacles
    assert julia.what == "lacks julia" and "apt-get install julia" in julia.remedy and "{julia: PATH}" in julia.remedy
    assert "python_packages: [torchvision]" in package.remedy
    assert "multi-stage builds are not followed" in by_name["odd"].obstacles[0].what
    assert by_name["odd"].obstacles[0].what.startswith("environment/Dockerfile:2")
    assert (
        "log 20.0 to 0.5 = 0.5" in done.output
        and "reference 0.04, verifier REFERENCE 0.5 (tests/test.sh:2)" in done.output
    )
    assert "5 tasks added" in done.output and "1 refused; 1 can run here" in done.output
    assert "torn/task.toml: is not valid TOML" in done.output
    assert "tasks: [mine/bare]" in done.output


def test_with_what_is_mounted_and_installed_more_can_run(cli, tmp_path):
    tool = tmp_path / "jl"
    (tool / "bin").mkdir(parents=True)
    (tool / "bin/julia").write_text("#!/bin/sh\n")
    (tool / "bin/julia").chmod(0o755)
    for place in (tool, tool / "bin"):
        place.chmod(0o755)
    root = source(tmp_path) / "julia"
    args = ("--toolchain", f"julia={tool}", "--python", "numpy", "--python", "torchvision", "--json")
    intake = Intake.model_validate(json.loads(cli("tasks", "add", str(root), "--into", "lib", *args).output))
    assert [(t.name, t.runs_here) for t in intake.tasks] == [("julia", True)]
    assert [(t.name, t.source, t.inside) for t in intake.toolchains] == [
        ("julia", str(tool), "/opt/loopscope/tools/julia")
    ]
    assert intake.collection == "julia"


def test_bad_calls_are_one_line(cli, tmp_path):
    root = source(tmp_path)
    for args, said in (
        (("mine", str(tmp_path / "nowhere")), "there is no such directory"),
        (("mine", str(root), "--as", "x"), "holds 6 tasks"),
        (("mine", str(root), "--toolchain", "go=/nowhere"), "toolchains.go: /nowhere is no directory"),
        (("mine", str(root), "--toolchain", "go"), "write NAME=PATH"),
        (("mine", "ssh://x/y"), "cannot be fetched over ssh"),
    ):
        printed = " ".join(cli("tasks", "add", *args, check=2).output.replace("│", " ").split())
        assert said in printed
    assert not (tmp_path / "mine").exists()


def test_a_git_repository_leaves_its_commit(cli, tmp_path):
    from dulwich.objects import Blob, Commit, Tree
    from dulwich.repo import Repo

    make_task(tmp_path / "from/one")
    (tmp_path / "r.git").mkdir()

    def add(repo, folder):
        tree = Tree()
        for path in sorted(folder.iterdir()):
            made = add(repo, path) if path.is_dir() else Blob.from_string(path.read_bytes())
            repo.object_store.add_object(made)
            tree.add(path.name.encode(), 0o040000 if path.is_dir() else 0o100644, made.id)
        return tree

    with Repo.init_bare(str(tmp_path / "r.git")) as repo:
        tree = add(repo, tmp_path / "from")
        commit = Commit()
        commit.tree, commit.message = tree.id, b"m"
        commit.author = commit.committer = b"a <a@b>"
        commit.author_time = commit.commit_time = commit.author_timezone = commit.commit_timezone = 0
        for made in (tree, commit):
            repo.object_store.add_object(made)
        repo.refs[b"refs/heads/master"] = commit.id
    cli("tasks", "add", "theirs", (tmp_path / "r.git").as_uri())
    intake = Intake.model_validate_json((tmp_path / "theirs/intake.json").read_bytes())
    assert (intake.commit, [t.name for t in intake.tasks]) == (commit.id.decode(), ["one"])
    assert not [p for p in (*tmp_path.iterdir(), *(tmp_path / "theirs").iterdir()) if p.name.startswith(".tmp-")]
