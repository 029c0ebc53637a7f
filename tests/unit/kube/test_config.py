"""How a cluster is found: kubeconfig files, the pod's service account, and every way in which they can be broken."""

import base64
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from stackwright.kube import config
from stackwright.kube.credentials import Credentials
from stackwright.kube.errors import ConfigError


def certificate(*, days: int = 1) -> tuple[str, str]:
    """Return a certificate, valid for that many days from now (or until so many ago), and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=400))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM).decode()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    return pem, private


PEM, KEY = certificate()
OTHER_PEM, OTHER_KEY = certificate()
EXPIRED_PEM, EXPIRED_KEY = certificate(days=-3)


def data(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def kubeconfig(cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a kubeconfig with one of each, changed as told."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "one", "user": "me", "namespace": "work"}}],
        "clusters": [{"name": "one", "cluster": {"server": "https://one:6443", **(cluster or {})}}],
        "users": [{"name": "me", "user": {"token": "hush-hush", **(user or {})}}],
    }


@pytest.fixture(autouse=True)
def _no_cluster_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(content: dict[str, Any] | str, name: str = "config") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return path

    return write


Write = Callable[..., Path]


def test_a_kubeconfig_is_read(write: Write) -> None:
    path = write(
        kubeconfig(
            {"certificate-authority-data": data(PEM), "tls-server-name": "other", "proxy-url": "http://proxy:1"},
            {"client-certificate-data": data(PEM), "client-key-data": data(KEY), "as": "you", "as-groups": ["a", "b"]},
        )
    )
    assert config.load(path) == config.Connection(
        server="https://one:6443",
        namespace="work",
        source=f'{path}, context "here"',
        certificate_authority=PEM,
        server_name="other",
        proxy="http://proxy:1",
        client_certificate=PEM,
        client_key=KEY,
        token="hush-hush",
        impersonate=(("Impersonate-User", "you"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b")),
    )


def test_files_are_relative_to_the_kubeconfig(write: Write, tmp_path: Path) -> None:
    write(PEM, "deep/pki/ca.crt")
    write("token of a file\n", "deep/pki/token")
    path = write(kubeconfig({"certificate-authority": "pki/ca.crt"}, {"tokenFile": "pki/token"}), "deep/config")
    connection = config.load(path)
    assert connection.certificate_authority == PEM
    assert (connection.token, connection.token_file) == ("", tmp_path / "deep/pki/token")


def test_no_secret_is_shown(write: Write) -> None:
    user = {"client-certificate-data": data(PEM), "client-key-data": data(KEY)}
    shown = repr(config.load(write(kubeconfig(user=user))))
    assert "hush-hush" not in shown
    assert "PRIVATE KEY" not in shown


def test_another_context_can_be_named(write: Write) -> None:
    content = kubeconfig()
    content["contexts"].append({"name": "there", "context": {"cluster": "one"}})
    connection = config.load(write(content), "there")
    assert (connection.namespace, connection.token) == ("default", "")


def test_the_home_file_alone_is_never_used(write: Write) -> None:
    write(kubeconfig(), "home/.kube/config")
    with pytest.raises(ConfigError, match="No cluster is named: set KUBECONFIG or name a context"):
        config.load()


def test_the_home_file_is_used_for_a_context_that_is_named(write: Write) -> None:
    write(kubeconfig(), "home/.kube/config")
    assert config.load(context="here").server == "https://one:6443"


def test_kubeconfig_wins_over_the_home_file(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write(kubeconfig(), "home/.kube/config")
    monkeypatch.setenv("KUBECONFIG", str(write(kubeconfig({"server": "https://two:6443"}))))
    assert config.load(context="here").server == "https://two:6443"


def test_the_files_of_kubeconfig_are_merged_and_the_first_wins(
    write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = write(
        {"contexts": [{"name": "mixed", "context": {"cluster": "one", "user": "you"}}], "clusters": None}, "first"
    )
    second = write({**kubeconfig({"server": "https://two"}), "current-context": "mixed"}, "second")
    third = kubeconfig({"server": "https://three"})
    third["users"].append({"name": "you", "user": {"token": "yours"}})
    monkeypatch.setenv("KUBECONFIG", f"{first}:{tmp_path / 'missing'}::{second}:{write(third, 'third')}")
    connection = config.load()
    assert (connection.server, connection.token) == ("https://two", "yours")


def changed(**sections: Any) -> dict[str, Any]:
    return {**kubeconfig(), **sections}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        pytest.param("a: [1,\nb: }", r"config is not valid YAML: line 2: ", id="broken-yaml-with-its-line"),
        pytest.param("a: \x07", "config is not valid YAML", id="a-character-that-yaml-has-not"),
        pytest.param("just words", "config is not a kubeconfig: the whole: Expected `object`", id="not-a-mapping"),
        pytest.param("", "config has no current-context", id="empty"),
        pytest.param(changed(clusters=[{"name": 7}]), r"clusters\[0\]\.name: Expected `str`, got `int`", id="a-number"),
        pytest.param(
            changed(**{"current-context": "gone"}),
            r'no context "gone" in the kubeconfig, asked for by .*config; it has: here\.',
            id="unknown-context",
        ),
        pytest.param(
            changed(clusters=[]), 'no cluster "one" .* asked for by context "here"; it has: none', id="unknown-cluster"
        ),
        pytest.param(changed(users=[{"name": "you"}]), 'no user "me" .* it has: you', id="unknown-user"),
        pytest.param(
            changed(contexts=[{"name": "here", "context": {}}]), "names no cluster; set its field", id="no-cluster"
        ),
        pytest.param(kubeconfig({"server": "one:6443"}), 'server of cluster "one" .* is not a URL', id="not-a-url"),
        pytest.param(
            kubeconfig({"certificate-authority-data": "%%%"}),
            "certificate-authority-data in .*config is not base64",
            id="bad-base64",
        ),
        pytest.param(
            kubeconfig({"certificate-authority-data": data("words")}), "holds no PEM certificate", id="not-pem"
        ),
        pytest.param(
            kubeconfig({"certificate-authority": "ca.crt"}),
            r"Cannot read .*/ca\.crt \(certificate-authority in .*config\): No such file",
            id="a-missing-file",
        ),
        pytest.param(
            kubeconfig({"certificate-authority-data": data(EXPIRED_PEM)}),
            r"The certificate authority in .* expired on \d{4}-\d\d-\d\d \d\d:\d\d UTC; get a new kubeconfig",
            id="an-expired-authority",
        ),
        pytest.param(
            kubeconfig(user={"client-certificate-data": data(EXPIRED_PEM), "client-key-data": data(EXPIRED_KEY)}),
            r"The client certificate in .*config expired on \d{4}-\d\d-\d\d \d\d:\d\d UTC; get new credentials",
            id="an-expired-certificate",
        ),
        pytest.param(
            kubeconfig(user={"client-certificate-data": data(PEM)}), 'user "me" in .* has no client-key', id="no-key"
        ),
        pytest.param(kubeconfig(user={"tokenFile": "token"}), "Cannot read .*/token", id="a-missing-token-file"),
        pytest.param(
            kubeconfig(user={"username": "me", "password": "hidden"}), "signs in with a password", id="a-password"
        ),
        pytest.param(kubeconfig(user={"auth-provider": {"name": "gcp"}}), "with an auth-provider", id="a-provider"),
        pytest.param(
            kubeconfig(user={"exec": {"command": "true", "apiVersion": "client.authentication.k8s.io/v1alpha1"}}),
            "speaks client.authentication.k8s.io/v1alpha1; it must be",
            id="an-old-exec-plugin",
        ),
        pytest.param(
            kubeconfig(
                user={
                    "exec": {
                        "command": "no-such-plugin",
                        "apiVersion": "client.authentication.k8s.io/v1",
                        "installHint": "Get it from the store.",
                    }
                }
            ),
            'exec plugin "no-such-plugin" of user "me" in .* is not on this machine. Get it from the store.',
            id="a-missing-exec-plugin",
        ),
        pytest.param(
            kubeconfig(
                user={
                    "exec": {
                        "command": "true",
                        "apiVersion": "client.authentication.k8s.io/v1",
                        "interactiveMode": "Always",
                    }
                }
            ),
            "asks questions on a terminal",
            id="a-plugin-that-asks",
        ),
        pytest.param(
            kubeconfig({"server": "https://one:99999"}),
            'The server of cluster "one" in .* has no valid host and port',
            id="an-impossible-port",
        ),
        pytest.param(
            kubeconfig({"server": "https://me:hidden@one:6443"}),
            'The server of cluster "one" in .* has a login in it',
            id="a-login-in-the-url",
        ),
    ],
)
def test_a_broken_kubeconfig_is_one_sentence(write: Write, content: dict[str, Any] | str, sentence: str) -> None:
    path = write(content)
    with pytest.raises(ConfigError, match=sentence) as caught:
        config.load(path)
    assert str(path) in str(caught.value) or "the kubeconfig" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "hidden" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"The kubeconfig .*/gone does not exist"):
        config.load(tmp_path / "gone")
    with pytest.raises(ConfigError, match='to look for the context "here" in'):
        config.load(context="here")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/gone:{tmp_path}/too")
    with pytest.raises(ConfigError, match=r"KUBECONFIG names .*/gone:.*/too, which does not exist"):
        config.load()


def test_a_directory_is_not_a_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Is a directory"):
        config.load(tmp_path)


def test_one_valid_authority_of_a_bundle_is_enough(write: Write) -> None:
    path = write(kubeconfig({"certificate-authority-data": data(EXPIRED_PEM + PEM)}))
    assert config.load(path).certificate_authority == EXPIRED_PEM + PEM


async def test_a_key_of_another_certificate_is_one_sentence(write: Write) -> None:
    path = write(kubeconfig(user={"client-certificate-data": data(PEM), "client-key-data": data(OTHER_KEY)}))
    with pytest.raises(ConfigError, match="does not belong to the certificate; get new credentials"):
        await Credentials(config.load(path)).current()


async def test_a_key_that_is_none_is_one_sentence(write: Write) -> None:
    path = write(kubeconfig(user={"client-certificate-data": data(PEM), "client-key-data": data("words")}))
    with pytest.raises(ConfigError, match="is not a PEM key; get new credentials"):
        await Credentials(config.load(path)).current()


# In a pod.


@pytest.fixture
def pod(write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    write("token\n", "account/token")
    write(PEM, "account/ca.crt")
    write("work", "account/namespace")
    return tmp_path / "account"


def test_a_pod_uses_its_service_account(pod: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.in_cluster(pod) == config.Connection(
        server="https://10.0.0.1:443",
        namespace="work",
        source=f"the pod's service account in {pod}",
        certificate_authority=PEM,
        token_file=pod / "token",
    )
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    assert config.in_cluster(pod).server == "https://[fd00::1]:443"


def test_elsewhere_than_in_a_pod_there_is_no_service_account(pod: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (pod / "token").unlink()
    with pytest.raises(ConfigError, match=r"Cannot read .*/token \(the service account's token\)"):
        config.in_cluster(pod)
    (pod / "token").write_text("")
    with pytest.raises(ConfigError, match="is empty; give the pod a service account"):
        config.in_cluster(pod)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    with pytest.raises(ConfigError, match="does not run in a pod"):
        config.in_cluster(pod)
