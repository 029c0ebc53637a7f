"""`stackwright openrc`: how the administrator logs in, for a shell or as clouds.yaml."""

import asyncio
import shlex
from collections.abc import Mapping
from typing import Any

import click
import yaml

from stackwright.blueprint.secret_values import text_of
from stackwright.cli import exit_codes, resource_names
from stackwright.cli.connection import Where, client_of, cloud_options
from stackwright.foresight.objects import list_kind
from stackwright.kube import conditions, documents
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.services.keystone.clouds import CLOUD, CONFIG, SECRET
from stackwright.services.keystone.kinds import KeystoneAPI

CLOUDS, SECURE = "clouds.yaml", "secure.yaml"

# By which variable the clients know each part of a cloud's entry; `auth` is written with a dot.
VARIABLES = {
    "auth_type": "OS_AUTH_TYPE",
    "auth.auth_url": "OS_AUTH_URL",
    "auth.username": "OS_USERNAME",
    "auth.password": "OS_PASSWORD",
    "auth.project_name": "OS_PROJECT_NAME",
    "auth.user_domain_name": "OS_USER_DOMAIN_NAME",
    "auth.project_domain_name": "OS_PROJECT_DOMAIN_NAME",
    "region_name": "OS_REGION_NAME",
    "interface": "OS_INTERFACE",
    "identity_api_version": "OS_IDENTITY_API_VERSION",
    "cacert": "OS_CACERT",
}
# What an earlier login may have left in a shell, and what would go before ours.
LEFT_OVER = (
    "OS_CLOUD OS_TOKEN OS_SYSTEM_SCOPE OS_DOMAIN_ID OS_DOMAIN_NAME OS_PROJECT_ID OS_USER_ID OS_USER_DOMAIN_ID "
    "OS_PROJECT_DOMAIN_ID OS_TENANT_ID OS_TENANT_NAME OS_APPLICATION_CREDENTIAL_ID OS_APPLICATION_CREDENTIAL_SECRET"
)


class NotReady(click.ClickException):
    """It is not there yet; the message says what it waits for."""

    exit_code = exit_codes.NOT_READY


@click.command(epilog=exit_codes.TABLE)
@click.option("--clouds-yaml", is_flag=True, help="Print a whole clouds.yaml instead, password included.")
@click.option("--internal", is_flag=True, help="Use the internal endpoint, for clients inside the cluster.")
@cloud_options
def openrc(*, where: Where, clouds_yaml: bool, internal: bool) -> None:
    """Print the administrator's login.

    \b
    source <(stackwright openrc) && openstack token issue
    stackwright openrc --clouds-yaml > clouds.yaml && OS_CLOUD=default openstack token issue

    This prints the administrator's password. Be careful where you store the output.
    """  # noqa: D301  click keeps the lines after its mark as they are
    cloud = asyncio.run(read_cloud(where, internal=internal))
    click.echo(as_clouds_yaml(cloud) if clouds_yaml else as_openrc(cloud), nl=False)


async def read_cloud(where: Where, *, internal: bool) -> dict[str, Any]:
    """Return how the administrator logs in."""
    async with client_of(where) as client:
        namespace = await resource_names.namespace_of(client, where.namespace)
        keystones = await list_kind(client, KeystoneAPI, namespace)
        shown = await client.find(ConfigMap, CONFIG, namespace)
        hidden = await client.find(Secret, SECRET, namespace)
    if shown is None or hidden is None:
        raise NotReady(why_missing(keystones, namespace))
    cloud = merge(shown.data.get(CLOUDS, ""), text_of(hidden, SECURE) or "")
    if internal:
        cloud = inside(cloud, next(iter(keystones), None))
    return cloud


def why_missing(keystones: list[KeystoneAPI], namespace: str) -> str:
    """Return why nobody can log in yet. Pure."""
    if not keystones:
        return f"There is no KeystoneAPI in namespace {namespace}; add keystone to the OpenStackControlPlane."
    if keystones[0].spec.externalKeystoneAPI:
        return "Keystone runs elsewhere: ask its operators for the administrator's password."
    ready = conditions.find(keystones[0].status.conditions, conditions.READY)
    why = ready.message if ready is not None else "its operator has not reported on it yet"
    return f"KeystoneAPI {keystones[0].metadata.name} is not ready for logins: {why}"


def merge(clouds: str, secure: str) -> dict[str, Any]:
    """Return the administrator's entry out of both files, the one that may be seen and the one that may not. Pure."""
    open_part = (yaml.safe_load(clouds) or {}).get("clouds", {}).get(CLOUD, {})
    hidden_part = (yaml.safe_load(secure) or {}).get("clouds", {}).get(CLOUD, {})
    auth = {**open_part.get("auth", {}), **hidden_part.get("auth", {})}
    if not auth.get("auth_url") or not auth.get("password"):
        raise NotReady(f"ConfigMap {CONFIG} and Secret {SECRET} do not have the complete login of cloud {CLOUD}.")
    return {"auth_type": "password", **open_part, "auth": auth}


def inside(cloud: Mapping[str, Any], keystone: KeystoneAPI | None) -> dict[str, Any]:
    """Return the entry for clients inside the cluster. Pure."""
    url = keystone.status.apiEndpoints.get("internal", "") if keystone is not None else ""
    if not url:
        raise NotReady("KeystoneAPI has no internal endpoint yet; `stackwright status` says what it waits for.")
    return {**cloud, "interface": "internal", "auth": {**cloud["auth"], "auth_url": f"{url.rstrip('/')}/v3"}}


def as_openrc(cloud: Mapping[str, Any]) -> str:
    """Return lines that a shell takes. Pure."""
    lines = [f"unset {LEFT_OVER}"]
    for path, variable in VARIABLES.items():
        outer, _, inner = path.rpartition(".")
        value = (cloud.get(outer, {}) if outer else cloud).get(inner)
        lines.append(f"unset {variable}" if value is None else f"export {variable}={shlex.quote(str(value))}")
    return "\n".join(lines) + "\n"


def as_clouds_yaml(cloud: Mapping[str, Any]) -> str:
    """Return a file that every OpenStack client takes. Pure."""
    return yaml.dump({"clouds": {CLOUD: dict(cloud)}}, Dumper=documents.Dumper, sort_keys=True)
