"""The derived Dockerfile: git where the image would lack it, by the image's own package manager."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
from make_task import make_task

from loopscope.models.task import GIT_LAYER
from loopscope.records import publish
from loopscope.sandbox.dockerfile import read_dockerfile
from loopscope.tasks import TaskError, TaskSource, builtin_names, prepare_task, prepared_dir, resolve
from loopscope.tasks.with_git import with_git

prepare = functools.partial(prepare_task, publish=publish)
APT = "RUN : loopscope brings git && apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("FROM ubuntu:22.04\n", APT),
        ("FROM python:3.12-slim\nWORKDIR /app", APT),
        ("FROM docker.io/library/debian\n", APT),
        ("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n", APT),
        ("FROM mine:1\nRUN apt-get update && apt-get install -y gcc\n", APT),
        ("FROM mine:1\nRUN apt install -y gcc\n", APT),
        ("FROM alpine:3.20\n", f"RUN {GIT_LAYER} && apk add --no-cache git"),
        ("FROM golang:1.22-alpine\n", f"RUN {GIT_LAYER} && apk add --no-cache git"),
        ("FROM mine:1\nRUN apk add gcc\n", f"RUN {GIT_LAYER} && apk add --no-cache git"),
        ("FROM fedora:40\n", f"RUN {GIT_LAYER} && dnf install -y git && dnf clean all"),
        ("FROM rockylinux:9\nRUN dnf install -y gcc\n", f"RUN {GIT_LAYER} && dnf install -y git && dnf clean all"),
        (
            "FROM registry.access.redhat.com/ubi9-minimal\n",
            f"RUN {GIT_LAYER} && microdnf install -y git && microdnf clean all",
        ),
        ("FROM centos:7\nRUN yum install -y gcc\n", f"RUN {GIT_LAYER} && yum install -y git && yum clean all"),
        ("FROM opensuse/leap\n", f"RUN {GIT_LAYER} && zypper --non-interactive install git && zypper clean --all"),
        ("FROM alpine AS a\nRUN apk add gcc\nFROM debian\nCOPY --from=a /x /x\n", APT),
        ("FROM debian AS a\nRUN apt-get install -y gcc\nFROM a\n", APT),
        ("FROM debian\nRUN apt-get install -y libgit2-dev git-lfs\n", APT),
    ],
)
def test_git_is_installed_the_way_of_the_image(text: str, line: str) -> None:
    derived = with_git(text)
    assert derived is not None
    assert derived[0].startswith(text.rstrip("\n"))
    assert derived[0].splitlines()[-1] == line


@pytest.mark.parametrize(
    "text",
    [
        "FROM python:3.12-bookworm\n",
        "FROM python:3.12\n",
        "FROM rust:1.82\n",
        "FROM golang:1.22-bookworm\n",
        "FROM node:22\n",
        "FROM ubuntu\nRUN apt-get update && apt-get install -y \\\n    gcc \\\n    # tools\n    git \\\n && true\n",
        "FROM alpine\nRUN apk add --no-cache git gcc\n",
        "FROM debian AS base\nRUN apt-get install -y git\nFROM base\nWORKDIR /app\n",
        "FROM ubuntu\nRUN python3 <<'EOF'\nfrom a import b\nEOF\nRUN apt-get install -y git\n",
        "FROM scratch\nCOPY x /x\n",
        "FROM gcr.io/distroless/python3\n",
    ],
)
def test_nothing_is_added_where_git_is_there_or_cannot_be_brought(text: str) -> None:
    assert with_git(text) is None


def test_an_unknown_image_is_asked_for_its_package_manager_when_it_is_built() -> None:
    derived = with_git("FROM busybox\n")
    assert derived is not None
    line = derived[0].splitlines()[-1]
    assert line.startswith(f"RUN {GIT_LAYER} && {{ command -v git >/dev/null || {{ command -v apt-get >/dev/null && ")
    assert all(manager in line for manager in ("apk", "dnf", "microdnf", "yum", "zypper"))


def test_the_image_s_own_user_is_given_back() -> None:
    derived = with_git("FROM debian\nUSER ${WHO}:users\n")
    assert derived is not None
    assert derived[0].splitlines()[-3:] == ["USER root", APT, "USER ${WHO}:users"]


@pytest.mark.parametrize(("text", "said"), [("", "no FROM"), ("FROM a\nRUN x \\\n", "ends within an instruction")])
def test_a_broken_file_is_named(text: str, said: str) -> None:
    with pytest.raises(TaskError, match=said):
        with_git(text)


def test_a_prepared_task_has_it_and_its_hashes_follow(tmp_path: Path) -> None:
    source = TaskSource(make_task(tmp_path / "from" / "mine"), "./mine", builtin=False)
    plain = prepare(source, tmp_path / "plain", record_keeping=False)
    kept = prepare(source, tmp_path / "kept")
    original = (source.directory / "environment/Dockerfile").read_text()
    assert (prepared_dir(tmp_path / "plain", "mine") / "environment/Dockerfile").read_text() == original
    assert (prepared_dir(tmp_path / "kept", "mine") / "environment/Dockerfile").read_text().endswith(APT + "\n")
    assert kept.verifier_hash != plain.verifier_hash and kept.content_hash != plain.content_hash
    assert any("git is added (apt-get)" in note for note in kept.notes)
    assert kept.info.workdir == plain.info.workdir == "/srv/work"


@pytest.mark.parametrize("name", builtin_names())
def test_the_suite_s_images_have_git_already(name: str) -> None:
    assert with_git((resolve(name, Path()).directory / "environment/Dockerfile").read_text()) is None


@pytest.mark.parametrize("text", ["FROM debian\nRUN apt-get install -y gcc\n", "FROM busybox\nUSER app\n"])
def test_the_local_sandbox_passes_over_it(tmp_path: Path, text: str) -> None:
    """Where the host has no git, that is said of the study and keeps nothing from running."""
    derived = with_git(text)
    assert derived is not None
    (tmp_path / "Dockerfile").write_text(text)
    own = read_dockerfile(tmp_path / "Dockerfile", {})
    (tmp_path / "Dockerfile").write_text(derived[0])
    plan = read_dockerfile(tmp_path / "Dockerfile", {})
    assert (plan.steps, plan.user, plan.requirements) == (own.steps, own.user, own.requirements)
    assert "git" not in plan.requirements.tools
