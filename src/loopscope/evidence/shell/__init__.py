"""What shell commands did: parsed with tree-sitter-bash, read as commits, builds and evaluations."""
