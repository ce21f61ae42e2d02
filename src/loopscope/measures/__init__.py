"""Pure functions: numbers in, numbers out. Each formula carries its place in the paper."""
