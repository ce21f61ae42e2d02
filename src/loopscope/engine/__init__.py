"""Plan, rollout, harvest, verification, resume."""
