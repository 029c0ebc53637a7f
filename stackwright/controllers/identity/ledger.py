"""The notes of what was made in Keystone, as ConfigMaps: how they are read and written.

Creating and cleaning up take turns on a resource (`Hands`), so that nothing is made while
its note is being removed.
"""

import asyncio
import contextlib
from dataclasses import replace
from weakref import WeakValueDictionary

from stackwright.controllers.identity import registration
from stackwright.controllers.identity.access import CLIENT_READY
from stackwright.controllers.identity.marks import Made, Notes
from stackwright.controllers.identity.registration import Registration
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.controller import Context
from stackwright.kube.errors import Blocked, Conflict, NotFound, Retry
from stackwright.kube.resource import CustomResource, Key


class Hands:
    """Which resources are in hand."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[tuple[str, Key], asyncio.Lock] = WeakValueDictionary()

    def of(self, kind: str, key: Key) -> asyncio.Lock:
        """Return what is held while somebody has the resource in hand."""
        lock = self._locks.get((kind, key))
        if lock is None:
            lock = self._locks[kind, key] = asyncio.Lock()
        return lock


class Ledger:
    """The notes, for one pass: what the pass wrote itself the cache may not have yet."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._written: dict[Key, ConfigMap] = {}
        self._writing = asyncio.Lock()

    def of(self, resource: CustomResource, keystone: str) -> Registration:
        """Return what is noted of a resource in one Keystone; an empty note if there is none."""
        empty = Registration(resource.kind.name, resource.key, keystone)
        found = self._find(empty)
        return empty if found is None else registration.read(found)

    def around(self, own: Registration) -> Notes:
        """Return what all notes of a namespace say about one Keystone; one that cannot be read says nothing."""
        clouds, ids, keystone = set(), set(), own.keystone
        for found in self._context.store(ConfigMap).list(own.key.namespace):
            if registration.is_of(found, keystone):
                with contextlib.suppress(Blocked):
                    noted = registration.read(self._written.get(found.key, found))
                    clouds.add(noted.cloud)
                    ids |= {one.id for one in noted.made}
        return Notes(own.cloud, frozenset(filter(None, clouds)), frozenset(filter(None, ids)))

    async def note(self, resource: CustomResource, keystone: str, made: tuple[Made, ...], *, cloud: str = "") -> None:
        """Note what is made for a resource; the steps of one pass that say the same write it once.

        A note keeps the cloud that it was begun in.
        """
        async with self._writing:
            wanted = Registration(resource.kind.name, resource.key, keystone, made, cloud)
            found = self._find(wanted)
            if found is not None:
                wanted = replace(wanted, cloud=registration.read(found).cloud or cloud)
            if found is None:
                written = await self._context.client.create(ConfigMap, wanted.body())
            elif registration.read(found) == wanted:
                return
            else:
                written = await self.rewrite(found, wanted)
            self._written[written.key] = written

    async def rewrite(self, found: ConfigMap, wanted: Registration) -> ConfigMap:
        """Replace a note, unless it has changed meanwhile."""
        version = {"uid": found.metadata.uid, "resourceVersion": found.metadata.resourceVersion}
        body = {"metadata": version, "data": wanted.data}
        try:
            return await self._context.client.patch(ConfigMap, found.key.name, found.key.namespace, body)
        except (Conflict, NotFound) as error:
            raise _changed(found) from error

    async def erase(self, found: ConfigMap) -> None:
        """Remove a note, unless it is another one by now."""
        name, namespace, version = found.key.name, found.key.namespace, found.metadata.resourceVersion
        try:
            await self._context.client.delete(
                ConfigMap, name, namespace, uid=found.metadata.uid, resource_version=version
            )
        except Conflict as error:
            raise _changed(found) from error

    def _find(self, wanted: Registration) -> ConfigMap | None:
        key = Key(wanted.key.namespace, wanted.name)
        found = self._written.get(key) or self._context.store(ConfigMap).get(key)
        if found is not None and not registration.is_registration(found):
            message = (
                f"ConfigMap {key.name} is in the way of the record of what is created in Keystone for {wanted}; "
                "remove it, or give it another name"
            )
            raise Blocked(message, reason="RegistrationTaken", condition=CLIENT_READY)
        return found


def _changed(found: ConfigMap) -> Retry:
    return Retry(f"ConfigMap {found.metadata.name} was changed meanwhile", reason="Conflict")
