"""Make a service's user and its entry in Keystone's catalog; what is there already becomes as the variables say."""

import http.client
import json
import os
import sys
import time
import unicodedata
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode, urlsplit

# Seconds that Keystone may take to come up, and to let its administrator in, before this try of the Job has failed.
PATIENCE = float(os.environ.get("PATIENCE", "300"))
REFUSED_PATIENCE = PATIENCE / 5
PAUSE = float(os.environ.get("PAUSE", "2"))
# Failed logins may lock an account: they come more slowly.
REFUSED_PAUSE = PAUSE * 3
DOMAIN = "default"
PROJECT = "service"
ROLES = ("admin", "service")
# The type that Keystone itself has in its catalog.
IDENTITY = "identity"

Json = dict[str, Any]


def fold(name: str) -> str:
    """Return the same for all names that Keystone's database may take for one."""
    spread = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold())
    return "".join(character for character in spread if not unicodedata.combining(character)).strip()


def problems(user: str, of_type: str, admin: str) -> Iterator[str]:
    """Yield what is wrong with the names of user and service, and what to do."""
    if fold(user) == fold(admin):
        yield f"provision.identity.user.username: {user} is Keystone's administrator; choose another name"
    if fold(of_type) == IDENTITY:
        yield f"provision.identity.service.type: {of_type} is Keystone's own; choose another type"


class Unavailable(Exception):
    """Keystone does not answer, or something changed meanwhile: to be tried again."""


class Refused(Exception):
    """Keystone does not let the administrator in; before it is bootstrapped, there is none."""


class Keystone:
    """One Keystone, and the token that the administrator works with."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/").removesuffix("/v3")
        self.token = ""

    def send(self, method: str, path: str, body: Json | None = None) -> tuple[int, str, Json]:
        """Send one request; return the status, the token that came back, and the body."""
        parts = urlsplit(self.url)
        connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = connect(parts.hostname or "", parts.port, timeout=60)
        headers = {"Content-Type": "application/json", **({"X-Auth-Token": self.token} if self.token else {})}
        try:
            connection.request(method, f"{parts.path}/v3{path}", json.dumps(body) if body else None, headers)
            response = connection.getresponse()
            content = response.read()
            found = json.loads(content) if content and response.status < 300 else {}
            return response.status, response.getheader("X-Subject-Token", ""), found
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise Unavailable(f"{self.url} does not answer ({type(error).__name__})") from error
        finally:
            connection.close()

    def login(self, name: str, password: str, project: str = "") -> str | None:
        """Return a token; None when Keystone does not let these credentials in."""
        user = {"name": name, "domain": {"id": DOMAIN}, "password": password}
        scope: Any = {"project": {"name": project, "domain": {"id": DOMAIN}}} if project else "unscoped"
        identity = {"methods": ["password"], "password": {"user": user}}
        status, token, _ = self.send("POST", "/auth/tokens?nocatalog", {"auth": {"identity": identity, "scope": scope}})
        if status == http.client.UNAUTHORIZED:
            return None
        self.check(status, "POST", "/auth/tokens")
        return token

    def ask(self, method: str, path: str, body: Json | None = None) -> Json:
        """Ask as the administrator."""
        status, _, found = self.send(method, path, body)
        self.check(status, method, path)
        return found

    def check(self, status: int, method: str, path: str) -> None:
        """Raise what a status means. What Keystone says besides may repeat what was sent, and is left out."""
        if status < 300:
            return
        sentence = f"{self.url} answered {status} to {method} /v3{path.partition('?')[0]}"
        if status in {401, 404, 408, 409, 429} or status >= 500:
            raise Unavailable(sentence)
        sys.exit(sentence)

    def find(self, plural: str, **wanted: str) -> list[Json]:
        """Return the entries of a collection that are as wanted, in an order that stays."""
        found = self.ask("GET", f"/{plural}?{urlencode(wanted)}")[plural]
        # Some databases compare names without regard to case.
        same = (entry for entry in found if all(entry.get(key) == value for key, value in wanted.items()))
        return sorted(same, key=lambda entry: str(entry["id"]))

    def ensure(self, kind: str, wanted: dict[str, str], always: Json | None = None, first: Json | None = None) -> str:
        """Return the id of an entry that is as wanted: made with what it has `first`, and what it has `always`."""
        found = self.find(f"{kind}s", **wanted)
        said = always or {}
        if not found:
            print(f"Making the {kind} {wanted['name']}")
            return str(self.ask("POST", f"/{kind}s", {kind: {**wanted, **said, **(first or {})}})[kind]["id"])
        name = str(found[0]["id"])
        change = {key: value for key, value in said.items() if found[0].get(key) != value}
        if change:
            print(f"Changing the {kind} {wanted['name']}: {', '.join(sorted(change))}")
            self.ask("PATCH", f"/{kind}s/{name}", {kind: change})
        return name


def provide(keystone: Keystone) -> None:
    """Say what should be; each step is true again when it is taken again."""
    value = os.environ
    keystone.token = ""
    token = keystone.login(value["ADMIN_USERNAME"], value["ADMIN_PASSWORD"], value["ADMIN_PROJECT"])
    if token is None:
        raise Refused
    keystone.token = token
    provide_user(keystone, value["USER_NAME"], value["USER_PASSWORD"])
    service = keystone.ensure(
        "service",
        {"name": value["SERVICE_NAME"], "type": value["SERVICE_TYPE"]},
        {"description": value["SERVICE_DESCRIPTION"], "enabled": True},
    )
    for interface in ("public", "internal"):
        provide_endpoint(keystone, service, interface, value[f"{interface.upper()}_URL"])


def provide_user(keystone: Keystone, name: str, password: str) -> None:
    """Make the user that the service works as, with its roles in the project of all services."""
    enabled = {"enabled": True}
    described = {"description": "The users that services work as"}
    project = keystone.ensure("project", {"name": PROJECT, "domain_id": DOMAIN}, enabled, described)
    user = keystone.ensure("user", {"name": name, "domain_id": DOMAIN}, enabled, {"password": password})
    for role in ROLES:
        held = keystone.ensure("role", {"name": role})
        keystone.ask("PUT", f"/projects/{project}/users/{user}/roles/{held}")
    # Another password revokes the user's tokens: it is set only where the present one is another.
    if keystone.login(name, password) is None:
        print(f"Setting the password of user {name}")
        keystone.ask("PATCH", f"/users/{user}", {"user": {"password": password}})


def provide_endpoint(keystone: Keystone, service: str, interface: str, url: str) -> None:
    """Make an endpoint; of several the first stays, since clients would take any."""
    region = os.environ["REGION"]
    place = {"service_id": service, "interface": interface}
    found = [entry for entry in keystone.find("endpoints", **place) if entry.get("region_id") == region]
    if not found:
        print(f"Making the endpoint {interface} at {url}")
        # By this older name of the region Keystone makes one that it does not have.
        keystone.ask("POST", "/endpoints", {"endpoint": {**place, "region": region, "url": url, "enabled": True}})
        return
    if (found[0]["url"], found[0].get("enabled", True)) != (url, True):
        print(f"Changing the endpoint {interface} to {url}")
        keystone.ask("PATCH", f"/endpoints/{found[0]['id']}", {"endpoint": {"url": url, "enabled": True}})
    for entry in found[1:]:
        print(f"Deleting a second endpoint {interface}, {entry['id']}")
        keystone.ask("DELETE", f"/endpoints/{entry['id']}")


def main() -> None:
    """Try until all is there."""
    value = os.environ
    if wrong := "\n".join(problems(value["USER_NAME"], value["SERVICE_TYPE"], value["ADMIN_USERNAME"])):
        sys.exit(wrong)
    keystone = Keystone(value["KEYSTONE_URL"])
    began = time.monotonic()
    said = ""
    while True:
        try:
            provide(keystone)
        except Unavailable as error:
            why, patience, pause = str(error), PATIENCE, PAUSE
        except Refused:
            why = (
                f"{keystone.url} does not let user {os.environ['ADMIN_USERNAME']} in: provision.identity.admin must "
                "name a Secret with its password"
            )
            patience, pause = REFUSED_PATIENCE, REFUSED_PAUSE
        else:
            break
        if time.monotonic() > began + patience:
            sys.exit(why)
        if why != said:
            print(f"Trying again: {why}", flush=True)
        said = why
        time.sleep(pause)
    print(f"Service {os.environ['SERVICE_NAME']}, user {os.environ['USER_NAME']} and both endpoints are there")


if __name__ == "__main__":
    main()
