"""Credentials that change while we run: token files, exec plugins, and certificates of the server."""

import asyncio
import json
import socket
import ssl
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from stackwright.kube.builtin import Namespace
from stackwright.kube.client import Client
from stackwright.kube.config import Connection, ExecPlugin
from stackwright.kube.credentials import Credentials
from stackwright.kube.errors import ConfigError, Denied, Unreachable
from tests.runtime.fault_server import Answer, FaultServer

API_VERSION = "client.authentication.k8s.io/v1"


def bearers(server: FaultServer) -> list[str]:
    return [request.headers["authorization"].removeprefix("Bearer ") for request in server.requests]


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def test_a_token_file_is_read_again(server: FaultServer, tmp_path: Path, clock: Clock) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    async with Client(Connection(server=server.url, token_file=token), clock=clock) as client:
        await client.server_version()
        token.write_text("second\n")
        await client.server_version()
        clock.now += 61
        await client.server_version()
    assert bearers(server) == ["first", "first", "second"]


async def test_a_401_makes_us_read_the_token_again_once(server: FaultServer, tmp_path: Path, clock: Clock) -> None:
    token = tmp_path / "token"
    token.write_text("first")
    async with Client(Connection(server=server.url, token_file=token), clock=clock) as client:
        await client.server_version()
        token.write_text("second")
        server.fault(Answer(401))
        await client.server_version()
        assert bearers(server) == ["first", "first", "second"]
        server.fault(Answer(401), times=9)
        with pytest.raises(Denied):
            await client.server_version()
        assert len(server.requests) == 5


async def test_many_refused_requests_run_a_plugin_once_more(
    server: FaultServer, tmp_path: Path, plugin: "Plugin"
) -> None:
    count = f"echo . >> {tmp_path}/runs; n=$(wc -l < {tmp_path}/runs); "
    script = count + credential("t").replace('"t"', "\"t'$n'\"")
    server.fault(Answer(401), times=8, when=lambda request: request.headers["authorization"].endswith("t1"))
    async with Client(Connection(server=server.url, exec_plugin=plugin(script))) as client:
        await asyncio.gather(*(client.server_version() for _ in range(8)))
    assert bearers(server) == ["t1"] * 8 + ["t2"] * 8


async def test_a_401_of_a_watch_makes_us_read_the_token_again(
    server: FaultServer, tmp_path: Path, clock: Clock
) -> None:
    token = tmp_path / "token"
    token.write_text("first")
    server.put(Namespace, {"metadata": {"name": "a"}})
    async with Client(Connection(server=server.url, token_file=token), clock=clock) as client:
        await client.server_version()
        token.write_text("second")
        server.fault(Answer(401), on="watch")
        events = client.watch(Namespace)
        assert (await anext(events)).object.metadata.name == "a"
        await events.aclose()
    assert bearers(server) == ["first", "first", "second"]


async def test_a_token_that_no_renewal_changes_is_not_tried_again(server: FaultServer) -> None:
    server.fault(Answer(401), times=9)
    async with Client(Connection(server=server.url, token="wrong", source="a test")) as client:
        with pytest.raises(Denied, match="did not accept our credentials from a test"):
            await client.server_version()
    assert len(server.requests) == 1


# Exec plugins.

Plugin = Callable[[str], ExecPlugin]


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    def write(script: str) -> ExecPlugin:
        path = tmp_path / "plugin"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return ExecPlugin(
            str(path),
            arguments=("token", "--now"),
            environment=(("COLOUR", "blue"),),
            api_version=API_VERSION,
            cluster={"server": "https://one"},
        )

    return write


def credential(token: str, expires: str = "") -> str:
    status = {"token": token} | ({"expirationTimestamp": expires} if expires else {})
    return f"echo '{json.dumps({'apiVersion': API_VERSION, 'kind': 'ExecCredential', 'status': status})}'"


async def test_a_plugin_is_told_what_it_needs(tmp_path: Path, plugin: Plugin) -> None:
    told = tmp_path / "told"
    script = f'echo "$1 $2 $COLOUR" > {told}; echo "$KUBERNETES_EXEC_INFO" >> {told}; {credential("t")}'
    identity = await Credentials(Connection(server="http://one", exec_plugin=plugin(script))).current()
    assert identity.headers == (("Authorization", "Bearer t"),)
    first, second = told.read_text().splitlines()
    assert first == "token --now blue"
    assert json.loads(second) == {
        "apiVersion": API_VERSION,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "https://one"}},
    }


async def test_a_plugin_runs_again_when_its_token_runs_out(tmp_path: Path, plugin: Plugin) -> None:
    clock = Clock()
    clock.now = datetime(2030, 1, 1, tzinfo=UTC).timestamp()
    runs = tmp_path / "runs"
    script = f"echo run >> {runs}; " + credential("t", "2030-01-01T01:00:00Z")
    credentials = Credentials(Connection(server="http://one", exec_plugin=plugin(script)), wall_clock=clock)
    await credentials.current()
    clock.now += 3580
    await credentials.current()
    assert runs.read_text().split() == ["run"]
    clock.now += 15
    await credentials.current()
    assert runs.read_text().split() == ["run", "run"]


async def test_a_401_makes_a_plugin_run_again(server: FaultServer, tmp_path: Path, plugin: Plugin) -> None:
    count = f"echo . >> {tmp_path}/runs; n=$(wc -l < {tmp_path}/runs); "
    script = count + credential("t").replace('"t"', "\"t'$n'\"")
    server.fault(Answer(401))
    async with Client(Connection(server=server.url, exec_plugin=plugin(script))) as client:
        await client.server_version()
    assert bearers(server) == ["t1", "t2"]


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        pytest.param(
            "echo working >&2; echo you must sign in >&2; exit 3",
            "failed with code 3: you must sign in; sign in with it again",
            id="it-fails",
        ),
        pytest.param("exit 1", "failed with code 1; sign in", id="it-fails-without-a-word"),
        pytest.param("echo words", "printed no ExecCredential", id="it-prints-words"),
        pytest.param("true", "printed no ExecCredential", id="it-prints-nothing"),
        pytest.param(
            credential("").replace("/v1", "/v1beta1"), "answered with .*v1beta1 and was asked for", id="another-version"
        ),
        pytest.param(credential(""), "gave neither a token nor a certificate", id="it-gives-nothing"),
        pytest.param(credential("t", "tomorrow"), "expirationTimestamp that is not a time", id="a-time-that-is-none"),
    ],
)
async def test_a_failing_plugin_is_one_sentence(plugin: Plugin, script: str, sentence: str) -> None:
    credentials = Credentials(Connection(server="http://one", exec_plugin=plugin(script)))
    with pytest.raises(ConfigError, match=sentence) as caught:
        await credentials.current()
    assert "\n" not in str(caught.value)


async def test_a_plugin_that_is_gone_is_one_sentence(plugin: Plugin) -> None:
    gone = replace(plugin(""), command="/nowhere/plugin")
    with pytest.raises(ConfigError, match="does not start: No such file"):
        await Credentials(Connection(server="http://one", exec_plugin=gone)).current()


# The server's certificate.


def server_certificate(directory: Path, *, name: str = "127.0.0.1", days: int = 1) -> tuple[ssl.SSLContext, str]:
    """Return a TLS context of a server with a certificate of its own, and that certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a server")])
    now = datetime.now(UTC)
    alternative = x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=400))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM).decode()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    (directory / "server.pem").write_text(pem + private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "server.pem")
    return context, pem


async def test_a_server_is_checked_against_its_authority(tmp_path: Path) -> None:
    tls, pem = server_certificate(tmp_path)
    async with FaultServer(tls=tls) as server:
        async with Client(Connection(server=server.url, certificate_authority=pem)) as client:
            assert str(await client.server_version()) == "v1.35.8"
        async with Client(Connection(server=server.url, verify=False)) as client:
            assert str(await client.server_version()) == "v1.35.8"


async def test_a_server_may_have_another_name(tmp_path: Path) -> None:
    tls, pem = server_certificate(tmp_path, name="kubernetes")
    async with FaultServer(tls=tls) as server:
        connection = Connection(server=server.url, certificate_authority=pem, server_name="kubernetes")
        async with Client(connection) as client:
            assert str(await client.server_version()) == "v1.35.8"


@pytest.mark.parametrize(
    ("name", "days", "known", "sentence"),
    [
        pytest.param("127.0.0.1", -1, True, "presents a certificate that has expired", id="an-expired-one"),
        pytest.param("10.1.1.1", 1, True, "presents a certificate for another name", id="one-of-another-name"),
        pytest.param(
            "127.0.0.1",
            1,
            False,
            "presents a certificate that our certificate authority did not sign",
            id="one-of-an-unknown-authority",
        ),
    ],
)
async def test_a_certificate_that_does_not_hold_is_one_sentence(
    tmp_path: Path, name: str, days: int, known: bool, sentence: str
) -> None:
    tls, pem = server_certificate(tmp_path, name=name, days=days)
    _, other = server_certificate(tmp_path)
    async with FaultServer(tls=tls) as server:
        connection = Connection(server=server.url, certificate_authority=pem if known else other, source="a test")
        async with Client(connection) as client:
            with pytest.raises(Unreachable, match=rf"The server {server.url} \(from a test\) {sentence}"):
                await client.server_version()
    assert server.requests == []


async def test_a_server_without_tls_is_one_sentence(server: FaultServer) -> None:
    async with Client(Connection(server=server.url.replace("http:", "https:"), verify=False)) as client:
        with pytest.raises(Unreachable, match="does not speak TLS with us; check its address"):
            await client.server_version()


async def test_a_client_that_is_closed_waits_for_no_farewell(tmp_path: Path) -> None:
    tls, pem = server_certificate(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"https://127.0.0.1:{listening.getsockname()[1]}"

        def ask() -> socket.socket:
            """Take a request, and never say anything more."""
            speaking = tls.wrap_socket(listening.accept()[0], server_side=True)
            assert speaking.recv(65536)
            return socket.socket(fileno=speaking.detach())

        asked = asyncio.create_task(asyncio.to_thread(ask))
        async with Client(Connection(server=url, certificate_authority=pem)) as client:
            request = asyncio.create_task(client.server_version())
            silent = await asked
            request.cancel()
            await asyncio.wait({request})
        with silent:
            # What is sent over TLS at the end may come, and then nothing: the socket is closed.
            silent.settimeout(5)
            while await asyncio.to_thread(silent.recv, 65536):
                pass


# The server's version.


@pytest.mark.parametrize(
    ("minor", "fits"),
    [pytest.param("29", False, id="too-old"), pytest.param("30", True, id="just"), pytest.param("31+", True, id="a+")],
)
async def test_a_server_of_another_version_is_one_sentence(
    server: FaultServer, client: Client, minor: str, fits: bool
) -> None:
    server.version = {"major": "1", "minor": minor, "gitVersion": f"v1.{minor.strip('+')}.2"}
    if fits:
        assert (await client.require_version((1, 30))).minor == int(minor.strip("+"))
        return
    with pytest.raises(ConfigError, match=r"is Kubernetes v1\.29\.2, and 1\.30 or newer is needed; upgrade"):
        await client.require_version((1, 30))
