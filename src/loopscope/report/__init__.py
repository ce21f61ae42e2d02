"""The static site, made from tables and records alone."""

from loopscope.report.errors import ReportError
from loopscope.report.site import build_report

__all__ = ["ReportError", "build_report"]
