"""What Nova and its cells stand for, by name: known before anything is made, so that admission can judge names. Pure.

The name of a cell becomes part of the names of resources, releases, Services and Secrets. Two of these may meet, as
those of a cell called `api` and of the API do, or be too long.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stackwright.api.base import CustomResource, ObjectMeta
from stackwright.blueprint import name_lengths, object_names
from stackwright.blueprint.claims import NAME, Claim, claim_object
from stackwright.blueprint.refusal import Problem
from stackwright.blueprint.service import Service
from stackwright.blueprint.spec_memory import SpecMemory
from stackwright.kube.builtin import Secret
from stackwright.services.nova.api import API
from stackwright.services.nova.compute import COMPUTE
from stackwright.services.nova.conductor import CONDUCTOR
from stackwright.services.nova.kinds.cell import compute_name, has_novncproxy
from stackwright.services.nova.metadata import METADATA, secret_names
from stackwright.services.nova.novncproxy import NOVNCPROXY
from stackwright.services.nova.scheduler import SCHEDULER

_compared = SpecMemory[Problem]()

# What the specs require and no name depends on.
_LEAST: Mapping[str, str] = {"secret": "unknown", "keystoneAuthURL": "unknown"}


@dataclass(frozen=True)
class Member:
    """A resource that another one stands for, the field that names it, and Secrets that exist because of it."""

    service: Service[Any, Any]
    resource: CustomResource
    path: str = NAME
    secrets: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.resource.kind.name} {self.resource.metadata.name}"

    @property
    def names(self) -> Iterator[tuple[str, str]]:
        """The names of all its objects, each with the sort of things among which it has to be unique."""
        yield from (("object", name) for name in object_names.of_release(self.service, self.resource))
        yield from (("Secret", name) for name in object_names.of_secrets(self.service, self.resource))
        yield from (("Secret", name) for name in self.secrets)

    @property
    def claim(self) -> Claim:
        """The claim of whoever stands for it."""
        return claim_object(type(self.resource), self.resource.metadata.name, self.path, _ADVICE, owned=True)


_ADVICE = "use another name"


def member(
    service: Service[Any, Any], name: str, path: str = NAME, *, secrets: tuple[str, ...] = (), **said: Any
) -> Member:
    """Return a member with the least that its spec can say, and what else its names depend on."""
    spec = service.kind.__annotations__["spec"]
    known = {key: value for key, value in {**_LEAST, **said}.items() if key in spec.__struct_fields__}
    return Member(service, service.kind(metadata=ObjectMeta(name=name), spec=spec(**known)), path, secrets)


def services(name: str, *, metadata: bool) -> Iterator[Member]:
    """Yield the services for all cells of a Nova."""
    yield member(API, f"{name}-api")
    yield member(SCHEDULER, f"{name}-scheduler")
    if metadata:
        yield member(METADATA, f"{name}-metadata", secrets=secret_names(f"{name}-metadata"))


def services_of_cell(name: str, cell: str, said: Any, path: str = NAME) -> Iterator[Member]:
    """Yield the services of a cell; `name` is that of its NovaCell, and `path` the field that it comes from."""
    of: dict[str, Any] = {"cellName": cell}
    yield member(CONDUCTOR, f"{name}-conductor", path, **of)
    if said.metadataServiceTemplate.enabled:
        own = f"{name}-metadata"
        yield member(METADATA, own, path, secrets=secret_names(own), **of)
    if has_novncproxy(cell, said.noVNCProxyServiceTemplate):
        yield member(NOVNCPROXY, f"{name}-novncproxy", path, **of)
    before = "spec" if path == NAME else path
    for compute, template in sorted(said.novaComputeTemplates.items()):
        driver = {"computeName": compute, "computeDriver": template.computeDriver}
        place = f"{before}.novaComputeTemplates[{compute}]"
        yield member(COMPUTE, compute_name(name, compute), place, **of, **driver)


def problems(own: Member, members: Iterable[Member]) -> Iterable[Problem]:
    """Return the names of members that are too long for what they become, or that something before has; `own` is first.

    One sentence for each field is enough. The names follow from the spec of `own`, so they are compared once for each.
    """
    return _compared.recall(own.resource, own.secrets, lambda: _compare(own, members))


def _compare(own: Member, members: Iterable[Member]) -> Iterator[Problem]:
    first, told = dict.fromkeys(own.names, own), set[str]()
    for each in members:
        found = [*_too_long(each), *_meeting(each, first)]
        if found and each.path not in told:
            told.add(each.path)
            yield each.path, found[0]


def _too_long(member: Member) -> Iterator[str]:
    for _, sentence in name_lengths.problems(member.service, member.resource):
        yield f"the name of {member} {sentence}"


def _meeting(member: Member, first: dict[tuple[str, str], Member]) -> Iterator[str]:
    for named in member.names:
        if (other := first.setdefault(named, member)) is not member:
            yield f"{member} and {other} would both create {named[1]}; {_ADVICE}"


def claims(members: Iterable[Member], secrets: Iterable[str]) -> Iterator[Claim]:
    """Yield what a resource creates besides its release: the resources that it stands for, and Secrets."""
    yield from (each.claim for each in members)
    yield from (claim_object(Secret, name, owned=True) for name in secrets)
