"""One canonical transcript and a reader per source format."""
