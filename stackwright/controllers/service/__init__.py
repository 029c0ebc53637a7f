"""The generic controller of a service: one for every kind that has a blueprint.

decide.py    what a resource comes to, given what is in the caches: children, waits, the release. Pure
charts.py    which chart is rendered: ours, or one that the user brings, and what that may hold
preview.py   what would change if a release were taken over
act.py       secrets, key rings, logs: what is done beside applying
pods.py      why pods do not come up, in a sentence. Pure
controller.py  reads, decides, acts, reports
"""

from stackwright.controllers.service.controller import ServiceController, controllers
from stackwright.controllers.service.environment import Environment

__all__ = ["Environment", "ServiceController", "controllers"]
