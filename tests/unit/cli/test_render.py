"""`stackwright render`, without a cluster."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from stackwright.api.annotations import GENERATED_FOR
from stackwright.cli.commands.render import render
from stackwright.kube.shapes.belonging import MADE_FOR

KEYSTONE = """
apiVersion: keystone.openstack.org/v1beta1
kind: KeystoneAPI
metadata: {name: keystone, namespace: trial}
spec:
  secret: osp-secret
  databaseInstance: openstack
  customServiceConfig: |
    [token]
    expiration = 1800
"""
IMAGE = ("--image", "registry.example/keystone:1")


def run(*arguments: str, text: str = KEYSTONE) -> Result:
    return CliRunner().invoke(render, ["keystone", "-f", "-", *IMAGE, *arguments], input=text)


def documents(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    return {body["metadata"]["name"]: body for body in yaml.safe_load_all(result.stdout)}


def texts(body: dict[str, Any]) -> dict[str, str]:
    decoded = {name: base64.b64decode(value).decode() for name, value in (body.get("data") or {}).items()}
    return {**decoded, **body.get("stringData", {})}


def test_the_secrets_are_those_that_the_chart_names() -> None:
    found = documents(run())
    assert set(found) == {
        "keystone-config-data",
        "keystone-credential-keys",
        "keystone-db-secret",
        "keystone-fernet-keys",
        "openstack-config",
        "openstack-config-secret",
        "osp-secret",
    }
    assert {body["metadata"]["namespace"] for body in found.values()} == {"trial"}
    password = texts(found["keystone-db-secret"])["DatabasePassword"]
    config = texts(found["keystone-config-data"])
    assert f"mysql+pymysql://keystone:{password}@openstack.trial.svc:3306/keystone" in config["01-keystone.conf"]
    assert config["02-keystone-override.conf"] == "[token]\nexpiration = 1800\n"
    assert "memcached-0.memcached.trial.svc:11211" in config["01-keystone.conf"]
    assert set(texts(found["keystone-fernet-keys"])) == {"0", "1"}
    assert len(texts(found["osp-secret"])["AdminPassword"]) == 32


def test_what_an_operator_would_make_is_marked_for_one_that_takes_it_over() -> None:
    found = {name: body["metadata"].get("annotations", {}) for name, body in documents(run()).items()}
    owned, generated = {MADE_FOR: "KeystoneAPI/keystone"}, {GENERATED_FOR: "KeystoneAPI/keystone"}
    assert found == {
        "keystone-config-data": owned,
        "openstack-config": owned,
        "openstack-config-secret": owned,
        "keystone-credential-keys": generated,
        "keystone-db-secret": generated,
        "keystone-fernet-keys": generated,
        # The passwords of all services are the user's.
        "osp-secret": {},
    }


@pytest.mark.parametrize("server", ["cache", "cache:", "cache:99999", "cache:0", ":11211", "cache:x"])
def test_a_memcached_is_a_host_and_a_port(server: str) -> None:
    done = run("--cache-server", "192.0.2.1:11211", "--cache-server", server)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"{server!r} is not a host and a port; write HOST:PORT" in done.stderr


def test_a_secret_in_another_namespace_is_none_of_the_resource(tmp_path: Path) -> None:
    secret = tmp_path / "secret.yaml"
    said = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "osp-secret", "namespace": "other"}}
    secret.write_text(yaml.safe_dump({**said, "stringData": {"AdminPassword": "x"}}))
    done = run("-f", str(secret))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Secret osp-secret is for namespace other, and this is for trial; use --namespace" in done.stderr
    assert documents(run("-f", str(secret), "-n", "other"))


def test_passwords_are_new_each_time() -> None:
    first, second = documents(run()), documents(run())
    assert texts(first["keystone-db-secret"]) != texts(second["keystone-db-secret"])
    assert texts(first["keystone-fernet-keys"]) != texts(second["keystone-fernet-keys"])


def test_what_was_applied_is_kept_when_it_is_given_as_a_file(tmp_path: Path) -> None:
    applied = tmp_path / "secrets.yaml"
    applied.write_text(run().stdout)
    again = run("-f", str(applied))
    assert documents(again) == {body["metadata"]["name"]: body for body in yaml.safe_load_all(applied.read_text())}
    once, twice = run("-f", str(applied), "--values"), run("-f", str(applied), "--values")
    assert once.stdout == twice.stdout
    assert once.stderr == ""


def test_values_of_a_secret_are_not_lost(tmp_path: Path) -> None:
    applied = tmp_path / "secrets.yaml"
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "osp-secret"}}
    values = {"AdminPassword": "aHVu\ndGVyMg==\n", "Picture": "/w=="}
    applied.write_text(yaml.safe_dump({**secret, "data": values}))
    found = documents(run("-f", str(applied)))["osp-secret"]
    assert (found["stringData"], found["data"]) == ({"AdminPassword": "hunter2"}, {"Picture": "/w=="})
    applied.write_text(yaml.safe_dump({**secret, "data": {"AdminPassword": "no base64!"}}))
    done = run("-f", str(applied))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "data.AdminPassword is not valid Base64" in done.stderr


def test_the_values_have_no_secret_and_say_how_the_database_is_made(tmp_path: Path) -> None:
    applied = tmp_path / "secrets.yaml"
    applied.write_text(run().stdout)
    printed = run("-f", str(applied), "--values").stdout
    secret_words = {
        text
        for body in yaml.safe_load_all(applied.read_text())
        if body["kind"] == "Secret" and body["metadata"]["name"] != "keystone-config-data"
        for text in texts(body).values()
    }
    assert len(secret_words) >= 6
    assert [word for word in secret_words if word in printed] == []
    values = yaml.safe_load(printed)
    assert values["image"] == "registry.example/keystone:1"
    assert values["components"]["api"]["config"] == "keystone-config-data"
    assert values["provision"]["database"]["host"] == "openstack.trial.svc"
    assert values["provision"]["database"]["admin"]["secret"] == "openstack-mariadb-root"
    assert values["jobs"]["bootstrap"]["environment"]["OS_BOOTSTRAP_PUBLIC_URL"].startswith("http://keystone-public.")


def test_values_without_their_secrets_come_with_a_word() -> None:
    assert "No file has osp-secret" in run("--values").stderr


def test_the_world_around_it_can_be_said() -> None:
    said = ("--database-host", "db.example", "--database-port", "3307", "--cache-server", "cache.example:11211")
    urls = ("--public-url", "https://id.example", "-n", "elsewhere")
    found = documents(run(*said, *urls))
    config = texts(found["keystone-config-data"])["01-keystone.conf"]
    assert "@db.example:3307/keystone" in config
    assert "memcache_servers = cache.example:11211" in config
    assert "https://id.example/v3" in found["openstack-config"]["data"]["clouds.yaml"]
    assert {body["metadata"]["namespace"] for body in found.values()} == {"elsewhere"}


def test_a_database_that_runs_elsewhere_is_taken_from_the_file() -> None:
    galera = """
---
apiVersion: mariadb.openstack.org/v1beta1
kind: Galera
metadata: {name: openstack}
spec: {external: {hostname: db.example, port: 3310, secret: db-admin}}
"""
    values = yaml.safe_load(run("--values", text=KEYSTONE + galera).stdout)
    assert values["provision"]["database"]["host"] == "db.example"
    assert values["provision"]["database"]["admin"] == {
        "secret": "db-admin",
        "usernameKey": "username",
        "key": "password",
    }


def test_the_charts_jobs_make_the_database_where_the_resource_says_so(tmp_path: Path) -> None:
    by_job = KEYSTONE.replace("  secret:", "  provisioning: Job\n  secret:")
    found = documents(run(text=by_job))
    assert "keystone-db-secret" in found
    applied = tmp_path / "secrets.yaml"
    applied.write_text(yaml.safe_dump_all(found.values()))
    values = yaml.safe_load(run("-f", str(applied), "--values", text=by_job).stdout)
    database = values["provision"]["database"]
    assert (database["host"], database["port"], database["name"]) == ("openstack.trial.svc", 3306, "keystone")
    assert database["account"]["secret"] == "keystone-db-secret"
    assert database["admin"]["secret"] == "openstack-mariadb-root"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            KEYSTONE.replace("  secret:", "  notificationsBus: {cluster: rabbitmq}\n  secret:"),
            "spec.notificationsBus: how to log in to rabbitmq is not known here; put a Secret "
            "rabbitmq-transport-url-keystone-notifications",
            id="a-broker-that-nobody-logs-in-to",
        ),
        pytest.param(
            KEYSTONE.replace("  secret:", "  override: {service: {public: {spec: {type: NodePort}}}}\n  secret:"),
            "spec.override.service.public: only the cluster knows which URL a Service of type NodePort gets; say "
            "it by --public-url",
            id="an-address-that-only-the-cluster-knows",
        ),
        pytest.param(
            KEYSTONE.replace("expiration = 1800", "expiration"),
            "spec.customServiceConfig",
            id="a-snippet-that-cannot-be-read",
        ),
        pytest.param(
            KEYSTONE.replace("  secret:", "  tls: {caBundleSecretName: ca}\n  secret:"),
            "spec.tls.caBundleSecretName: TLS is not supported yet",
            id="what-is-not-supported-yet",
        ),
        pytest.param(
            "{apiVersion: memcached.openstack.org/v1beta1, kind: Memcached, metadata: {name: memcached}}",
            "The files have no KeystoneAPI; they have Memcached memcached",
            id="a-file-of-something-else",
        ),
        pytest.param(f"{KEYSTONE}\n---\n{KEYSTONE}", "several KeystoneAPI", id="several-of-them"),
    ],
)
def test_nothing_is_made_up(text: str, said: str) -> None:
    result = run(text=text)
    assert result.exit_code == 2
    assert said in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("service", ["memcached", "mariadb", "rabbitmq", "galera", "keystone", "placement"])
def test_every_service_is_rendered_without_a_file(service: str) -> None:
    result = CliRunner().invoke(render, [service, *IMAGE, "--values"])
    assert result.exit_code == 0, result.output
    assert yaml.safe_load(result.stdout)["image"] == "registry.example/keystone:1"


def test_an_unknown_service_is_answered_with_those_that_there_are() -> None:
    result = CliRunner().invoke(render, ["teapot"])
    assert result.exit_code == 2
    said = result.output.partition("there is no service teapot; there are ")[2]
    assert {"keystone", "placement"} <= set(said.strip().split(", "))


def test_a_service_enters_the_catalog_by_a_job() -> None:
    resource = KEYSTONE.replace("keystone.openstack.org", "placement.openstack.org").replace(
        "KeystoneAPI", "PlacementAPI"
    )
    text = resource.replace("name: keystone", "name: placement")
    found = CliRunner().invoke(render, ["placement", "-f", "-", *IMAGE, "--values"], input=text)
    assert found.exit_code == 0, found.output
    identity = yaml.safe_load(found.stdout)["provision"]["identity"]
    assert identity["url"] == "http://keystone-internal.trial.svc:5000"
    assert identity["user"] == {"username": "placement", "secret": "osp-secret", "key": "PlacementPassword"}
    assert identity["endpoints"]["public"] == "http://placement-public.trial.svc:8778"


def test_a_chart_of_the_users_own_gets_the_same_values(tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.yaml"
    secrets.write_text(run().stdout)
    own = f"{KEYSTONE}  chart: {{configMap: {{name: mine}}}}\n"
    ours = run("-f", str(secrets), "--values")
    theirs = run("-f", str(secrets), "--values", text=own)
    assert theirs.exit_code == 0, theirs.output
    assert theirs.stdout == ours.stdout
    refused = run("--manifests", text=own)
    assert (refused.exit_code, "helm template" in refused.output) == (2, True)


def test_the_volumes_that_a_service_keeps_come_with_its_secrets() -> None:
    said = """
apiVersion: glance.openstack.org/v1beta1
kind: Glance
metadata: {name: glance, namespace: trial}
spec: {databaseInstance: openstack, secret: osp-secret, storage: {storageClass: disks, storageRequest: 5G}}
"""
    found = documents(CliRunner().invoke(render, ["glance", "-f", "-", *IMAGE], input=said))
    claim = found["glance-default"]
    assert (claim["kind"], claim["metadata"]["namespace"]) == ("PersistentVolumeClaim", "trial")
    assert claim["spec"]["resources"] == {"requests": {"storage": "5G"}}


BARBICAN = """
apiVersion: barbican.openstack.org/v1beta1
kind: Barbican
metadata: {name: barbican}
spec: {secret: osp-secret, databaseInstance: openstack}
"""
GLANCE = """
apiVersion: glance.openstack.org/v1beta1
kind: Glance
metadata: {name: glance}
spec: {secret: osp-secret, databaseInstance: openstack}
"""
BUS = """
---
apiVersion: v1
kind: Secret
metadata: {name: rabbitmq-transport-url-barbican-messaging}
stringData: {transport_url: "rabbit://user:hop@rabbitmq.openstack.svc:5672/"}
"""


@pytest.mark.parametrize(
    ("service", "text"),
    [
        pytest.param("barbican", BARBICAN + BUS, id="an-api-that-is-a-component"),
        pytest.param("glance", GLANCE, id="one-of-several-apis"),
    ],
)
def test_a_public_url_reaches_the_api_that_the_catalog_lists(service: str, text: str) -> None:
    words = [service, "-f", "-", *IMAGE, "--values", "--public-url", "https://cloud.example"]
    values = yaml.safe_load(CliRunner().invoke(render, words, input=text).stdout)
    assert values["provision"]["identity"]["endpoints"]["public"] == "https://cloud.example"


def test_a_broker_that_calls_go_by_has_to_be_known_and_a_key_is_one_of_fernet() -> None:
    missing = CliRunner().invoke(render, ["barbican", "-f", "-", *IMAGE], input=BARBICAN)
    assert missing.exit_code != 0
    assert "spec.messagingBus: how to log in to rabbitmq is not known here; put a Secret" in missing.output
    found = documents(CliRunner().invoke(render, ["barbican", "-f", "-", *IMAGE], input=BARBICAN + BUS))
    key = texts(found["osp-secret"])["BarbicanSimpleCryptoKEK"]
    assert len(base64.b64decode(key, altchars=b"-_", validate=True)) == 32


@pytest.mark.parametrize("word", ["MariaDBDatabase", "transporturl", "openstackcontrolplane"])
def test_a_kind_without_a_chart_says_what_to_look_at(word: str) -> None:
    found = CliRunner().invoke(render, [word, *IMAGE])
    assert (found.exit_code, found.stdout) == (2, "")
    assert "has no chart: an operator acts on it directly" in found.stderr
    assert f"docs/reference/{word.lower()}.md" in found.stderr
    assert "there are barbican, " in found.stderr
    assert (Path(__file__).parents[3] / "docs" / "reference" / f"{word.lower()}.md").exists()


def test_a_service_without_secrets_says_so() -> None:
    found = CliRunner().invoke(render, ["memcached", *IMAGE])
    assert (found.exit_code, found.stdout) == (0, "")
    assert "memcached/memcached has neither Secrets nor ConfigMaps; --values and --manifests" in found.stderr
