"""Records, evidence and measures become tables; the only writer of tables."""
