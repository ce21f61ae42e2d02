"""Print shell lines that give uv the package index that pip is set up with.

uv does not read pip's settings, so a machine behind a mirror would have to be configured twice. What is already set for
uv wins. pip's precedence is kept: environment over PIP_CONFIG_FILE over the user's file over the machine's, and
``[install]`` over ``[global]`` within a file. Nothing beyond the standard library is imported.
"""

import configparser
import os
import shlex
from pathlib import Path

UV_INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_CONFIG_FILE")
MEANT = ("index-url", "extra-index-url", "find-links", "trusted-host", "cert", "timeout")


def config_files() -> list[Path]:
    """Return pip's configuration files, the least specific first."""
    machine = [Path(d) / "pip/pip.conf" for d in os.environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":") if d]
    user = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "pip/pip.conf"
    files = [*machine, Path("/etc/pip.conf"), Path.home() / ".pip/pip.conf", user]
    named = os.environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return []
    return [*files, Path(named)] if named else files


def pip_settings() -> dict[str, str]:
    """Return pip's settings of the names in MEANT; a list is one text with blanks between its items."""
    found: dict[str, str] = {}
    for path in config_files():
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (OSError, UnicodeDecodeError, configparser.Error):
            continue  # pip itself complains about a broken file; set-up need not
        for section in ("global", "install"):
            for name, value in parser.items(section) if parser.has_section(section) else ():
                found[name.replace("_", "-")] = " ".join(value.split())
    for name in (*MEANT, "default-timeout"):
        value = os.environ.get("PIP_" + name.upper().replace("-", "_"), "")
        if value:
            found[name] = " ".join(value.split())
    found.setdefault("timeout", found.get("default-timeout", ""))
    return {name: found[name] for name in MEANT if found.get(name)}


def uv_is_configured() -> bool:
    """Tell whether the user gave uv an index of its own."""
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    files = (Path(config) / "uv/uv.toml", Path("/etc/uv/uv.toml"))
    return any(os.environ.get(name) for name in UV_INDEX_VARIABLES) or any(path.is_file() for path in files)


def uv_environment(pip: dict[str, str]) -> dict[str, str]:
    """Return the environment variables of uv that say what pip's settings say."""
    uv: dict[str, str] = {}
    if not uv_is_configured():
        if "index-url" in pip:
            uv["UV_DEFAULT_INDEX"] = pip["index-url"]
        if "extra-index-url" in pip:
            uv["UV_INDEX"] = pip["extra-index-url"]
            uv["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # pip's own rule: the best version of all the indexes
        # uv, unlike pip, stops at a folder that is not there.
        links = [x for x in pip.get("find-links", "").split() if "://" in x or Path(x).expanduser().exists()]
        if links:
            uv["UV_FIND_LINKS"] = ",".join(links)
        if "trusted-host" in pip:
            uv["UV_INSECURE_HOST"] = pip["trusted-host"]
    if "cert" in pip:
        uv["SSL_CERT_FILE"] = pip["cert"]
    if "timeout" in pip:
        uv["UV_HTTP_TIMEOUT"] = pip["timeout"]
    return {name: value for name, value in uv.items() if not os.environ.get(name)}


if __name__ == "__main__":
    for name, value in uv_environment(pip_settings()).items():
        print(f"export {name}={shlex.quote(value)}")
