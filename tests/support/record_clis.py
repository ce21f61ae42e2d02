"""The four agent CLIs as they are recorded: set-up, command lines, script, and which files are their log."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from model_script import EditFile, Script, Shell, Step, Tool, WriteFile

FILE = "/app/solution.py"
FIRST = "Improve solution.py in two rounds. Commit each."
AGAIN = "Make one more round."
MODULES = Path("/opt/clis/node_modules")
SUBTASK = "SUBTASK: count the files"
NODE_ENVIRONMENT = {"NO_COLOR": "1", "npm_config_fetch_retries": "0"}


def commit(number: int, claimed: int = 0) -> Step:
    message = f"round {number}: change=x{number} hypothesis=y{number}"
    command = f"echo '# r{number}' >> {FILE} && git add -A && git commit -m '{message}'"
    return Step(f"Committing round {number}.", Shell(command), claimed)


def script(delegate: list[Step], path: str = FILE, *more: Step) -> Script:
    """Two rounds with a failing command, an edit, a subagent and a compaction; a resume adds a third."""
    steps = [
        Step("Writing the file.", WriteFile(path, "VALUE = 1\nprint(VALUE)\n")),
        commit(1),
        Step("Running a failing command.", Shell("echo out; echo err >&2; exit 3")),
        Step("Editing.", EditFile(path, "VALUE = 1", "VALUE = 2")),
        *more,
        *delegate,
        commit(2, claimed=250_000),
        Step("Looking at the history.", Shell("git log --oneline")),
        Step("Two rounds are committed."),
        commit(3),
        Step("Three rounds are committed."),
    ]
    aside = [Step("Looking.", Shell("ls | wc -l; exit 4")), Step("There are 2 files.")]
    return Script(steps, {SUBTASK: aside})


class Cli(Protocol):
    def script(self) -> Script: ...
    def prepare(self, home: Path, base: str) -> None: ...
    def environment(self, base: str) -> dict[str, str]: ...
    def commands(self, home: Path) -> Iterator[list[str]]:
        """Lazily: a resume names the session that the first command made."""
        ...

    def collect(self, home: Path, streams: Path, out: Path) -> None: ...


class Claude:
    binary = str(MODULES / "@anthropic-ai/claude-code-linux-x64/claude")

    def script(self) -> Script:
        arguments = {"description": "count files", "prompt": SUBTASK, "subagent_type": "general-purpose"}
        background = Step("In the background.", Shell("echo late; exit 5", background=True))
        return script([Step("Delegating.", Tool("Agent", arguments))], FILE, background)

    def prepare(self, home: Path, base: str) -> None:
        (home / "claude").mkdir()

    def environment(self, base: str) -> dict[str, str]:
        return {
            "CLAUDE_CONFIG_DIR": "/home/agent/claude",
            "IS_SANDBOX": "1",
            "ANTHROPIC_BASE_URL": base,
            "ANTHROPIC_API_KEY": "sk-test",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def commands(self, home: Path) -> Iterator[list[str]]:
        tail = ["--model", "claude-sonnet-4-5", "--output-format", "stream-json", "--verbose"]
        tail += ["--dangerously-skip-permissions"]
        yield [self.binary, "-p", FIRST, *tail]
        session = next((home / "claude/projects").glob("*/*.jsonl")).stem
        yield [self.binary, "-p", AGAIN, "--resume", session, *tail]

    def collect(self, home: Path, streams: Path, out: Path) -> None:
        shutil.copytree(home / "claude/projects", out / "projects")
        for path in streams.glob("stream-*.jsonl"):
            shutil.copy(path, out / path.name)


class Codex:
    binary = str(MODULES / "@openai/codex/vendor/x86_64-unknown-linux-musl/bin/codex")

    def script(self) -> Script:
        found = Tool("tool_search", {"query": "spawn sub-agent", "limit": 8})
        fresh = Tool("spawn_agent", {"message": SUBTASK}, namespace="multi_agent_v1")
        forked = Tool("spawn_agent", {"message": SUBTASK, "fork_context": True}, namespace="multi_agent_v1")
        steps = [Step("Looking for tools.", found), Step("Delegating.", fresh), Step("Delegating again.", forked)]
        return script(steps, "solution.py")

    def prepare(self, home: Path, base: str) -> None:
        (home / "codex").mkdir()
        (home / "codex/config.toml").write_text(
            'model = "gpt-5.3-codex"\nmodel_provider = "scripted"\ncheck_for_update_on_startup = false\n'
            "model_context_window = 200000\nmodel_auto_compact_token_limit = 150000\n"
            f'[model_providers.scripted]\nname = "scripted"\nbase_url = "{base}/v1"\nenv_key = "SCRIPTED_KEY"\n'
            'wire_api = "responses"\n[analytics]\nenabled = false\n[features]\nplugins = false\n'
        )

    def environment(self, base: str) -> dict[str, str]:
        return {"CODEX_HOME": "/home/agent/codex", "SCRIPTED_KEY": "sk-test"}

    def commands(self, home: Path) -> Iterator[list[str]]:
        tail = ["--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        yield [self.binary, "exec", *tail, FIRST]
        first = min((home / "codex/sessions").rglob("rollout-*.jsonl"))
        yield [self.binary, "exec", "resume", first.stem[-36:], *tail, AGAIN]

    def collect(self, home: Path, streams: Path, out: Path) -> None:
        shutil.copytree(home / "codex/sessions", out / "sessions")


class OpenCode:
    binary = str(MODULES / "opencode-linux-x64/bin/opencode")

    def script(self) -> Script:
        arguments = {"description": "count files", "prompt": SUBTASK, "subagent_type": "general"}
        return script([Step("Delegating.", Tool("task", arguments))])

    def prepare(self, home: Path, base: str) -> None:
        limit = {"context": 200_000, "output": 8_000}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{base}/v1", "apiKey": "sk-test"},
            "models": {"scripted-model": {"name": "scripted", "limit": limit}},
        }
        document = {
            "provider": {"scripted": provider},
            "model": "scripted/scripted-model",
            "small_model": "scripted/scripted-model",
            "permission": "allow",
        }
        (home / "opencode.json").write_text(json.dumps(document))

    def environment(self, base: str) -> dict[str, str]:
        off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE")
        return {
            "OPENCODE_CONFIG": "/home/agent/opencode.json",
            **{f"OPENCODE_DISABLE_{name}": "1" for name in off},
            **NODE_ENVIRONMENT,
        }

    def commands(self, home: Path) -> Iterator[list[str]]:
        yield [self.binary, "run", "--format", "json", "--auto", FIRST]
        session = self._session(home)
        yield [self.binary, "run", "--format", "json", "--auto", "-s", session, AGAIN]
        yield [self.binary, "export", session]

    def _session(self, home: Path) -> str:
        import sqlite3

        database = next((home / ".local/share/opencode").glob("*.db"))
        with sqlite3.connect(database) as connection:
            found = connection.execute("select id from session where parent_id is null").fetchone()
        return str(found[0])

    def collect(self, home: Path, streams: Path, out: Path) -> None:
        for path in (home / ".local/share/opencode").glob("*.db*"):
            shutil.copy(path, out / path.name)
        shutil.copy(streams / "stream-2.jsonl", out / "export.json")


class Kimi:
    def script(self) -> Script:
        arguments = {"description": "count files", "prompt": SUBTASK, "subagent_type": "coder"}
        return script([Step("Delegating.", Tool("Agent", arguments))])

    def prepare(self, home: Path, base: str) -> None:
        (home / "kimi").mkdir()

    def environment(self, base: str) -> dict[str, str]:
        return {
            "KIMI_CODE_HOME": "/home/agent/kimi",
            "KIMI_MODEL_NAME": "scripted-model",
            "KIMI_MODEL_PROVIDER_TYPE": "openai",
            "KIMI_MODEL_BASE_URL": f"{base}/v1",
            "KIMI_MODEL_API_KEY": "sk-test",
            "KIMI_MODEL_MAX_CONTEXT_SIZE": "200000",
            "KIMI_DISABLE_TELEMETRY": "true",
            "KIMI_CODE_NO_AUTO_UPDATE": "true",
            **NODE_ENVIRONMENT,
        }

    def commands(self, home: Path) -> Iterator[list[str]]:
        command = ["node", str(MODULES / "@moonshot-ai/kimi-code/dist/main.mjs")]
        yield [*command, "--output-format", "stream-json", "-p", FIRST]
        session = next((home / "kimi/sessions").glob("*/*/agents")).parent.name
        yield [*command, "-S", session, "--output-format", "stream-json", "-p", AGAIN]

    def collect(self, home: Path, streams: Path, out: Path) -> None:
        shutil.copytree(home / "kimi/sessions", out / "sessions", ignore=shutil.ignore_patterns("logs"))


CLIS: dict[str, Cli] = {"claude": Claude(), "codex": Codex(), "opencode": OpenCode(), "kimi": Kimi()}
