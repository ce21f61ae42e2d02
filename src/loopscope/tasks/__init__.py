"""Harbor-format tasks: load, prepare; the built-in suite."""
