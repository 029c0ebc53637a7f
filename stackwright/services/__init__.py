"""One folder for each service: its kinds, its data, small pure functions. Found by looking, listed nowhere.

The rule of this folder: a service's folder says all that we know of that service, and imports `api` and
`blueprint` alone, never a sibling. This file knows how to find them and names none.
"""

import sys

import stackwright.api
from stackwright.api import discovery
from stackwright.api.base import CustomResource


def kinds() -> tuple[type[CustomResource], ...]:
    """Return every kind that we serve: those of `api`, and those in the `kinds` of each service's folder."""
    own = discovery.kinds_in(sys.modules[__name__], module="kinds")
    shared = discovery.kinds_in(stackwright.api)
    return tuple(sorted((*shared, *own), key=lambda kind: kind.kind.crd_name))
