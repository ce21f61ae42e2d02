"""Text of agents and verifiers, made safe to look at.

Escaping for HTML is jinja2's business; here control characters, terminal escapes and direction marks become visible,
sizes are cut with the cut marked, and names become file names.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from urllib.parse import quote

import orjson
from markupsafe import Markup, escape

_SAFE_NAME = re.compile(r"[A-Za-z0-9_@+-][A-Za-z0-9._@+-]{0,199}")
_NAME_ROOM = 120
_C0 = (
    *("NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "TAB", "LF", "VT", "FF", "CR", "SO", "SI"),
    *("DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US"),
)
_SUSPECT = re.compile(r"[^\n\t\x20-\x7e]")


def _picture(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    if code < 0x20:
        return f"\u27e8{_C0[code]}\u27e9"
    if code == 0x7F:
        return "\u27e8DEL\u27e9"
    category = unicodedata.category(char)
    if category in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") or 0xE0000 <= code <= 0xE0FFF:
        return f"\u27e8U+{code:04X}\u27e9"
    return char


def visible(text: str) -> str:
    """`text` with everything that could act on a reader's screen replaced by a visible sign.

    Control characters become their name in angle brackets (most fonts lack the control pictures), format characters
    (direction marks, zero-width joiners, surrogates, private use) their code point. Line feeds and tabs stay; CR LF
    becomes LF.
    """
    return _SUSPECT.sub(_picture, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 160) -> str:
    """The first line of `text`, visible, at most `limit` characters, a cut marked by an ellipsis."""
    line = visible(text[: 4 * limit].strip().split("\n", 1)[0]).replace("\t", " ")
    whole = len(text.strip().split("\n", 1)[0]) <= 4 * limit and len(line) <= limit
    return line if whole else line[: limit - 1] + "…"


def breakable(text: str) -> Markup:
    """A name for HTML, escaped, that breaks after `_`, `-` and `/` before it breaks within a word."""
    return Markup("<wbr>").join(escape(part) for part in re.split(r"(?<=[_/-])(?=[^_/-])", text))


def cut(text: str, limit: int, *, keep: str = "head") -> str:
    """`text` made visible, at most about `limit` characters of it, with a line that says how much was left out.

    Args:
        text: anything, of any size.
        limit: characters kept.
        keep: `head` or `tail`, the end that is shown.
    """
    left = len(text) - limit
    if left <= 0:
        return visible(text)
    if keep == "tail":
        return f"[… {left:,} characters cut here …]\n{visible(text[left:])}"
    return f"{visible(text[:limit])}\n[… {left:,} more characters cut here …]"


def script_json(value: object) -> str:
    """`value` as JSON that can stand in an HTML script block: it cannot close the block or open a comment."""
    text = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def file_name(name: str) -> str:
    """A file name for `name`: itself when it is harmless, else a cleaned form with a hash so that no two collide."""
    if _SAFE_NAME.fullmatch(name) and len(name) <= _NAME_ROOM:
        return name
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:12]
    cleaned = re.sub(r"[^A-Za-z0-9_@+-]+", "-", name)[:_NAME_ROOM].strip("-")
    return f"{cleaned or 'run'}-{digest}"


def url(path: str) -> str:
    """A relative path as it stands in a link."""
    return quote(path, safe="/@+~", errors="replace")
