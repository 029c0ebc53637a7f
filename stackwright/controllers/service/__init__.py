"""The generic controller of a service: one for every kind that has a blueprint.

controller.py reads, decides, acts and reports; decide.py is the whole decision. The way of a resource, step by step:

refusals.py     what is refused before anything is done (snippets.py, profiles.py); holding.py keeps what ran before
inputs.py       what its needs come to (controllers/needs.py), and the facts that they yield; losses.py: lost Secrets
volumes.py      the volumes that outlive it
rings.py        which key rings are due; ring_turns.py turns them when every pod holds the present keys
traces.py       what has become of the actions that a user asked for
charts.py       which chart is rendered: ours, or one that the user brings; rendering.py renders it
editions.py     what pods mount: a new configuration leaves that of earlier pods alone
trials.py       what pods would start with is tried in a Job, where those that serve are replaced in place
objects.py      the objects of the release, each with its condition; references.py: what they read and nobody made
failed_jobs.py  Jobs that failed and are tried again
pods.py         why pods do not come up, in a sentence; missing_pods.py: why there are none;
                last_lines.py: the log's own words
addresses.py    the addresses that clients know
credentials.py  marks what the service works with, and lets credentials go that nobody uses any more
preview.py      what would change if a release were taken over

act.py          Secrets, logs, ownership: what is done besides applying
"""

from stackwright.controllers.service.controller import ServiceController, controllers
from stackwright.controllers.service.environment import Environment

__all__ = ["Environment", "ServiceController", "controllers"]
