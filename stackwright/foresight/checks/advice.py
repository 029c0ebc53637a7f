"""What would be accepted and its author should know: the warnings of admission, for the whole cloud. Pure."""

from collections.abc import Iterable
from typing import Any

import msgspec

from stackwright import services
from stackwright.controllers.needs import sight
from stackwright.foresight.checks.cluster_state import ClusterState
from stackwright.foresight.checks.imagined_cloud import ImaginedCloud, resources_of
from stackwright.foresight.checks.results import CheckResult, Level
from stackwright.foresight.objects import Objects, resource_name_of

TOPIC = "advice"


def advice(cloud: ImaginedCloud, state: ClusterState | None) -> Iterable[CheckResult]:
    """Yield the warnings of each service, in a world that has all others as they are, or as the files want them."""
    there = {resource_name_of(item): item for item in (state.resources if state is not None else ())}
    wanted = {resource_name_of(item): item for item in resources_of(cloud.instances, cloud.given)[0]}
    for name in wanted.keys() & there.keys():
        # What it reports stays true until something else becomes of it.
        status: Any = getattr(there[name], "status", None)
        wanted[name] = msgspec.structs.replace(wanted[name], status=status)
    around = sight(Objects((there | wanted).values()))
    for item in wanted.values():
        blueprint = services.blueprint_of(type(item))
        for path, sentence in blueprint.advice(item, around) if blueprint is not None else ():
            message = f"{item.kind.name} {item.metadata.name}: {path}: {sentence}."
            yield CheckResult(Level.WARNING, TOPIC, message)
