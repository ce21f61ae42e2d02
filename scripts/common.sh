# shellcheck shell=bash
# What the set-up scripts share; to be sourced. Progress goes to standard error, results to standard output.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
VENV="$ROOT/.venv"

# An account without a usable home still gets a place for caches.
HOME="${HOME:-$(getent passwd "$(id -u)" 2>/dev/null | cut -d: -f6 || true)}"
if [ -z "$HOME" ] || ! mkdir -p "$HOME" 2>/dev/null || [ ! -w "$HOME" ]; then
    HOME="$ROOT/.cache/home"
    mkdir -p "$HOME"
fi
export HOME
# shellcheck disable=SC2034  # for the scripts that source this
CACHE="${LOOPSCOPE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/loopscope}"

# An activated environment must not be taken for the machine's own Python or uv: it may be about to be rebuilt.
PATH=":$PATH:"
PATH="${PATH//:"$VENV/bin":/:}"
PATH="${PATH#:}"
export PATH="${PATH%:}"
unset VIRTUAL_ENV PYTHONHOME PYTHONPATH

# The oldest Python that pyproject.toml accepts.
MINIMUM_PYTHON=3.12

say() { printf 'set-up: %s\n' "$*" >&2; }
fail() {
    printf 'set-up failed: %s\n' "$*" >&2
    exit 1
}
is_root() { [ "$(id -u)" -eq 0 ]; }
have() { command -v "$1" >/dev/null 2>&1; }

now_ms() { printf '%s' $((${EPOCHREALTIME/[.,]/} / 1000)); }
seconds_since() {
    local ms=$(($(now_ms) - $1))
    printf '%d.%d' $((ms / 1000)) $((ms % 1000 / 100))
}
# done_phase NAME STARTED_MS WHAT
done_phase() { printf 'set-up: %-8s %6s s  %s\n' "$1" "$(seconds_since "$2")" "$3" >&2; }

# apt_install PACKAGE...: as root on Debian; refreshes the package lists only when the first try fails.
apt_install() {
    is_root && have apt-get || return 1
    local -a install=(apt-get -qq -y --no-install-recommends -o DPkg::Lock::Timeout=120 install "$@")
    local log
    log="$(mktemp)"
    if DEBIAN_FRONTEND=noninteractive "${install[@]}" </dev/null >"$log" 2>&1 ||
        { apt-get -qq update >>"$log" 2>&1 </dev/null &&
            DEBIAN_FRONTEND=noninteractive "${install[@]}" </dev/null >>"$log" 2>&1; }; then
        rm -f "$log"
    else
        say "apt-get could not install $*:"
        grep -E '^(E|W): ' "$log" | tail -n 3 >&2 || tail -n 3 "$log" >&2
        rm -f "$log"
        return 1
    fi
}

PYTHON_PROBE='
import sys
wanted = tuple(int(part) for part in sys.argv[1].split("."))
v = sys.version_info
if v < wanted or v.releaselevel != "final" or sys.implementation.name != "cpython":
    sys.exit(1)
import ctypes, sqlite3, ssl, sysconfig, venv, zlib
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    sys.exit(1)  # few packages have wheels for the free-threaded build
print(getattr(sys, "_base_executable", None) or sys.executable)
'
# runs_as_python PROGRAM: prints the interpreter's own path when it starts, is new enough and is complete.
# A pyenv shim exists and yet fails when its version is not selected, so only running it tells.
runs_as_python() {
    { timeout 30 "$1" -I -c "$PYTHON_PROBE" "$MINIMUM_PYTHON" </dev/null; } 2>/dev/null
}

# give_uv_the_index_of_pip PYTHON: whoever set up pip for a mirror need not set up uv as well.
give_uv_the_index_of_pip() {
    eval "$("$1" -I "$ROOT/scripts/pip_settings.py")"
    # A company's own certificates count for uv too, as they do for apt and git.
    [ -n "${SSL_CERT_FILE:-}" ] || export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-true}"
}
