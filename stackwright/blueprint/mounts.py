"""What is checked in the further volumes that users bring for pods (`extraMounts`). Pure.

The API server would refuse the pods' workload for most of it, long after the user went away, and name fields that the
user never wrote. What a volume itself must be, `embedding` asks.
"""

from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from stackwright.api.node_sections import OWN_MOUNTS, OWN_VOLUMES, VolumeMounts
from stackwright.api.pods import ExtraMounts, ExtraVolumes
from stackwright.blueprint.admission import fields_called
from stackwright.blueprint.service import Service
from stackwright.kube.resource import CustomResource

EXTRA = "extraMounts"
# What the pods of services have, by the library chart.
_OF_PODS = frozenset({"config", "data", "wait-script", "wait-token"})
_PLACES_OF_PODS = frozenset({"/var/lib/openstack/config", "/var/lib/kolla/config_files/config.json"})

Entry = ExtraVolumes | VolumeMounts


def problems(resource: CustomResource) -> tuple[tuple[str, str], ...]:
    """Return the path of everything that no pod could have, with a sentence that says why."""
    return tuple(problem for entries in _every(resource) for problem in _of_sets(entries))


def of_service(service: Service[Any, Any], resource: CustomResource) -> Iterator[tuple[str, str]]:
    """Yield what the pods of a service have themselves."""
    rings = service.key_rings
    names = {*_OF_PODS, *(ring.name for ring in rings)}
    places = {
        *_PLACES_OF_PODS,
        *(ring.path for ring in rings),
        *(each.data for each in service.components_of(resource)),
    }
    for entries in _every(resource):
        for path, entry in entries:
            yield from _of_own(path, entry, names, places)


def _every(resource: CustomResource) -> Iterator[tuple[tuple[str, Entry], ...]]:
    """Yield each list of further volumes in a resource, as entries with their paths."""
    for path, found in fields_called("spec", getattr(resource, "spec", None), EXTRA):
        if isinstance(found, tuple):
            yield tuple(_entries(path, found))


def _of_own(path: str, entry: Entry, names: Collection[str], places: Collection[str]) -> Iterator[tuple[str, str]]:
    for position, name in enumerate(_names(entry)):
        if name in names:
            yield f"{path}.volumes[{position}].name", f"{name} is the name of a volume that every pod has; rename it"
    for position, mount in enumerate(entry.mounts):
        if mount.mountPath in places:
            sentence = f"{mount.mountPath} has a mount in every pod already; choose another path"
            yield f"{path}.mounts[{position}].mountPath", sentence


def _entries(path: str, sets: tuple[Any, ...]) -> Iterator[tuple[str, Entry]]:
    for position, mount in enumerate(sets):
        place = f"{path}[{position}]"
        if isinstance(mount, VolumeMounts):
            yield place, mount
            continue
        # In a template of the umbrella it is a type of its own, with the same fields.
        said = msgspec.convert(msgspec.to_builtins(mount), ExtraMounts)
        yield from ((f"{place}.extraVol[{number}]", entry) for number, entry in enumerate(said.extraVol))


def _of_sets(entries: tuple[tuple[str, Entry], ...]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with each entry, and what two entries say that the same pods get."""
    for position, (path, entry) in enumerate(entries):
        yield from _of_entry(path, entry)
        if isinstance(entry, VolumeMounts):
            yield from _of_own(path, entry, OWN_VOLUMES, OWN_MOUNTS)
        before = [other for _, other in entries[:position] if _meet(entry, other)]
        names = {name for other in before for name in _names(other)}
        places = {mount.mountPath for other in before for mount in other.mounts}
        for number, name in enumerate(_names(entry)):
            if name and name in names:
                sentence = f"{name} is the name of a volume of another entry; rename one of them"
                yield f"{path}.volumes[{number}].name", sentence
        for number, mount in enumerate(entry.mounts):
            if mount.mountPath in places:
                sentence = f"{mount.mountPath} has a mount of another entry already; choose another path"
                yield f"{path}.mounts[{number}].mountPath", sentence


def _names(entry: Entry) -> list[str]:
    """Return the names of an entry's volumes, "" for one that has none."""
    found = (volume.get("name") for volume in entry.volumes)
    return [name if isinstance(name, str) else "" for name in found]


def _meet(one: Entry, other: Entry) -> bool:
    """Return whether there may be pods that get both."""
    sets = [{name.lower() for name in getattr(entry, "propagation", ())} for entry in (one, other)]
    return not all(sets) or not sets[0].isdisjoint(sets[1])


def _of_entry(path: str, entry: Entry) -> Iterator[tuple[str, str]]:
    names = _names(entry)
    for position, name in enumerate(names):
        if name and name in names[:position]:
            yield f"{path}.volumes[{position}].name", f"{name} is the name of another volume here; rename one of them"
    known = ", ".join(sorted({name for name in names if name})) or "none"
    for position, mount in enumerate(entry.mounts):
        if mount.name not in names:
            sentence = f"there is no volume {mount.name} beside it (there is: {known}); add it, or correct the name"
            yield f"{path}.mounts[{position}].name", sentence
        if mount.mountPath in [other.mountPath for other in entry.mounts[:position]]:
            sentence = f"{mount.mountPath} has another mount already; choose another path"
            yield f"{path}.mounts[{position}].mountPath", sentence
