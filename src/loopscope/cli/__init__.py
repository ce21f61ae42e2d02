"""Thin verbs over the calls a notebook would make."""
