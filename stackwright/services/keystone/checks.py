"""What is wrong with a KeystoneAPI beyond what its schema can say."""

from collections.abc import Iterable

from stackwright.blueprint import apis, ini
from stackwright.blueprint.look import Look
from stackwright.blueprint.whole_numbers import read_number
from stackwright.services.keystone.kinds import KeystoneAPI

# Keystone's own defaults, in seconds.
EXPIRATION = 3600
ALLOW_EXPIRED_WINDOW = 172800
DAY = 86400


def problems(resource: KeystoneAPI, look: Look) -> Iterable[tuple[str, str]]:
    """Yield the path of each field that cannot be, and what to do about it."""
    yield from _keys(resource)
    # Clients and services add the version to what the catalog has.
    yield from apis.urls(resource, added="/v3")
    if resource.spec.federatedRealmConfig:
        yield "spec.federatedRealmConfig", "federation is not supported yet; remove it"
    if resource.spec.httpdCustomization.customConfigSecret:
        yield "spec.httpdCustomization.customConfigSecret", "there is no web server beside uwsgi here; remove it"
    if resource.spec.provisioning == "Job" and resource.spec.externalKeystoneAPI:
        yield "spec.provisioning", "nothing is provisioned for a Keystone that runs elsewhere; remove one of the two"


def token_life(resource: KeystoneAPI) -> int:
    """Return for how many seconds somebody may present a token: services also read one that has just expired."""
    window = _seconds(resource, "allow_expired_window", ALLOW_EXPIRED_WINDOW)
    return _seconds(resource, "expiration", EXPIRATION) + window


def _keys(resource: KeystoneAPI) -> Iterable[tuple[str, str]]:
    """A token must be readable for as long as anybody may present it: its key must still be there."""
    life = token_life(resource)
    rotation = resource.spec.fernetRotationDays * DAY
    needed = -(-life // rotation) + 2
    if resource.spec.fernetMaxActiveKeys < needed:
        yield (
            "spec.fernetMaxActiveKeys",
            f"{resource.spec.fernetMaxActiveKeys} keys, rotated every {resource.spec.fernetRotationDays} d, would lose "
            f"the key of tokens that are valid for {life} s; set {needed} or more, or rotate them less often",
        )


def _seconds(resource: KeystoneAPI, option: str, default: int) -> int:
    """Return a setting of [token] as the user's snippet has it."""
    parsed = ini.parse(resource.spec.customServiceConfig)
    if isinstance(parsed, ini.Problem):
        return default
    said = parsed.get("token", {}).get(option, ())
    number = read_number(said[-1]) if said else None
    return default if number is None else number
