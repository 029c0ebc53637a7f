"""What every need has in common, and the values in which a need answers. Pure.

A need is one file of this folder. Each of its methods answers one question: what it is resolved to, what it keeps for
the service, what it claims, what the pods must reach for it, which credentials are not used any more, and how a world
looks in which it is met. All that deals with needs (the controller, ownership, NetworkPolicies, rights, the umbrella,
`stackwright render`) asks these methods, so that none of them changes for a further need. A need of something new that
services provide has its word there too, with what a provider offers and which facts it yields.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

from stackwright.api.base import JsonObject, Resource
from stackwright.blueprint.claims import Claim
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.passwords import NewSecret
from stackwright.blueprint.providers import Sight
from stackwright.kube.builtin import Secret
from stackwright.kube.conditions import Finding
from stackwright.kube.plan import Wait
from stackwright.kube.shapes.child import Child

# What a service's controller may do with what a need keeps.
MAKE = frozenset({"create", "patch"})
KEEP = MAKE | {"delete"}

R = TypeVar("R", bound=Resource)
F = TypeVar("F", bound=Facts)

Places = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Resolved:
    """What a need comes to now.

    `ready` says whether the need is met; `fact` may then still be None: an optional broker that nobody asked for.
    """

    ready: bool
    fact: Any = None
    children: tuple[Child, ...] = ()
    waits: tuple[Wait, ...] = ()
    findings: tuple[Finding, ...] = ()
    secrets: tuple[NewSecret, ...] = ()
    # What the chart has to do about it, where its Jobs do it.
    values: JsonObject = field(default_factory=dict)


@dataclass(frozen=True)
class Provision:
    """A Job of the chart that makes what a need asks for, where no operator does.

    `job` is its name, `value` the entry of the chart's value `provision` for it, and `schema` what that entry contains.
    `condition` follows it. `several` is the entry for further ones, by name; `words` describe it.
    """

    job: str
    value: str
    schema: JsonObject = field(hash=False)
    condition: str
    several: str = ""
    words: str = ""


@dataclass(frozen=True)
class Retirement:
    """A credential that the service does not use any more, and how it goes.

    `prepare` is a change to make first, in a pass before. `secret` was generated for it and goes before it does.
    """

    resource: Resource
    reason: str
    prepare: JsonObject | None = None
    secret: Secret | None = None


@dataclass(frozen=True)
class Noted:
    """An annotation of an existing object, by which its keeper knows what a service works with."""

    resource: Resource
    annotation: str
    value: str


@dataclass(frozen=True)
class WantedPassword:
    """A password of spec.secret: its key there; a `fernet` key is one by which the service encrypts.

    One that is `optional` is generated with the others, but not asked of a user who brings the Secret.
    Such a key cannot be made anew: under `note` the status of the resource tells which one it works with.
    `secret` is the Secret that has it, where that is another one than spec.secret.
    """

    key: str
    fernet: bool = False
    optional: bool = False
    note: str = ""
    secret: str = ""


@dataclass(frozen=True)
class Outside:
    """What a user says of the world on the command line, if there is no cluster to ask."""

    namespace: str
    database_host: str = ""
    database_port: int = 0
    cache_servers: tuple[str, ...] = ()


class Imagination(Protocol):
    """A world that is only imagined: the objects of the files, and what is added to them."""

    outside: Outside

    def __call__(self, kind: type[R], name: str) -> R | None:
        """Return the object of a name, None where nobody imagined it."""
        ...

    def add(self, resource: R) -> R:
        """Put an object there; return it as it is there."""
        ...

    def provider(self, word: str, name: str, spec: JsonObject, *, alone: bool = True) -> Any:
        """Return a provider as a file has it, or with this spec; with what its service tells of it once it runs.

        One that is not `alone` needs something itself before it could tell.
        """
        ...

    def offering(self, word: str, name: str, wish: Any) -> Any:
        """Return a provider as a file has it, or as its own service imagines one that offers what is wished for."""
        ...


class UnknownHere(Exception):
    """Something that only a file or a flag can say; the sentence names it."""


@dataclass(frozen=True, kw_only=True)
class Need(ABC):
    """Something that a service needs.

    `name` is the field of the service's facts that it fills, and `key` the entry, where that field is a map. `reads`
    are the kinds whose objects it looks at. `keeps` are those that it makes and that outlive the service, each with the
    verbs for it; `owns` are those that go with the service. `provisions` are the Jobs of the chart that do what the
    operator does otherwise. `words` are the words of providers that wake the services with such a need, `everywhere` of
    those that wake every service. The pods of a service with a need that is `labelled` carry a label by which the
    provider admits them. `credential` is the kind of what the service logs in with, and `retirement` the reason that is
    told when one goes. One that is `apart` stops nothing else while it is not met: its entry of the facts is missing
    then.
    """

    name: str = ""
    key: str = ""
    apart: bool = False
    reads: ClassVar[tuple[type[Resource], ...]] = (Secret,)
    keeps: ClassVar[Mapping[type[Resource], frozenset[str]]] = {}
    owns: ClassVar[tuple[type[Resource], ...]] = ()
    provisions: ClassVar[tuple[Provision, ...]] = ()
    words: ClassVar[tuple[str, ...]] = ()
    everywhere: ClassVar[tuple[str, ...]] = ()
    labelled: ClassVar[bool] = False
    credential: ClassVar[type[Resource] | None] = None
    retirement: ClassVar[str] = ""

    @property
    def word(self) -> str:
        """The word of what provides it; "" where no other resource does."""
        return ""

    def provided_by(self, resource: Any) -> str:
        """Return the name of the resource that provides it; "" where the resource asks for none."""
        return ""

    @property
    def dispensable(self) -> bool:
        """Whether the service works without it, where the user says that there is to be none."""
        return False

    def accepts(self, offer: Any) -> bool:
        """Return whether an offer meets it, from whichever resource; the others are met by the named one alone."""
        return False

    def passwords(self, resource: Any) -> Iterable[WantedPassword]:
        """Yield the passwords of spec.secret that it takes."""
        return ()

    def schemas(self, resource: Any) -> Iterable[str]:
        """Yield the schemas that are made for it."""
        return ()

    @abstractmethod
    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return what it comes to."""

    def complete(self, resource: Any, facts: Facts, sight: Sight) -> Resolved:
        """Return what it asks for once all facts are known."""
        return Resolved(ready=True)

    def announce(self, resource: Any, facts: F, lacking: tuple[str, ...], sight: Sight) -> tuple[F, Resolved]:
        """Return the facts as others are to learn of them now, of a service with several APIs, and what to wait for.

        `lacking` are components of the API that is listed, which have no pod that is ready.
        """
        return facts, Resolved(ready=True)

    def confirm(self, resource: Any, sight: Sight) -> Iterable[Child]:
        """Yield what it asks for, in place of what it did before, once pods are ready with what it came to."""
        return ()

    def note_settled(self, resource: Any, sight: Sight) -> Iterable["Noted"]:
        """Yield what to write on existing objects once nothing works with anything else than what it came to."""
        return ()

    def kept(self, resource: Any, sight: Sight) -> Iterable[Resource]:
        """Yield the existing objects that it keeps for the resource: no owner reference leads to them."""
        return ()

    def claims(self, resource: Any, sight: Sight) -> Iterable[Claim]:
        """Yield what it makes: nobody else may make the same."""
        return ()

    def server(self, resource: Any, fact: Any) -> str:
        """Return the name of the server whose pods the service connects to; "" if it is not in the cluster."""
        return self.provided_by(resource)

    def places(self, fact: Any) -> Places:
        """Return the hosts and ports that the pods talk to."""
        return ()

    def pods(self, fact: Any) -> str:
        """Return by which name the pods of the provider are labelled."""
        return ""

    def used(self, resource: Any, sight: Sight) -> Iterable[Secret]:
        """Yield the Secrets that others export and that it reads: they are marked when all of the service uses them."""
        return ()

    def retired(self, resource: Any, fact: Any, sight: Sight, known: Iterable[Resource]) -> Iterable[Retirement]:
        """Yield the credentials among what is `known` that the service used before."""
        return ()

    def logs_in_with(self, resource: Any, item: Resource) -> bool:
        """Return whether a credential is one that the service needs for this, or may have needed before."""
        return False

    def credential_of(self, resource: Any) -> str:
        """Return the name of the credential that the pods of a resource log in with; "" where it does not say."""
        return ""

    @classmethod
    def retire(cls, item: Any, resource: Any, sight: Sight) -> Retirement:  # noqa: ARG003  most need neither
        """Return how a credential goes that no need logs in with any more."""
        return Retirement(item, cls.retirement)

    def imagine(self, resource: Any, world: Imagination) -> None:  # noqa: B027  most needs put nothing there
        """Put what provides it into a world that is only imagined."""

    def finish(self, resource: Any, made: Resource, world: Imagination) -> Resource:
        """Return something that it keeps as it is once an operator has made it; `UnknownHere` where nobody can know."""
        return made

    def provision(self, resource: Any, facts: Any, sight: Sight) -> JsonObject:
        """Return what the chart's Jobs make where no operator does, by the name of the Job's values."""
        return {}

    def fact_of(self, facts: Any) -> Any:
        """Return the fact that it filled."""
        found = getattr(facts, self.name, None) if self.name else None
        return found.get(self.key) if self.key and found is not None else found


@dataclass(frozen=True)
class Each:
    """Needs that depend on the resource: one for each entry of a map, say. `of` are their types.

    Each((Database,), lambda nova: (Database(name="cells", key=cell, …) for cell in nova.spec.cellTemplates))
    """

    of: tuple[type[Need], ...]
    needs: Callable[[Any], Iterable[Need]]
