"""Whether a task can be trusted: trials of it outside a study, calibration, and the audit."""
