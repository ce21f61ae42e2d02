"""The local Harbor environment: one bubblewrap sandbox per trial."""
