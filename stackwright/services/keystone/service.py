"""Keystone knows users, projects and roles, issues tokens, and has the catalog of all services."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from stackwright.api.base import JsonObject
from stackwright.blueprint import apis
from stackwright.blueprint.claims import Claim
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs import Cache, Database, Notifications, Password
from stackwright.blueprint.needs.catalog_entry import claim_own
from stackwright.blueprint.needs.login import IDENTITY, IdentityServer
from stackwright.blueprint.providers import Provides
from stackwright.blueprint.service import (
    DB_SYNC,
    Endpoint,
    Job,
    KeyRing,
    RotateKeys,
    RunJob,
    Schedule,
    Service,
    Told,
)
from stackwright.blueprint.value_types import described
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.services.keystone import clouds
from stackwright.services.keystone.checks import problems, token_life
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.keystone.settings import CREDENTIAL_KEYS, FERNET_KEYS, PORT, KeystoneFacts, files, serve

# Keystone itself keeps three credential keys and no more.
CREDENTIAL_RING_SIZE = 3
MIGRATE = "credential-migrate"
# What Keystone is called in its own catalog.
OWN_NAME = "keystone"
PASSWORD = "OS_BOOTSTRAP_PASSWORD"  # noqa: S105  the name of a variable
ENVIRONMENT = described(
    "What the Job's program reads from its environment: names and URLs, never a password.",
    {
        "type": "object",
        "propertyNames": {"pattern": "^OS_BOOTSTRAP_[A-Z_]+$", "not": {"const": PASSWORD}},
        "additionalProperties": {"type": "string"},
    },
)


def bootstrap_inputs(resource: KeystoneAPI, facts: KeystoneFacts) -> JsonObject | None:
    """Return all that bootstrap writes; a new password of the administrator, or an empty schema, runs it again."""
    if facts.endpoints is None:
        return None
    known = {"schema": facts.database.identity} if facts.database.identity else {}
    return {"environment": bootstrap_environment(resource, facts), "password": facts.passwords["admin"], **known}


def bootstrap_environment(resource: KeystoneAPI, facts: KeystoneFacts) -> dict[str, str]:
    """Return the names and URLs that bootstrap reads."""
    assert facts.endpoints is not None  # noqa: S101  bootstrap has no inputs before they are known
    return {
        "OS_BOOTSTRAP_USERNAME": resource.spec.adminUser,
        "OS_BOOTSTRAP_PROJECT_NAME": resource.spec.adminProject,
        "OS_BOOTSTRAP_ROLE_NAME": "admin",
        "OS_BOOTSTRAP_SERVICE_NAME": OWN_NAME,
        "OS_BOOTSTRAP_REGION_ID": resource.spec.region_name,
        "OS_BOOTSTRAP_PUBLIC_URL": facts.endpoints.public,
        "OS_BOOTSTRAP_INTERNAL_URL": facts.endpoints.internal,
    }


def bootstrap_values(resource: KeystoneAPI, facts: KeystoneFacts) -> JsonObject:
    """Return what the chart needs to run bootstrap; the password by the name of its Secret."""
    return {
        "environment": bootstrap_environment(resource, facts),
        "passwordSecret": {"name": resource.spec.secret, "key": resource.spec.passwordSelectors.admin},
    }


def migrate_inputs(resource: KeystoneAPI, facts: KeystoneFacts) -> JsonObject | None:
    """Return the name of the keys that credentials have to be encrypted with; nothing before their first rotation."""
    ring = facts.rings.get("credential-keys")
    return {"ring": ring} if ring else None


def tell(resource: KeystoneAPI, facts: KeystoneFacts | None, look: Look) -> Told[KeystoneAPI]:
    """Return where Keystone is."""
    status = resource.status
    if resource.spec.externalKeystoneAPI:
        found = {name: entry.endpointURL or "" for name, entry in resource.spec.override.service.items()}
        return Told(msgspec.structs.replace(status, apiEndpoints=found, region=resource.spec.region_name))
    if facts is None:
        return Told(status)
    bus = facts.notifications.secret if facts.notifications is not None else ""
    told = apis.tell(resource, facts, look).status
    return Told(msgspec.structs.replace(told, region=resource.spec.region_name, transportURLSecret=bus))


def offer(resource: KeystoneAPI) -> IdentityServer:
    """Return what services learn of a Keystone: where it is, and in which Secret its administrator is."""
    spec = resource.spec
    administrator = {
        "username": spec.adminUser,
        "project": spec.adminProject,
        "secret": spec.secret,
        "key": spec.passwordSelectors.admin,
    }
    return IdentityServer(resource.status.apiEndpoints, resource.status.region or spec.region_name, administrator)


def claims(resource: KeystoneAPI) -> Iterable[Claim]:
    """Return what is Keystone's own in its catalog and among its users."""
    return claim_own(f"{resource.kind.name} {resource.metadata.name}", resource.spec.adminUser)


SERVICE = Service(
    name="keystone",
    kind=KeystoneAPI,
    facts=KeystoneFacts,
    user="keystone",
    needs=(Password("admin"), Database(), Cache(), Notifications()),
    provides=Provides(IDENTITY, offer),
    endpoints=(Endpoint(port=PORT),),
    components=(apis.api(PORT, "/healthcheck", serve, files),),
    jobs=(
        apis.db_sync("keystone-manage db_sync", files),
        Job(
            "bootstrap",
            lambda _: "keystone-manage bootstrap",
            bootstrap_inputs,
            "BootstrapReady",
            files=files,
            values=bootstrap_values,
            description="Makes the admin, his role, the service and its endpoints.",
            after=(DB_SYNC,),
            password=PASSWORD,
            own_values={"environment": ENVIRONMENT},
        ),
        Job(
            MIGRATE,
            lambda _: "keystone-manage credential_migrate",
            migrate_inputs,
            condition="",
            files=files,
            description="Encrypts credentials anew with the first key.",
            after=(DB_SYNC,),
        ),
    ),
    schedules=(
        Schedule(
            "trust-flush",
            command=lambda resource: f"keystone-manage trust_flush {resource.spec.trustFlushArgs}".strip(),
            when=lambda resource: resource.spec.trustFlushSchedule,
            files=files,
            suspended=lambda resource: resource.spec.trustFlushSuspend,
            description="Deletes expired trusts.",
            after=(DB_SYNC,),
        ),
    ),
    key_rings=(
        KeyRing(
            "fernet-keys",
            path=FERNET_KEYS,
            size=lambda resource: resource.spec.fernetMaxActiveKeys,
            days=lambda resource: resource.spec.fernetRotationDays,
            life=token_life,
            description="The Secret with the keys of tokens.",
        ),
        KeyRing(
            "credential-keys",
            path=CREDENTIAL_KEYS,
            size=lambda _: CREDENTIAL_RING_SIZE,
            migrate=MIGRATE,
            description="The Secret with the keys of credentials.",
        ),
    ),
    actions={
        "rotate-keys": RotateKeys("fernet-keys"),
        "rotate-credential-keys": RotateKeys("credential-keys"),
        "flush-trusts": RunJob("trust-flush"),
    },
    resources=clouds.resources,
    problems=problems,
    elsewhere=lambda resource: resource.spec.externalKeystoneAPI,
    resources_elsewhere=clouds.elsewhere,
    tell=tell,
    options=Path(__file__).with_name("options.json"),
    unread=("networkAttachments",),
    fixed=((ConfigMap, clouds.CONFIG), (Secret, clouds.SECRET)),
    claims=claims,
)
