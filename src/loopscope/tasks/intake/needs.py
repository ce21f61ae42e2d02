"""What a task asks of a machine, read from its files: GPUs, memory, data from the network, services. Nothing is run."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from loopscope.models.task import TaskInfo
from loopscope.tasks.intake.records import Obstacle, ObstacleKind

_INSTALLERS = re.compile(
    r"\b(apt-get|apt|apk|dnf|yum|microdnf|zypper|pip3?|uv|conda|npm|cargo|go|rustup)\b[^&|;]*\b(install|add|mod)\b"
)
_FETCHES = re.compile(
    r"load_dataset\(|snapshot_download\(|hf_hub_download\(|\bhuggingface-cli\s+download|\bhf\s+download|torch\.hub\.load|"
    r"\bdownload\s*=\s*True|nltk\.download|urlretrieve\(|urlopen\(|requests\.get\(|\bgit\s+clone\b|open_clip\.create_model|"
    r"Auto(?:Model|Tokenizer)\w*\.from_pretrained\(|\bgdown\b|\bkaggle\s+datasets"
)
_CURL = re.compile(r"\b(?:curl|wget)\b[^|&;]*https?://[^|&;]*(?![^\n]*\|\s*(?:ba)?sh)")
_SCRIPT = re.compile(r"(?:python[\d.]*|bash|sh)\s+(?:-\w+\s+)*(/?[\w./-]+\.(?:py|sh))")
_COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
_MOST_BYTES = 1 << 20


def static_obstacles(task_dir: Path, info: TaskInfo, memory_mb: int) -> list[Obstacle]:
    """What a machine of so much memory, without GPUs that sandboxes could see and without a network, cannot give."""
    environment = task_dir / "environment"
    found = []
    if info.gpus:
        what = f"asks for {info.gpus} GPU{'s' if info.gpus > 1 else ''}"
        remedy = "use an environment that has them; local sandboxes show none"
        found.append(Obstacle(kind=ObstacleKind.GPU, what=what, where="task.toml", remedy=remedy))
    wanted = _integer(task_dir, "memory_mb")
    if wanted is not None and wanted > memory_mb:
        what = f"asks for {wanted} MiB of memory, there are {memory_mb}"
        remedy = "a larger machine, or `environment.memory_mb` in the study file"
        found.append(Obstacle(kind=ObstacleKind.MEMORY, what=what, where="task.toml", remedy=remedy))
    found += _fetched(environment)
    if compose := next((name for name in _COMPOSE if (environment / name).is_file()), None):
        where, what = f"environment/{compose}", "brings a compose file, which only Docker-like environments follow"
        found.append(Obstacle(kind=ObstacleKind.SERVICES, what=what, where=where, remedy="`environment: docker`"))
    return found


def slower_here(task_dir: Path, cpus: int) -> list[str]:
    """What a run here would differ in from what the author meant."""
    notes = []
    wanted = _integer(task_dir, "cpus")
    if wanted is not None and wanted > cpus:
        notes.append(f"asks for {wanted} processors, there are {cpus}: slower than meant")
    if _table(task_dir).get("allow_internet") is True:
        notes.append("may use the network; local sandboxes have none")
    return notes


def _table(task_dir: Path) -> dict[str, object]:
    try:
        table = tomllib.loads((task_dir / "task.toml").read_text(encoding="utf-8")).get("environment", {})
    except (OSError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}


def _integer(task_dir: Path, key: str) -> int | None:
    value = _table(task_dir).get(key)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _fetched(environment: Path) -> Iterator[Obstacle]:
    """The first line of the Dockerfile, and of each script that it runs, that gets data from the network."""
    text = _text(environment / "Dockerfile")
    if text is None:
        return
    remedy = "`environment: docker` builds its image; or put the data into environment/ and COPY it"
    files = {"environment/Dockerfile": text}
    for name in _SCRIPT.findall(text):
        inner = _text(environment / Path(name).name)
        if inner is not None:
            files[f"environment/{Path(name).name}"] = inner
    for file, content in files.items():
        for number, line in enumerate(content.splitlines(), start=1):
            if line.lstrip().startswith("#") or _INSTALLERS.search(line):
                continue
            if match := _FETCHES.search(line) or (_CURL.search(line) if file.endswith("Dockerfile") else None):
                what = f"is built with data from the network ({match[0].strip()[:40]})"
                yield Obstacle(kind=ObstacleKind.DATA, what=what, where=f"{file}:{number}", remedy=remedy)
                break


def _text(path: Path) -> str | None:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
