"""What a run did, read from its records: commits, builds, evaluations, the proposal gate."""
