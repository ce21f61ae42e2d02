"""Which state the artifact of a task was in at every point of a run."""
