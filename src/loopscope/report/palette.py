"""The few colours of every figure, told apart by anyone (after Okabe and Ito), each with one meaning.

Figures are drawn in the light values. In a page, the style sheet maps each value to a variable (`assets/app.css`,
section Charts), so that figures follow light and dark without being drawn again; no two meanings may share a value.
"""

from __future__ import annotations

from typing import Final

INK: Final = "#1b1f27"
MUTED: Final = "#5b6472"
GRID: Final = "#e2e6ec"
SURFACE: Final = "#fefefe"
SOLID: Final = "#1d5fa6"
"""Averages and scores."""
LIGHT: Final = "#a8c8ea"
"""Best of k."""
TRACK: Final = "#eef1f5"
"""The whole range 0..1 behind a bar."""
WATER: Final = "#8793a5"
"""High-water mark."""
DIP: Final = "#c2501a"
RECOVERY: Final = "#0a7d62"
FINAL: Final = "#6b3fa3"

FONT: Final = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, sans-serif"
