"""The durable store of a study: run directories, scores, repositories."""
