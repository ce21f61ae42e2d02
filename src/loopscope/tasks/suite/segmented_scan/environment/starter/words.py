"""Words and numbers of the kernel language: what a text is cut into, and how numbers of 32 bits are computed. Standard library only."""

import re
from collections import namedtuple

TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+|//[^\n]*|/\*.*?\*/)|(?P<define>#[ \t]*define\b)"
    r"|(?P<number>(?:0[xX][0-9a-fA-F]{1,8}|[0-9]{1,10})[uU]?(?![0-9A-Za-z_.]))|(?P<name>[A-Za-z][A-Za-z0-9_]{0,39}(?![A-Za-z0-9_]))"
    r"|(?P<mark><<=|>>=|\+\+|--|&&|\|\||<<|>>|[-+*/%&|^=!<>]=|/(?!\*)|[-+*%&|^=!<>~?:;,(){}])",
    re.S | re.A,
)
FULL = 0xFFFFFFFF

Token = namedtuple("Token", "kind text line")
Value = namedtuple("Value", "text cost constant")  # C text; how many operations; the number, where it is one


class Refused(Exception):
    """The text is not of this language: where and why."""


def tokens(text):
    """The words of a text, with a mark at the end of each line of a #define."""
    found, at, line, defining = [], 0, 1, False
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise Refused("line %d: not of the kernel language: %r" % (line, text[at : at + 12]))
        kind, word = match.lastgroup, match.group()
        if defining and "\n" in word:
            found.append(Token("end", "end of line", line))
            defining = False
        if kind == "define":
            defining = True
        if kind != "space":
            found.append(Token(kind, word, line))
        line += word.count("\n")
        at = match.end()
    return [*found, Token("end", "end of line", line), Token("end", "end of file", line)]


def compute(operator, a, b):
    """One operation on numbers of 32 bits, as both backends do it."""
    if operator in ("/", "%"):
        return (a // b if operator == "/" else a % b) if b else FULL
    if operator in ("<<", ">>"):
        return (a << (b & 31) if operator == "<<" else a >> (b & 31)) & FULL
    plain = {"||": a or b, "&&": a and b, "==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
    if operator in plain:
        return int(bool(plain[operator]))
    return {"|": a | b, "^": a ^ b, "&": a & b, "+": a + b, "-": a - b, "*": a * b}[operator] & FULL


def written(operator, a, b):
    """The same in C, where division and shifts are never undefined."""
    safe = {"/": "DIVIDE", "%": "MODULO", "<<": "SHIFT_LEFT", ">>": "SHIFT_RIGHT"}.get(operator)
    return "%s(%s, %s)" % (safe, a, b) if safe else "((u32)(%s %s %s))" % (a, operator, b)


def number(text):
    """A literal's value; None for octal ones and those of more than 32 bits."""
    digits = text.rstrip("uU")
    if digits[0] == "0" and digits.isdigit() and digits != "0":
        return None
    value = int(digits, 0)
    return value if value <= FULL else None
