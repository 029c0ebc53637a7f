"""How a program finds its cluster: kubeconfig files, or the service account of the pod that it runs in.

Another cluster than the local one is used only when it is named. `load` reads the file that it is given, else
the files of $KUBECONFIG; ~/.kube/config is read only for a context that is named explicitly, so that nobody's
production is touched by surprise. Every failure is a ConfigError: one sentence that names the file and the
field and says what to do, and never a secret.
"""

import base64
import binascii
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec
import yaml
from cryptography import x509

from stackwright import yaml_words
from stackwright.kube.errors import ConfigError
from stackwright.kube.resource import JsonObject

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
EXEC_API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


@dataclass(frozen=True)
class ExecPlugin:
    """A program that prints credentials, as kubeconfig's `exec` describes it."""

    command: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    api_version: str = EXEC_API_VERSIONS[0]
    cluster: JsonObject | None = None
    """What the plugin is told of the cluster, when it asked to be told."""


@dataclass(frozen=True)
class Connection:
    """Where a cluster is and who we are there. Certificates and keys are PEM text."""

    server: str
    namespace: str = "default"
    source: str = "the program"
    """Where this came from, for messages."""
    certificate_authority: str = field(default="", repr=False)
    """What the server's certificate is checked against; the system's authorities when empty."""
    verify: bool = True
    server_name: str = ""
    """The name that the server's certificate must carry, where it is not the one in `server`."""
    proxy: str = ""
    client_certificate: str = field(default="", repr=False)
    client_key: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    exec_plugin: ExecPlugin | None = None
    impersonate: tuple[tuple[str, str], ...] = ()
    """Headers that ask the server to take us for somebody else."""


def load(kubeconfig: Path | None = None, context: str | None = None) -> Connection:
    """Return the connection that a kubeconfig describes, by its current context or the one that is named."""
    files = [_read(path) for path in _paths(kubeconfig, context)]
    name = context or next((file.content.current_context for file in files if file.content.current_context), "")
    where = ", ".join(str(file.path) for file in files)
    if not name:
        raise ConfigError(f"{where} has no current-context; set one with `kubectl config use-context`, or name one.")
    chosen = _entry(files, _contexts, name, asked_by=where)[1].context
    if not chosen.cluster:
        raise ConfigError(f'Context "{name}" in {where} names no cluster; set its field `cluster`.')
    asked_by = f'context "{name}"'
    cluster_file, cluster = _entry(files, _clusters, chosen.cluster, asked_by=asked_by)
    base = _cluster(cluster_file, cluster, source=f'{where}, context "{name}"', namespace=chosen.namespace or "default")
    if not chosen.user:
        return base
    user_file, user = _entry(files, _users, chosen.user, asked_by=asked_by)
    return _with_user(base, user_file, user)


def in_cluster(directory: Path = SERVICE_ACCOUNT) -> Connection:
    """Return the connection of the service account of the pod that we run in."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise ConfigError(
            "This does not run in a pod (KUBERNETES_SERVICE_HOST is not set); set KUBECONFIG or name a context."
        )
    token_file = directory / "token"
    if not _text(token_file, "the service account's token").strip():
        raise ConfigError(f"{token_file} is empty; give the pod a service account whose token is mounted.")
    authority = _text(directory / "ca.crt", "the cluster's certificate authority")
    _check_authority(authority, str(directory / "ca.crt"))
    namespace = directory / "namespace"
    return Connection(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        namespace=namespace.read_text().strip() if namespace.is_file() else "default",
        source=f"the pod's service account in {directory}",
        certificate_authority=authority,
        token_file=token_file,
    )


# The file as it stands on disk; kubectl's own names.


class _Cluster(msgspec.Struct, rename="kebab", frozen=True):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    extensions: list[JsonObject] = []


class _Environment(msgspec.Struct, frozen=True):
    name: str
    value: str


class _Exec(msgspec.Struct, rename="camel", frozen=True):
    command: str = ""
    args: list[str] | None = None
    env: list[_Environment] | None = None
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class _User(msgspec.Struct, rename="kebab", frozen=True):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    impersonate: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] = []
    as_user_extra: dict[str, list[str]] = {}
    username: str = ""
    auth_provider: JsonObject | None = None
    exec: _Exec | None = None


class _Context(msgspec.Struct, rename="kebab", frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: _Cluster = _Cluster()


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: _User | None = None


class _NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: _Context = _Context()


class _Content(msgspec.Struct, rename="kebab", frozen=True):
    current_context: str = ""
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None


@dataclass(frozen=True)
class _File:
    path: Path
    content: _Content

    def pem(self, name: str, data: str, path: str) -> tuple[str, str]:
        """Return the text that a `…-data` field or the file beside it holds, and where it stands."""
        if data:
            return _decoded(data, f"{name}-data in {self.path}"), f"{name}-data in {self.path}"
        if path:
            return _text(self.path.parent / path, f"{name} in {self.path}"), str(self.path.parent / path)
        return "", ""


_Named = TypeVar("_Named", _NamedCluster, _NamedUser, _NamedContext)


def _paths(kubeconfig: Path | None, context: str | None) -> list[Path]:
    if kubeconfig is not None:
        kubeconfig = _with_home(kubeconfig)
        if not kubeconfig.exists():
            raise ConfigError(f"The kubeconfig {kubeconfig} does not exist; check its path.")
        return [kubeconfig]
    named = os.environ.get("KUBECONFIG", "")
    if named:
        paths = [_with_home(Path(part)) for part in named.split(os.pathsep) if part]
        # As kubectl has it: a list may name files that are not there, as long as one is.
        found = [path for path in paths if path.exists()]
        if not found:
            raise ConfigError(f"KUBECONFIG names {named}, which does not exist; check its path or unset it.")
        return found
    if context is not None:
        home = _with_home(Path("~/.kube/config"))
        if not home.exists():
            raise ConfigError(f'There is no {home} to look for the context "{context}" in; set KUBECONFIG.')
        return [home]
    raise ConfigError(
        "No cluster is named: set KUBECONFIG or name a context; ~/.kube/config alone is not used, "
        "so that no cluster is changed by accident."
    )


def _with_home(path: Path) -> Path:
    """Return a path with the home directory for its `~`; in a container, say, a user may have none."""
    try:
        return path.expanduser()
    except RuntimeError:
        raise ConfigError(f"{path}: this user has no home directory; set HOME, or name a kubeconfig.") from None


def _read(path: Path) -> _File:
    text = _text(path, "the kubeconfig")
    try:
        tree = yaml.load(text, Loader=yaml_words.Loader)  # noqa: S506  it is a safe one
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{path} is not valid YAML: line {line}: {error.problem or error.context}.") from None
    except yaml.YAMLError:
        raise ConfigError(f"{path} is not valid YAML: it has characters that YAML does not allow.") from None
    try:
        return _File(path, msgspec.convert(tree or {}, _Content))
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at ")
        raise ConfigError(
            f"{path} is not a kubeconfig: {place.strip('`').removeprefix('$.') or 'the whole'}: {problem}."
        ) from None


def _clusters(file: _File) -> list[_NamedCluster]:
    return file.content.clusters or []


def _users(file: _File) -> list[_NamedUser]:
    return file.content.users or []


def _contexts(file: _File) -> list[_NamedContext]:
    return file.content.contexts or []


def _entry(
    files: list[_File], section: Callable[[_File], list[_Named]], name: str, *, asked_by: str
) -> tuple[_File, _Named]:
    """Return the first entry of that name and its file; where files disagree, the first one wins."""
    known: list[str] = []
    for file in files:
        for entry in section(file):
            if entry.name == name:
                return file, entry
            known.append(entry.name)
    there = ", ".join(sorted(known)) or "none"
    noun = section.__name__.removeprefix("_").removesuffix("s")
    raise ConfigError(f'There is no {noun} "{name}" in the kubeconfig, asked for by {asked_by}; it has: {there}.')


def _cluster(file: _File, entry: _NamedCluster, *, source: str, namespace: str) -> Connection:
    cluster = entry.cluster
    place = f'cluster "{entry.name}" in {file.path}'
    if not cluster.server.startswith(("https://", "http://")):
        raise ConfigError(f"The server of {place} is not a URL; it must begin with https://.")
    if not _is_place(cluster.server):
        raise ConfigError(f"The server of {place} has no valid host and port; correct it.")
    if "@" in urlsplit(cluster.server).netloc:
        raise ConfigError(
            f"The server of {place} has a login in it, which Kubernetes no longer has; remove it, and use a "
            "certificate, a token or exec."
        )
    authority, where = file.pem(
        "certificate-authority", cluster.certificate_authority_data, cluster.certificate_authority
    )
    if authority:
        _check_authority(authority, where)
    return Connection(
        server=cluster.server.rstrip("/"),
        namespace=namespace,
        source=source,
        certificate_authority=authority,
        verify=not cluster.insecure_skip_tls_verify,
        server_name=cluster.tls_server_name,
        proxy=cluster.proxy_url,
    )


def _is_place(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _with_user(base: Connection, file: _File, entry: _NamedUser) -> Connection:
    user = entry.user or _User()
    place = f'user "{entry.name}" in {file.path}'
    if user.username or user.auth_provider:
        way = "a password" if user.username else "an auth-provider"
        raise ConfigError(
            f"The {place} signs in with {way}, which Kubernetes no longer has; use a certificate, a token or exec."
        )
    certificate, where = file.pem("client-certificate", user.client_certificate_data, user.client_certificate)
    key, _ = file.pem("client-key", user.client_key_data, user.client_key)
    if bool(certificate) != bool(key):
        missing = "client-key" if certificate else "client-certificate"
        raise ConfigError(f"The {place} has no {missing}; a certificate and its key go together.")
    if certificate:
        _check_certificate(certificate, where)
    token_file = file.path.parent / user.token_file if user.token_file else None
    if token_file is not None:
        _text(token_file, f"tokenFile of {place}")
    return replace(
        base,
        client_certificate=certificate,
        client_key=key,
        # As kubectl has it: a token file wins over a token.
        token="" if token_file else user.token,
        token_file=token_file,
        exec_plugin=_exec_plugin(file, place, user.exec, base) if user.exec else None,
        impersonate=tuple(_impersonation(user)),
    )


def _impersonation(user: _User) -> Iterator[tuple[str, str]]:
    """Yield the headers that ask the server to take us for somebody else."""
    if user.impersonate:
        yield "Impersonate-User", user.impersonate
    if user.as_uid:
        yield "Impersonate-Uid", user.as_uid
    for group in user.as_groups:
        yield "Impersonate-Group", group
    for name, values in user.as_user_extra.items():
        for value in values:
            yield f"Impersonate-Extra-{name}", value


def _exec_plugin(file: _File, place: str, plugin: _Exec, base: Connection) -> ExecPlugin:
    if plugin.api_version not in EXEC_API_VERSIONS:
        raise ConfigError(
            f"The exec plugin of {place} speaks {plugin.api_version or 'no apiVersion'}; "
            f"it must be {' or '.join(EXEC_API_VERSIONS)}."
        )
    if plugin.interactive_mode == "Always":
        raise ConfigError(f"The exec plugin of {place} asks questions on a terminal, which a program does not have.")
    # A path with a slash is relative to the kubeconfig, a bare name is looked up in PATH.
    command = str(file.path.parent / plugin.command) if "/" in plugin.command else plugin.command
    found = shutil.which(command)
    if found is None:
        hint = f" {plugin.install_hint.strip()}" if plugin.install_hint else " Install it, or name another user."
        raise ConfigError(f'The exec plugin "{plugin.command}" of {place} is not on this machine.{hint}')
    cluster: JsonObject = {"server": base.server, "insecure-skip-tls-verify": not base.verify}
    if base.certificate_authority:
        authority = base64.b64encode(base.certificate_authority.encode()).decode()
        cluster["certificate-authority-data"] = authority
    if base.server_name:
        cluster["tls-server-name"] = base.server_name
    return ExecPlugin(
        command=found,
        arguments=tuple(plugin.args or ()),
        environment=tuple((variable.name, variable.value) for variable in plugin.env or ()),
        api_version=plugin.api_version,
        cluster=cluster if plugin.provide_cluster_info else None,
    )


def _text(path: Path, what: str) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise ConfigError(
            f"Cannot read {path} ({what}): {error.strerror}; check the path and who may read it."
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} ({what}) is not text; check the path.") from None


def _decoded(data: str, place: str) -> str:
    try:
        return base64.b64decode("".join(data.split()), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise ConfigError(f"The {place} is not base64 of a PEM text; create the kubeconfig again.") from None


def certificates(pem: str, place: str) -> list[x509.Certificate]:
    """Return the certificates of a PEM text; `place` says in a failure's sentence where it stands."""
    try:
        return x509.load_pem_x509_certificates(pem.encode())
    except ValueError:
        raise ConfigError(f"The {place} holds no PEM certificate; create the kubeconfig again.") from None


def _check_certificate(pem: str, place: str) -> None:
    expires = certificates(pem, place)[0].not_valid_after_utc
    if expires < datetime.now(UTC):
        raise ConfigError(
            f"The client certificate in {place} expired on {expires:%Y-%m-%d %H:%M} UTC; get new credentials."
        )


def _check_authority(pem: str, place: str) -> None:
    # A bundle may keep old authorities beside the new; one that is still valid is enough.
    latest = max(certificate.not_valid_after_utc for certificate in certificates(pem, place))
    if latest < datetime.now(UTC):
        raise ConfigError(
            f"The certificate authority in {place} expired on {latest:%Y-%m-%d %H:%M} UTC; get a new kubeconfig."
        )
