"""Our credentials, kept fresh: TLS contexts are made once, token files are read again, exec plugins run again."""

import asyncio
import os
import ssl
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import msgspec

from stackwright.kube.config import Connection, ExecPlugin
from stackwright.kube.errors import ConfigError
from stackwright.kube.resource import JsonObject

# The kubelet renews a projected token well before the old one expires.
TOKEN_FILE_LIFE = 60.0
# A plugin's token is renewed this long before it runs out, so that it does not do so on the way.
EXPIRY_MARGIN = 10.0
PLUGIN_DEADLINE = 60.0


@dataclass(frozen=True)
class Authentication:
    """What goes with a request: headers, and the TLS context of its connection (None for plain HTTP)."""

    headers: tuple[tuple[str, str], ...]
    tls: ssl.SSLContext | None


class Credentials:
    """Gives the identity of the moment. `wall_clock` returns seconds since 1970, as plugins count."""

    def __init__(
        self,
        connection: Connection,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._connection = connection
        self._clock = clock
        self._wall_clock = wall_clock
        self._lock = asyncio.Lock()
        self._identity: Authentication | None = None
        self._tls: ssl.SSLContext | None = None
        self._read_at = 0.0
        self._expires_at: float | None = None

    def forget(self, rejected: Authentication) -> bool:
        """Take note that the server did not accept an identity; return whether asking again may give another."""
        # Of many requests that are refused at once, the first one has it renewed for all.
        if self._identity is rejected:
            self._identity = None
        return self._connection.token_file is not None or self._connection.exec_plugin is not None

    async def current(self) -> Authentication:
        """Return the identity, renewed when it ran out."""
        if self._identity is not None and self._fresh():
            return self._identity
        async with self._lock:
            if self._identity is None or not self._fresh():
                self._identity = await self._renewed()
            return self._identity

    def _fresh(self) -> bool:
        if self._connection.token_file is not None:
            return self._clock() - self._read_at < TOKEN_FILE_LIFE
        return self._expires_at is None or self._wall_clock() < self._expires_at - EXPIRY_MARGIN

    async def _renewed(self) -> Authentication:
        connection = self._connection
        if connection.exec_plugin is not None:
            return await self._from_plugin(connection.exec_plugin)
        token = connection.token
        if connection.token_file is not None:
            self._read_at = self._clock()
            try:
                token = connection.token_file.read_text().strip()
            except OSError as error:
                raise ConfigError(f"Cannot read the token in {connection.token_file}: {error.strerror}.") from None
        if self._tls is None:
            self._tls = tls_context(connection, connection.client_certificate, connection.client_key)
        return Authentication(self._headers(token), self._tls)

    async def _from_plugin(self, plugin: ExecPlugin) -> Authentication:
        status = await run_plugin(plugin)
        self._expires_at = _seconds(status.expiration_timestamp, plugin)
        connection = self._connection
        certificate = status.client_certificate_data or connection.client_certificate
        key = status.client_key_data or connection.client_key
        if self._tls is None or status.client_certificate_data:
            self._tls = tls_context(connection, certificate, key)
        return Authentication(self._headers(status.token or connection.token), self._tls)

    def _headers(self, token: str) -> tuple[tuple[str, str], ...]:
        bearer = (("Authorization", f"Bearer {token}"),) if token else ()
        return (*bearer, *self._connection.impersonate)


def tls_context(connection: Connection, certificate: str, key: str) -> ssl.SSLContext | None:
    """Return the TLS context of a connection, None where the server speaks plain HTTP."""
    if not connection.server.startswith("https://"):
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not connection.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif connection.certificate_authority:
        try:
            context.load_verify_locations(cadata=connection.certificate_authority)
        except ssl.SSLError:
            raise ConfigError(
                f"The certificate authority from {connection.source} is not usable; get a new kubeconfig."
            ) from None
    else:
        context.load_default_certs()
    if certificate:
        _load_client_certificate(context, certificate, key, connection.source)
    return context


def _load_client_certificate(context: ssl.SSLContext, certificate: str, key: str, source: str) -> None:
    # The ssl module takes files only. This one is readable by us alone and is gone at once.
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(certificate.rstrip() + "\n" + key)
        file.flush()
        try:
            context.load_cert_chain(file.name, password=lambda: "")
        except ssl.SSLError as error:
            problem = {
                "KEY_VALUES_MISMATCH": "does not belong to the certificate",
                "BAD_DECRYPT": "is locked with a passphrase",
            }.get(error.reason or "", "is not a PEM key")
            raise ConfigError(f"The client key from {source} {problem}; get new credentials.") from None


class _PluginStatus(msgspec.Struct, rename="camel", frozen=True):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: str = ""


class _PluginAnswer(msgspec.Struct, rename="camel", frozen=True):
    status: _PluginStatus
    api_version: str = ""


async def run_plugin(plugin: ExecPlugin) -> _PluginStatus:
    """Run an exec plugin and return the credentials that it printed."""
    request: JsonObject = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": {"interactive": False}}
    if plugin.cluster is not None:
        request["spec"]["cluster"] = plugin.cluster
    information = msgspec.json.encode(request).decode()
    environment = {**os.environ, **dict(plugin.environment), "KUBERNETES_EXEC_INFO": information}
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.arguments,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise ConfigError(f"The exec plugin {plugin.command} does not start: {error.strerror}.") from None
    try:
        async with asyncio.timeout(PLUGIN_DEADLINE):
            output, complaint = await process.communicate()
    except TimeoutError:
        raise ConfigError(
            f"The exec plugin {plugin.command} gave no answer in {PLUGIN_DEADLINE:.0f} s; run it by hand to see why."
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise ConfigError(_failure(plugin, process.returncode, complaint))
    return _answer(plugin, output)


def _failure(plugin: ExecPlugin, code: int, complaint: bytes) -> str:
    lines = complaint.decode(errors="replace").strip().splitlines()
    said = f": {lines[-1].strip()[:200]}" if lines else ""
    return f"The exec plugin {plugin.command} failed with code {code}{said}; sign in with it again."


def _answer(plugin: ExecPlugin, output: bytes) -> _PluginStatus:
    try:
        answer = msgspec.json.decode(output, type=_PluginAnswer)
    except msgspec.DecodeError:
        raise ConfigError(f"The exec plugin {plugin.command} printed no ExecCredential; check its version.") from None
    if answer.api_version != plugin.api_version:
        raise ConfigError(
            f"The exec plugin {plugin.command} answered with {answer.api_version or 'no apiVersion'} "
            f"and was asked for {plugin.api_version}; set the one that it speaks in the kubeconfig."
        )
    status = answer.status
    if not status.token and not (status.client_certificate_data and status.client_key_data):
        raise ConfigError(
            f"The exec plugin {plugin.command} gave neither a token nor a certificate; sign in with it again."
        )
    return status


def _seconds(timestamp: str, plugin: ExecPlugin) -> float | None:
    if not timestamp:
        return None
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except ValueError:
        raise ConfigError(f"The exec plugin {plugin.command} gave an expirationTimestamp that is not a time.") from None
