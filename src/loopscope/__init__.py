"""See inside the research loop of coding agents."""
