"""What all programs of this benchmark call things, also those that run without our package."""

import os

GROUP = "benchmarks.example.org"
VERSION = "v1"
CHORES = "chores"
NODES = "nodes"
# What a controller writes into a Chore's status, beside the generation that it saw.
PHASE = "Done"
# The word of a program whose cache is complete.
SYNCED = "synced"

NAMESPACE_VARIABLE = "BENCHMARK_NAMESPACE"
# Set for the user who minds memory and drops the managedFields of every object.
THRIFTY_VARIABLE = "BENCHMARK_THRIFTY"


def namespace() -> str:
    """Return the namespace that a measured program looks at."""
    return os.environ[NAMESPACE_VARIABLE]
