"""Asks a cloud's APIs as its administrator, with nothing but the standard library."""

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import Any

SECONDS = 60.0
# Endpoints by the words of the catalog, whatever the name: what is called first goes first.
ALIASES = {"volume": ("block-storage", "block-store", "volumev3", "volume")}


class CloudError(Exception):
    """The cloud did not do what it was asked for; the message is a sentence for the user."""


class NotFound(CloudError):
    """There is no such thing."""


@dataclass(frozen=True)
class Login:
    """How the administrator logs in, and which endpoints are used."""

    auth_url: str
    username: str
    password: str = field(repr=False)
    project: str
    user_domain: str = "Default"
    project_domain: str = "Default"
    region: str = ""
    interface: str = "internal"
    ca_file: str = ""


def login_of(cloud: Mapping[str, Any], *, auth_url: str = "", interface: str = "", ca_file: str = "") -> Login:
    """Return the login that an entry of clouds.yaml says; what is given here goes before it. Pure."""
    auth = cloud.get("auth") or {}
    missing = [word for word in ("username", "password", "project_name") if not auth.get(word)]
    if missing or not (auth_url or auth.get("auth_url")):
        raise CloudError(f"clouds.yaml does not say {', '.join(missing) or 'auth_url'} of the administrator.")
    return Login(
        auth_url=(auth_url or str(auth["auth_url"])).rstrip("/"),
        username=str(auth["username"]),
        password=str(auth["password"]),
        project=str(auth["project_name"]),
        user_domain=str(auth.get("user_domain_name") or "Default"),
        project_domain=str(auth.get("project_domain_name") or "Default"),
        region=str(cloud.get("region_name") or ""),
        interface=interface or str(cloud.get("interface") or "public"),
        ca_file=ca_file or str(cloud.get("cacert") or ""),
    )


@dataclass
class Cloud:
    """A cloud to which the administrator is logged in."""

    login: Login
    token: str = field(default="", repr=False)
    endpoints: dict[str, str] = field(default_factory=dict)
    """URLs of the login's region and interface, by the type of the service."""

    def enter(self) -> None:
        """Log in, and read the catalog."""
        login = self.login
        user = {"name": login.username, "password": login.password, "domain": {"name": login.user_domain}}
        scope = {"project": {"name": login.project, "domain": {"name": login.project_domain}}}
        identity = {"methods": ["password"], "password": {"user": user}}
        body = {"auth": {"identity": identity, "scope": scope}}
        self.token = ""
        headers, answer = self._ask("POST", f"{login.auth_url}/auth/tokens", body)
        self.token = str(headers.get("X-Subject-Token", ""))
        found = endpoints_of((answer.get("token") or {}).get("catalog") or (), login)
        # The catalog's own entry names no version.
        self.endpoints = found | {"identity": login.auth_url}

    def url(self, service: str) -> str:
        """Return where a service is; an empty text if the catalog does not have it."""
        names = ALIASES.get(service, (service,))
        return next((self.endpoints[name] for name in names if name in self.endpoints), "")

    def get(self, service: str, path: str, **headers: str) -> Any:
        """Return what a service answers to a question."""
        return self._call("GET", service, path, None, headers)

    def post(self, service: str, path: str, body: object, **headers: str) -> Any:
        """Make something."""
        return self._call("POST", service, path, body, headers)

    def put(self, service: str, path: str, body: object, **headers: str) -> Any:
        """Set something; bytes are sent as they are."""
        return self._call("PUT", service, path, body, headers)

    def patch(self, service: str, path: str, body: object, **headers: str) -> Any:
        """Change something."""
        return self._call("PATCH", service, path, body, headers)

    def delete(self, service: str, path: str) -> bool:
        """Remove something; return False if it was not there."""
        try:
            self._call("DELETE", service, path, None, {})
        except NotFound:
            return False
        return True

    def page(self, url: str) -> Any:
        """Return what stands at a URL."""
        return self._ask("GET", url, None)[1]

    def _call(self, method: str, service: str, path: str, body: object, headers: Mapping[str, str]) -> Any:
        base = self.url(service)
        if not base:
            raise NotFound(f"The catalog has no {self.login.interface} endpoint of {service}.")
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self._ask(method, f"{base.rstrip('/')}{path}", body, named)[1]

    def _ask(
        self, method: str, url: str, body: object, headers: Mapping[str, str] | None = None
    ) -> tuple[Message, Any]:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        given = {"Content-Type": kind, "Accept": "application/json", **(headers or {})}
        if self.token:
            given["X-Auth-Token"] = self.token
        request = urllib.request.Request(url, sent, given, method=method)  # noqa: S310  the cloud's own endpoints
        context = ssl.create_default_context(cafile=self.login.ca_file) if self.login.ca_file else None
        try:
            with urllib.request.urlopen(request, timeout=SECONDS, context=context) as answer:  # noqa: S310  likewise
                text = answer.read()
                return answer.headers, _decoded(text)
        except urllib.error.HTTPError as error:
            # 300 is how some services list their versions.
            text = error.read()
            if error.code == 300:
                return error.headers, _decoded(text)
            failed = NotFound if error.code == 404 else CloudError
            raise failed(f"{method} {url} was answered with {error.code}: {_said(text)}") from None
        except (OSError, ValueError) as error:
            raise CloudError(f"{url} does not answer: {getattr(error, 'reason', None) or error}") from None


def _decoded(text: bytes) -> Any:
    try:
        return json.loads(text) if text else {}
    except ValueError:
        return {}


def _said(text: bytes) -> str:
    """Return the message of an answer that says no, wherever in it that stands."""
    found = _decoded(text)
    while isinstance(found, dict) and found:
        if isinstance(found.get("message"), str):
            return str(found["message"])[:500]
        found = next(iter(found.values()))
    return str(found or text.decode(errors="replace"))[:500]


def endpoints_of(catalog: Any, login: Login) -> dict[str, str]:
    """Return the URL of each type of service, for an interface and a region. Pure."""
    found: dict[str, str] = {}
    for entry in catalog:
        for endpoint in entry.get("endpoints") or ():
            region = endpoint.get("region_id") or endpoint.get("region") or ""
            if endpoint.get("interface") == login.interface and login.region in ("", region):
                found.setdefault(str(entry.get("type", "")), str(endpoint.get("url", "")))
    return found
