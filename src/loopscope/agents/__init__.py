"""Agents that need no model, and the replay of a checkpoint."""
