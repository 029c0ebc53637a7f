"""What is wrong with a KeystoneAPI beyond what its schema can say."""

from collections.abc import Iterable, Iterator

from stackwright.blueprint import apis, ini
from stackwright.blueprint.look import Look
from stackwright.services.keystone.kinds import KeystoneAPI

# Keystone's own defaults, in seconds.
DEFAULTS = {"expiration": 3600, "allow_expired_window": 172800}
DAY = 86400
# How many characters a number of seconds has at most.
_LONGEST = 19


def problems(resource: KeystoneAPI, look: Look) -> Iterable[tuple[str, str]]:
    """Yield the path of each field that cannot be, and what to do about it."""
    yield from _tokens(resource)
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
    return _seconds(resource, "expiration") + _seconds(resource, "allow_expired_window")


def _tokens(resource: KeystoneAPI) -> Iterator[tuple[str, str]]:
    """Keystone reads these only with a login, so that a bad value would show when the old pods are gone.

    How long keys are kept follows from the first two.
    """
    for option, least in (("expiration", 1), ("allow_expired_window", 0)):
        said = _said(resource, "token", option)
        if said is not None and (_is_no_time(said) or _seconds(resource, option) < least):
            yield (
                "spec.customServiceConfig",
                f"[token] {option} must be a number of seconds, {least} or more, in at most {_LONGEST} characters, and "
                "no reference to another option; otherwise nobody could log in, or keys of valid tokens would be "
                "dropped",
            )
    methods = _said(resource, "auth", "methods")
    if methods is not None and "$" not in methods and "password" not in map(str.strip, methods.split(",")):
        sentence = "[auth] methods must have password among them, because all services and the operator log in with it"
        yield "spec.customServiceConfig", sentence


def _is_no_time(said: str) -> bool:
    """Return whether Keystone could take a value for a time that is not the one which is counted with here."""
    return not said.strip() or "$" in said or len(said.strip()) > _LONGEST


def _keys(resource: KeystoneAPI) -> Iterator[tuple[str, str]]:
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


def _seconds(resource: KeystoneAPI, option: str) -> int:
    """Return a setting of [token]: Keystone's own default where nothing is said, or no number, which is refused."""
    said = (_said(resource, "token", option) or "").strip()
    try:
        # Keystone reads it so too, with signs and underscores. What is longer is refused, zeros in front included.
        return int(said) if len(said) <= _LONGEST else DEFAULTS[option]
    except ValueError:
        return DEFAULTS[option]


def _said(resource: KeystoneAPI, section: str, option: str) -> str | None:
    """Return what users say of an option in whichever of the files that Keystone reads."""
    whole = resource.spec.defaultConfigOverwrite.get("keystone.conf", "")
    return ini.last_value((whole, resource.spec.customServiceConfig), section, option)
