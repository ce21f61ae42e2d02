"""Take in runs that loopscope did not do itself: agents' logs become run directories of a study."""

from loopscope.imports.intake import Options, Report, Taken, import_logs
from loopscope.imports.sources import Unread

__all__ = ["Options", "Report", "Taken", "Unread", "import_logs"]
