"""Secrets that are made once, with new passwords or keys in them: at once, or when somebody reads them. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from stackwright.api.base import CustomResource, Resource
from stackwright.blueprint.look import Look, Survey
from stackwright.kube.builtin import Secret
from stackwright.kube.informer import Change

C = TypeVar("C", bound=CustomResource)


def _always(_: CustomResource) -> bool:
    return True


@dataclass(frozen=True)
class Reader:
    """A kind whose resources read Secrets; `names` are the Secrets that one of them reads."""

    of: type[Resource]
    names: Callable[[Any], Iterable[str]]

    def counts(self, change: Change[Any]) -> bool:
        """Return whether a resource reads a Secret that it did not read before."""
        before, after = (set(self.names(each)) if each is not None else set() for each in (change.old, change.new))
        return bool(after - before)


@dataclass(frozen=True)
class Generated(Generic[C]):
    """A Secret that is made once, with new passwords in it.

    `content` makes its keys from a source of new passwords, unless `wanted` says that the user brings it. One that is
    `renewable` the service takes on as it runs; else it cannot be made anew when somebody deletes it. One that has
    `readers` is for them alone: it is made when the first of them reads it, and the service itself does not wait for
    it. What it gives access to may outlive the resource, and so does the Secret, unless it is `owned`.
    """

    name: Callable[[C], str]
    content: Callable[[C, Callable[[int], str]], Mapping[str, str]]
    wanted: Callable[[C], bool] = _always
    renewable: bool = False
    readers: tuple[Reader, ...] = ()
    owned: bool = False

    def is_missing(self, resource: C, look: Look) -> bool:
        """Return whether it is to be made now. Readers are looked for only as long as it is not there."""
        if not self.wanted(resource) or look(Secret, self.name(resource)) is not None:
            return False
        return not self.readers or self._is_read(self.name(resource), look)

    def _is_read(self, name: str, look: Look) -> bool:
        if not isinstance(look, Survey):
            return False
        return any(name in reader.names(each) for reader in self.readers for each in look.of_kind(reader.of))
