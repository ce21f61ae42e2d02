"""The static site, made from tables and records alone."""
