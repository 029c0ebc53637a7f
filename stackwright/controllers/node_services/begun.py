"""The runs that begin for services on nodes, and that the cache may not show yet.

A run belongs to its resources from before it is created: a resource that is deleted meanwhile must not take the service
for one that never began.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.kube.client import Client
from stackwright.kube.resource import Key


@dataclass
class BegunRuns:
    """The runs that the cache may not have yet, each with the uids of the resources that it is for.

    `creating` are those that are being created right now: that the server does not have them means nothing.
    """

    owners: dict[Key, frozenset[str]] = field(default_factory=dict)
    creating: set[Key] = field(default_factory=set)

    @contextmanager
    def claim(self, run: Key, uids: Iterable[str]) -> Iterator[None]:
        """Note that a run is for these resources, before it is created.

        It stays noted, even where its creation fails: it may be there all the same, and the next look asks for it.
        """
        self.owners[run] = frozenset(uids)
        self.creating.add(run)
        try:
            yield
        finally:
            self.creating.discard(run)

    def is_awaited(self, uid: str, seen: Iterable[OpenStackAnsibleEE]) -> bool:
        """Return whether a run begins for a resource that is not among those that were seen."""
        keys = {run.key for run in seen}
        return any(uid in uids and key not in keys for key, uids in self.owners.items())

    async def complete(
        self, cached: Iterable[OpenStackAnsibleEE], namespace: str, client: Client, uid: str = ""
    ) -> tuple[OpenStackAnsibleEE, ...]:
        """Return the runs of a namespace, also those that began a moment ago; with a uid, of these only its own."""
        there = {run.key: run for run in cached}
        for key, uids in list(self.owners.items()):
            if key.namespace != namespace or (uid and uid not in uids):
                continue
            found, is_created = there.get(key), key not in self.creating
            if found is None:
                # The cache may not have it yet; or it is gone already.
                found = await client.find(OpenStackAnsibleEE, key.name, key.namespace)
                if found is not None:
                    there[key] = found
                    continue
            # Meanwhile, another pass may have found the same, or begun the run anew.
            if is_created and self.owners.get(key) is uids:
                del self.owners[key]
        return tuple(there.values())
