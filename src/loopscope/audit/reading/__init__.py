"""Reads what a verifier does: where its data comes from and goes to, as far as its text tells."""
