"""A person who writes control planes, and the services' operators, played by writing statuses."""

import base64
from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

from stackwright import services
from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.kube.builtin import Secret
from stackwright.kube.conditions import find
from stackwright.kube.resource import Condition, CustomResource, JsonObject, Kind, Resource
from tests.functional.cloud import Cloud
from tests.functional.watching import eventually, some

# Tests ask for the specs of kinds that are found at run time.
KINDS: dict[str, type[Any]] = {kind.kind.name: kind for kind in services.kinds()}
UMBRELLA = services.control_plane()


class Umbrella(Cloud):
    """A namespace with at most one working control plane in it."""

    async def ask(self, spec: JsonObject, name: str = "cloud") -> None:
        """Write a control plane, whole."""
        said = {"secret": "osp-secret", "storageClass": "local", **spec}
        body = {"metadata": {"name": name, "namespace": self.namespace}, "spec": said}
        await self.client.apply(UMBRELLA, body, field_manager="user")

    async def write(self, kind: str, name: str, spec: JsonObject) -> CustomResource:
        """Write a resource of a service by hand."""
        written: CustomResource = await self.put(KINDS[kind], name, spec=spec)
        return written

    async def write_passwords(self, **values: str) -> None:
        """Write the Secret with the passwords by hand."""
        await self.secret("osp-secret", **values)

    async def until(self, holds: Callable[[Any], object], name: str = "cloud") -> OpenStackControlPlane:
        """Return the control plane as soon as `holds` says so of it."""
        return await eventually(self.client, UMBRELLA, name, self.namespace, holds)

    async def condition(self, wanted: str, status: str, reason: str = "", name: str = "cloud") -> Condition:
        """Return a condition as soon as it has that status, and that reason."""

        def holds(umbrella: OpenStackControlPlane) -> bool:
            found = find(umbrella.status.conditions, wanted)
            return found is not None and found.status == status and reason in ("", found.reason)

        found = find((await self.until(holds, name)).status.conditions, wanted)
        assert found is not None
        return found

    async def there(self, kind: str, *names: str) -> list[Any]:
        """Return the resources of a kind as soon as exactly these are there."""
        return await some(
            self.client, KINDS[kind], self.namespace, lambda found: {one.metadata.name for one in found} == set(names)
        )

    async def report(self, kind: str, name: str, *, ready: bool = True) -> None:
        """Do what the service's own operator would do at the end of its work."""
        resource = await eventually(self.client, KINDS[kind], name, self.namespace, bool)
        condition = {"type": "Ready", "status": "True" if ready else "False", "reason": "Pods", "message": "pods"}
        condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
        status = {"conditions": [condition], "observedGeneration": resource.metadata.generation}
        body = {"metadata": {"name": name, "namespace": self.namespace}, "status": status}
        await self.client.apply(KINDS[kind], body, subresource="status", field_manager="operator")

    async def passwords(self, *keys: str) -> dict[str, str]:
        """Return what is in the Secret as soon as it has exactly these keys."""
        found = await eventually(
            self.client, Secret, "osp-secret", self.namespace, lambda secret: secret.data.keys() == set(keys)
        )
        return {key: base64.b64decode(value).decode() for key, value in found.data.items()}

    async def owned(self, kind_name: str, name: str) -> JsonObject:
        """Return which fields of a resource's spec the umbrella says, as the server writes it down."""

        class Managed(Resource, frozen=True, kw_only=True):
            kind: ClassVar[Kind] = KINDS[kind_name].kind
            metadata: JsonObject  # type: ignore[assignment]  # with managedFields, which our own type leaves out

        managed = await self.client.get(Managed, name, self.namespace)
        ours = [
            entry["fieldsV1"]["f:spec"]
            for entry in managed.metadata["managedFields"]
            if entry["manager"] == self.client.field_manager and "f:spec" in entry["fieldsV1"]
        ]
        return msgspec.convert(ours[0], JsonObject)
