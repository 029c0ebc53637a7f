"""Images that would be left behind: on the claim of an API that is renamed, removed, or stores them elsewhere. Pure.

The database lists an image wherever it is, so it would still be listed, and nobody could read it. Only a person knows
whether it was copied. So a change that takes the last API from a claim is refused, until the claim is gone or says that
nobody needs it.
"""

from collections.abc import Iterable, Iterator

from stackwright.api.annotations import NOT_NEEDED
from stackwright.blueprint.look import Look, Survey
from stackwright.kube.builtin import Deployment, PersistentVolumeClaim
from stackwright.kube.resource import JsonObject
from stackwright.kube.shapes.belonging import MADE_FOR, maker_of, not_anothers
from stackwright.services.glance import apis
from stackwright.services.glance.kinds import Glance


def problems(resource: Glance, look: Look) -> Iterator[tuple[str, str]]:
    """Yield the path of each field that leaves images behind, and what to do about it."""
    served = {claim_of(resource, volume.name) for volume in apis.volumes(resource)} | _mounted_by_user(resource)
    asked = {api.name for api in apis.of(resource)}
    ran = _list_ran(resource, look)
    for name in sorted(asked | ran | _list_made(resource, look)):
        claim = claim_of(resource, name)
        present = look(PersistentVolumeClaim, claim)
        if claim in served or present is None or not _may_hold_images(present, resource):
            continue
        # A Glance that is new has no pods by which its claims would be known.
        if not ran or _is_mounted(resource, name, look):
            path = f"spec.glanceAPIs[{name}].storage.external" if name in asked else "spec.glanceAPIs"
            yield path, _describe(claim, name)


def claim_of(resource: Glance, api: str) -> str:
    """Return the name of the claim of an API."""
    return f"{resource.metadata.name}-{api}"


def _describe(claim: str, api: str) -> str:
    return (
        f"PersistentVolumeClaim {claim} may have images, and no API would read them from there any more; leave API "
        f"{api} as it was, add another one beside it, and copy them there first. If nobody needs what is on the claim, "
        f'set its annotation {NOT_NEEDED}: "true", or delete it'
    )


def _mounted_by_user(resource: Glance) -> set[str]:
    """Return the claims that users mount themselves: such an API still reads them."""
    sets = (each for api in apis.of(resource) for each in api.template.extraMounts)
    return _claims(volume for each in sets for entry in each.extraVol for volume in entry.volumes)


def _list_ran(resource: Glance, look: Look) -> set[str]:
    """Return the APIs that the status tells of; one that an umbrella is about to write has none of its own."""
    present = None if resource.status.glanceAPIReadyCounts else look(Glance, resource.metadata.name)
    return {*(present or resource).status.glanceAPIReadyCounts}


def _list_made(resource: Glance, look: Look) -> set[str]:
    """Return the APIs whose claims were made once: these may have outlived an earlier Glance."""
    before, maker = claim_of(resource, ""), maker_of(resource)
    there = look.of_kind(PersistentVolumeClaim) if isinstance(look, Survey) else ()
    made = {each.metadata.name for each in there if each.metadata.annotations.get(MADE_FOR) == maker}
    return {name.removeprefix(before) for name in made if name.startswith(before)}


def _may_hold_images(present: PersistentVolumeClaim, resource: Glance) -> bool:
    """Return whether images may be on a claim; one that no pod ever used has no volume yet."""
    metadata = present.metadata
    accepted = present.deleting or metadata.annotations.get(NOT_NEEDED) == "true"
    return not accepted and not_anothers(present, resource) and present.status.get("phase") != "Pending"


def _is_mounted(resource: Glance, api: str, look: Look) -> bool:
    """Return whether a claim is left now: pods still mount it, also while that is refused.

    What was left before, and accepted, is not told again.
    """
    found = (look(Deployment, f"{claim_of(resource, api)}{suffix}") for suffix in ("", "-external", "-internal"))
    pods = (each.spec["template"].get("spec") or {} for each in found if each is not None)
    return claim_of(resource, api) in _claims(volume for pod in pods for volume in pod.get("volumes") or ())


def _claims(volumes: Iterable[JsonObject]) -> set[str]:
    """Return the names of the claims that some volumes are."""
    return {str((volume.get("persistentVolumeClaim") or {}).get("claimName", "")) for volume in volumes}
