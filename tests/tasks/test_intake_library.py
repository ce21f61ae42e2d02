"""Others' tasks are taken one by one: what is wrong with one is said, and nothing of the others is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from make_task import TOML, make_task

from loopscope.records.durable import publish_new
from loopscope.tasks import TaskError, load_task
from loopscope.tasks.copying import tree_hash
from loopscope.tasks.intake import Naming, Obstacle, ObstacleKind, Source, State, Taken, find_tasks, take
from loopscope.tasks.intake import library as library_module
from loopscope.tasks.intake.needs import slower_here, static_obstacles


def taken(source: Path, library: Path, naming: Naming | None = None) -> dict[str, Taken]:
    found = take(
        Source(source, str(source)),
        library,
        naming or Naming(),
        look=lambda reading: [],
        notes=lambda reading: [],
        publish=publish_new,
    )
    return {task.name: task for task in found}


def test_one_bad_task_never_loses_the_others(tmp_path: Path) -> None:
    source = tmp_path / "from"
    for name in ("good", "broken", "linked", "unnamed", "no verifier", "noinstruction", "notext", "zuletzt"):
        make_task(source / name)
    (source / "broken/task.toml").write_text("[metadata\n")
    (source / "linked/tests/out").symlink_to("/etc/passwd")
    (source / "noinstruction/instruction.md").unlink()
    (source / "notext/task.toml").write_bytes(b"\xff\xfe")
    (source / "unnamed").rename(source / "größe ☃")
    found = taken(source, tmp_path / "lib")
    assert {name for name, task in found.items() if task.state is State.ADDED} == {"good", "zuletzt"}
    said = {name: task.problem or "" for name, task in found.items()}
    assert "broken/task.toml: is not valid TOML" in said["broken"] and "mend that line" in said["broken"]
    assert "is a link out of the task (to /etc/passwd)" in said["linked"]
    assert "cannot name a task" in said["no verifier"] and "cannot name a task" in said["größe ☃"]
    assert "has no instruction.md" in said["noinstruction"] and "cannot be read" in said["notext"]
    assert not any(".tmp-" in text or "\n" in text for text in said.values())
    assert sorted(p.name for p in (tmp_path / "lib").iterdir()) == ["good", "zuletzt"]


def test_an_unusable_name_can_be_mended_and_paths_may_be_anything(tmp_path: Path) -> None:
    make_task(tmp_path / "mein Ordner ☃" / "die Größe")
    library = tmp_path / "Bücher & Co"
    found = taken(tmp_path / "mein Ordner ☃" / "die Größe", library, Naming(alone="size"))
    assert found["size"].state is State.ADDED and found["size"].place == "."
    assert load_task(library / "size").name == "size"


def test_a_task_named_like_another_is_refused_until_it_is_given_a_name(tmp_path: Path) -> None:
    make_task(tmp_path / "a/one")
    make_task(tmp_path / "b/one", TOML.replace("20.0", "21.0"))
    make_task(tmp_path / "b/two")
    library = tmp_path / "lib"
    taken(tmp_path / "a", library)
    before = tree_hash(library / "one")
    found = taken(tmp_path / "b", library)
    assert (found["one"].state, found["two"].state) == (State.REFUSED, State.ADDED)
    assert "another task named one" in (found["one"].problem or "") and "--prefix" in (found["one"].problem or "")
    assert tree_hash(library / "one") == before
    assert taken(tmp_path / "b", library, Naming(prefix="b-"))["b-one"].state is State.ADDED
    again = taken(tmp_path / "a", library)
    assert again["one"].state is State.PRESENT


def test_a_task_named_like_a_built_in_one_is_refused(tmp_path: Path) -> None:
    make_task(tmp_path / "from/discrepancy")
    found = taken(tmp_path / "from", tmp_path / "lib")
    assert "built-in task discrepancy" in (found["discrepancy"].problem or "")
    assert taken(tmp_path / "from", tmp_path / "lib", Naming(prefix="x_"))["x_discrepancy"].state is State.ADDED


@pytest.mark.parametrize("prefix", ["../", "a/", "/tmp/"])
def test_a_prefix_does_not_lead_out_of_the_library(tmp_path: Path, prefix: str) -> None:
    make_task(tmp_path / "from/one")
    found = taken(tmp_path / "from", tmp_path / "lib", Naming(prefix=prefix))
    assert [task.state for task in found.values()] == [State.REFUSED]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["from", "lib"] and not list((tmp_path / "lib").iterdir())


def test_several_tasks_cannot_have_one_name(tmp_path: Path) -> None:
    make_task(tmp_path / "from/one")
    make_task(tmp_path / "from/two")
    with pytest.raises(TaskError, match="holds 2 tasks, and --as names one"):
        taken(tmp_path / "from", tmp_path / "lib", Naming(alone="x"))


def test_tasks_are_found_below_but_not_within_others_or_through_links(tmp_path: Path) -> None:
    make_task(tmp_path / "deep/er/one")
    make_task(tmp_path / "deep/er/one/old/copy")
    make_task(tmp_path / "elsewhere/two")
    (tmp_path / "deep/link").symlink_to(tmp_path / "elsewhere")
    assert find_tasks(tmp_path / "deep") == [tmp_path / "deep/er/one"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(TaskError, match="holds no task"):
        find_tasks(tmp_path / "empty")


def test_a_task_larger_than_any_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_task(tmp_path / "from/one")
    with (tmp_path / "from/one/environment/big").open("wb") as file:
        file.truncate(library_module.MOST_BYTES + 1)
    found = taken(tmp_path / "from", tmp_path / "lib")
    assert "is larger than" in (found["one"].problem or "")


def kinds(found: list[Obstacle]) -> dict[ObstacleKind, str]:
    return {obstacle.kind: obstacle.where for obstacle in found}


def test_what_a_machine_cannot_give_is_named_with_its_place(tmp_path: Path) -> None:
    toml = TOML + "\n[environment]\ngpus = 1\nmemory_mb = 64000\ncpus = 64\nallow_internet = true\n"
    dockerfile = (
        "FROM debian\nRUN pip install torch\nCOPY get.py /tmp/get.py\n# load_dataset(\nRUN python3 /tmp/get.py\n"
    )
    directory = make_task(tmp_path / "mine", toml, dockerfile)
    (directory / "environment/get.py").write_text("from x import y\nds = y.load_dataset('z')\n")
    (directory / "environment/docker-compose.yaml").write_text("services: {}\n")
    found = kinds(static_obstacles(directory, load_task(directory), 16000))
    assert found == {
        ObstacleKind.GPU: "task.toml",
        ObstacleKind.MEMORY: "task.toml",
        ObstacleKind.DATA: "environment/get.py:2",
        ObstacleKind.SERVICES: "environment/docker-compose.yaml",
    }
    assert [note.partition(":")[0] for note in slower_here(directory, 2)] == [
        "asks for 64 processors, there are 2",
        "may use the network; local sandboxes have none",
    ]


@pytest.mark.parametrize(
    ("line", "is_data"),
    [
        ("RUN git clone https://example.org/x /opt/x", True),
        ("RUN curl -o /data/x.bin https://example.org/x.bin", True),
        ("RUN huggingface-cli download a/b", True),
        ("RUN curl -LsSf https://example.org/install.sh | sh", False),
        ("RUN apt-get install -y curl wget git", False),
        ("RUN pip install datasets", False),
        ("RUN go mod download", False),
    ],
)
def test_data_from_the_network_and_installations_are_told_apart(tmp_path: Path, line: str, is_data: bool) -> None:
    directory = make_task(tmp_path / "mine", dockerfile=f"FROM debian\n{line}\n")
    found = kinds(static_obstacles(directory, load_task(directory), 16000))
    assert found == ({ObstacleKind.DATA: "environment/Dockerfile:2"} if is_data else {})


def test_a_record_of_it_is_read_again(tmp_path: Path) -> None:
    make_task(tmp_path / "from/one")
    task = taken(tmp_path / "from", tmp_path / "lib")["one"]
    assert task.runs_here and task.content_hash == tree_hash(tmp_path / "lib/one")
    assert Taken.model_validate_json(json.dumps(task.model_dump(mode="json"))) == task
