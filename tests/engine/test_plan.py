"""What is refused before anything runs, and how it is said."""

from __future__ import annotations

import os

import pytest
from toy_study import write_task

from loopscope.engine.plan import plan_study
from loopscope.records import StudyError, locate

GOOD = "name: s\ntasks: [addition_chains]\nagents: [nop]\nseeds: 2\n"


def plan(tmp_path, text, directory="out"):
    file = tmp_path / "study.yaml"
    file.write_text(text)
    return plan_study(file, tmp_path / directory)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a study is a mapping with name, tasks, agents and seeds; this is empty"),
        ("- a", "this is a list"),
        ("name: [", "line 1, column 8: not valid YAML"),
        (GOOD.replace("seeds: 2", "seeds: 0"), "seeds: a number of seeds lies between 1 and 10000"),
        (GOOD.replace("seeds: 2\n", ""), "seeds: Field required (add it)"),
        (GOOD.replace("seeds: 2", f"seeds: [1, {10**70}]"), "a seed has at most 64 bits"),
        (GOOD + "schedule: {cpus: .inf}\n", "schedule.cpus: Input should be less than or equal to 1000000000"),
        (GOOD + "schedule: {disk_gb: 1.0e300}\n", "schedule.disk_gb: Input should be less than or equal to"),
        (
            GOOD + "schedule: {disk_reserve_gb: .inf}\n",
            "schedule.disk_reserve_gb: Input should be less than or equal to",
        ),
        (GOOD + "budget: {agent_sec: .inf}\n", "budget.agent_sec: Input should be less than or equal to"),
        (GOOD + "environment: {type: local, cpus: .inf}\n", "environment.cpus: Input should be less than or equal to"),
        (GOOD + "scoring: {timeout_multiplier: .inf}\n", "timeout_multiplier: Input should be less than or equal to"),
        (GOOD + "taks: [a]\n", "taks: Extra inputs are not permitted (unknown field; did you mean `tasks`?)"),
        (GOOD + "concurrency: no\n", "concurrency:"),
        (GOOD + "budget: {agent_sec: -1}\n", "budget.agent_sec: Input should be greater than 0"),
        (GOOD.replace("[nop]", "[nop, {name: nop}]"), "agents: two agents share the label ['nop']"),
        (GOOD.replace("[nop]", "[serch]"), "agents.0.name: unknown agent 'serch'; did you mean search"),
        (
            GOOD.replace("[nop]", "[claude-code]"),
            "agents.0.name: claude-code drives a model; add `model: provider/name`",
        ),
        (GOOD.replace("[nop]", "[{name: nop, label: '../x'}]"), "label '../x'"),
        (GOOD.replace("[nop]", "[{name: nomod:Cls, label: n}]"), "agents.0.name: Failed to import module 'nomod'"),
        (GOOD.replace("[nop]", "[{name: 'json:JSONDecoder', label: n}]"), "json:JSONDecoder is no Harbor agent"),
        (
            GOOD.replace("[nop]", "[{name: search, kwargs: {rounds: 0}}]"),
            "agents.0.kwargs.rounds: Input should be greater",
        ),
        (GOOD.replace("[nop]", "[{name: search, kwargs: {round: 3}}]"), "agents.0.kwargs.round: Extra inputs are not"),
        (GOOD.replace("[nop]", "[{name: search, kwargs: {round: 3}}]"), "did you mean `rounds`?"),
        (GOOD.replace("[nop]", "[{name: search, kwargs: {seed: 3}}]"), "agents.0.kwargs.seed: search gets it from"),
        (GOOD.replace("[nop]", "[{name: oracle, kwargs: {task_dir: /x}}]"), "agents.0.kwargs.task_dir: oracle gets it"),
        (GOOD.replace("[nop]", "[{name: nop, kwargs: {x: 1}}]"), "agents.0.kwargs.x: nop takes no kwargs"),
        (
            GOOD.replace("[nop]", "[{name: nop, env: {A: '${NOT_SET_HERE}'}}]"),
            "agents.0.env.A: the variable NOT_SET_HERE",
        ),
        (
            GOOD.replace("[nop]", "[{name: nop, env: {A: 'x ${HOME}'}}]"),
            "agents.0.env: A: a reference is the whole value",
        ),
        (GOOD.replace("[nop]", "[{name: nop, env: {A: $HOME}}]"), "agents.0.env: A: a reference is the whole value"),
        (GOOD + "environment: dokcer\n", "environment.type: unknown environment 'dokcer'; did you mean docker"),
        (GOOD + "environment: 'nomod:Cls'\n", "environment.type: Failed to import module 'nomod'"),
        (
            GOOD + "environment: 'json:JSONDecoder'\n",
            "environment.type: Imported environment 'json:JSONDecoder' must subclass",
        ),
        (
            GOOD + "environment: {type: docker, kwargs: {nonsense: 1}}\n",
            "environment.kwargs: Invalid kwargs for environment",
        ),
        (GOOD + "environment: {memory_mb: 1}\n", "environment.memory_mb: 1 MiB are too little"),
        (GOOD + "environment: {kwargs: {shm_mb: -1}}\n", "environment.kwargs: shm_mb: -1 does not fit"),
        (GOOD + "environment: {kwargs: {pids_limit: 99999999999}}\n", "environment.kwargs: pids_limit: 99999999999 is"),
        (
            GOOD + "environment: {kwargs: {export_on_stop: {path: /app, file: /x, max_bytes: 1}}}\n",
            "environment.kwargs: export_on_stop: loopscope sets it for each rollout itself; remove it",
        ),
        (
            GOOD
            + "environment: {type: 'loopscope.sandbox.environment:LocalEnvironment', kwargs: {export_on_stop: {}}}\n",
            "environment.kwargs: export_on_stop: loopscope sets it",
        ),
        (GOOD + "environment: {kwargs: {storage: 0}}\n", "environment.kwargs: storage: 0 does not fit"),
        (GOOD.replace("addition_chains", "adition_chains"), "did you mean addition_chains"),
        (GOOD.replace("addition_chains", "./nowhere"), "no built-in task and no directory"),
    ],
)
def test_a_bad_study_is_refused_with_file_field_and_remedy(tmp_path, text, message):
    with pytest.raises(StudyError) as caught:
        plan(tmp_path, text)
    assert message in str(caught.value)
    assert "study.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)

    assert not (tmp_path / "out").exists(), "nothing was written"


@pytest.mark.parametrize("key", ["OPENAI_API_KEY", "HF_TOKEN", "secret", "DB_PASSWORD", "X_AUTH", "AWS_CREDENTIALS"])
def test_a_written_out_secret_is_refused_and_not_repeated(tmp_path, key):
    with pytest.raises(StudyError, match=rf"agents\.0\.env: {key}: a secret is never written out") as caught:
        plan(tmp_path, GOOD.replace("[nop]", f"[{{name: nop, env: {{{key}: sk-12345}}}}]"))
    assert "sk-12345" not in str(caught.value)


def test_names_that_only_resemble_a_secret_may_be_literal(tmp_path, monkeypatch):
    monkeypatch.setenv("MINE", "sk-12345")
    env = "{MAX_TOKENS: '100', GIT_AUTHOR_NAME: a, API_KEY: '${MINE}', EMPTY_KEY: ''}"
    made = plan(tmp_path, GOOD.replace("[nop]", f"[{{name: nop, env: {env}}}]"))
    assert made.runs[0].agent.references == {"API_KEY": "MINE"}
    assert "sk-12345" not in (tmp_path / "out/study.lock.json").read_text()


def test_the_lock_directory_is_asked_for_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("LOOPSCOPE_LOCK_DIR", str(tmp_path / "nowhere"))
    with pytest.raises(StudyError, match="set LOOPSCOPE_LOCK_DIR to a directory"):
        plan(tmp_path, GOOD)


def test_two_tasks_of_one_name_are_refused_before_either_is_prepared(tmp_path):
    write_task(tmp_path / "a/toy")
    write_task(tmp_path / "b/toy")
    with pytest.raises(StudyError, match=r"tasks\.1: \./b/toy and \./a/toy are both called 'toy'"):
        plan(tmp_path, GOOD.replace("addition_chains", "./a/toy, ./b/toy"))
    assert not (tmp_path / "out").exists()


def test_two_runs_of_one_name_are_refused(tmp_path):
    write_task(tmp_path / "t")
    write_task(tmp_path / "t__u")
    text = GOOD.replace("addition_chains", "./t, ./t__u")
    both = text.replace("[nop]", "[{name: nop, label: u__v}, {name: nop, label: v}]")
    with pytest.raises(StudyError, match=r"the runs of 'v' on 't__u' and of 'u__v' on 't' would have the same name"):
        plan(tmp_path, both)
    assert plan(tmp_path, text.replace("[nop]", "[{name: nop, label: v}]")).runs[1].run_id == "t__u__v__s1"


def test_a_task_without_a_verifier_is_refused(tmp_path):
    task = tmp_path / "bare"
    (task / "environment").mkdir(parents=True)
    (task / "environment/Dockerfile").write_text("FROM python:3.12\nWORKDIR /app\n")
    (task / "instruction.md").write_text("do it")
    (task / "task.toml").write_text("version = '1.0'\n[agent]\ntimeout_sec = 5.0\n[verifier]\ntimeout_sec = 5.0\n")
    with pytest.raises(StudyError, match="verifier"):
        plan(tmp_path, GOOD.replace("addition_chains", "./bare"))


@pytest.mark.parametrize("line", ["storage_mb = 0", "memory_mb = 1", "cpus = 0"])
def test_a_task_that_asks_for_nothing_to_live_on_is_refused(tmp_path, line):
    task = write_task(tmp_path / "toy")
    toml = tmp_path / "toy/task.toml"
    toml.write_text(f"{toml.read_text()}{line}\n")
    with pytest.raises(StudyError, match=rf"task\.toml: environment\.{line.split()[0]}: .*remove it"):
        plan(tmp_path, GOOD.replace("addition_chains", "./toy"))
    assert not (tmp_path / "out").exists(), task


def test_rollouts_go_seed_by_seed_so_that_an_early_stop_leaves_a_balanced_study(tmp_path):
    made = plan(tmp_path, GOOD.replace("[nop]", "[nop, oracle]"))
    assert [(r.seed, r.agent.label) for r in made.runs] == [(1, "nop"), (1, "oracle"), (2, "nop"), (2, "oracle")]
    assert made.runs[0].run_id == "addition_chains__nop__s1"


def test_where_a_study_lives(tmp_path):
    (tmp_path / "study.yaml").write_text(GOOD)
    (tmp_path / "other.yaml").write_text(GOOD)
    assert locate(tmp_path) == (tmp_path / "study.yaml", tmp_path)
    assert locate(tmp_path / "study.yaml") == (tmp_path / "study.yaml", tmp_path)
    assert locate(tmp_path / "other.yaml") == (tmp_path / "other.yaml", tmp_path / "other")
    assert locate(tmp_path / "other.yaml", tmp_path / "x")[1] == tmp_path / "x"
    (tmp_path / "bare").write_text(GOOD)
    (tmp_path / "bare.yaml").write_text(GOOD)
    for clash in (tmp_path / "bare", tmp_path / "bare.yaml"):
        with pytest.raises(StudyError, match="bare: results would go here, but it is a file"):
            locate(clash)
    assert locate(tmp_path / "bare", tmp_path / "x") == (tmp_path / "bare", tmp_path / "x")
    with pytest.raises(StudyError, match=r"holds no study\.yaml"):
        (tmp_path / "empty").mkdir()
        locate(tmp_path / "empty")
    with pytest.raises(StudyError, match=r"is no UTF-8, .*; rename it, or use --out"):
        locate(tmp_path / "study.yaml", tmp_path / os.fsdecode(b"\xff"))


def test_a_pipe_in_the_place_of_a_tasks_record_is_not_waited_for(tmp_path):
    plan(tmp_path, GOOD)
    record = tmp_path / "out/tasks/addition_chains.json"
    record.unlink()
    os.mkfifo(record)
    with pytest.raises(StudyError, match="is no plain file"):
        plan(tmp_path, GOOD)
