"""Keystone in the cloud, with the MariaDB and the memcached under it, asked by the real client."""

import json
import os
import subprocess
import urllib.error

import pytest

from tests.e2e import cloud as clouds
from tests.e2e.cloud import OPERATORS, Cloud
from tests.e2e.waiting import eventually

# What drift may last, with a little for the look itself.
REPAIRED = 75.0


def test_the_control_plane_is_ready_for_everybody_who_asks(cloud: Cloud) -> None:
    cloud.kubectl("wait", "--for=condition=Ready", "openstackcontrolplane", "--all", "--timeout=60s")
    status = json.loads(cloud.stackwright("status", "--output", "json"))
    assert status["state"] == "Ready"


def test_the_client_makes_projects_users_and_roles(cloud: Cloud) -> None:
    assert cloud.openstack("token", "issue")["project_id"]
    assert "identity" in cloud.catalog()
    project = cloud.openstack("project", "create", "kitchen")
    user = cloud.openstack("user", "create", "cook", "--password", "salt-and-pepper", "--project", "kitchen")
    cloud.kubectl(
        "exec", "client", "--", "openstack", "role", "add", "--user", "cook", "--project", "kitchen", "member"
    )
    assigned = cloud.openstack("role", "assignment", "list", "--user", user["id"], "--names")
    assert [entry["Role"] for entry in assigned] == ["member"]
    assert project["name"] == "kitchen"


def test_the_urls_of_the_catalog_work_from_where_they_promise(cloud: Cloud) -> None:
    urls = {entry["Interface"]: entry["URL"] for entry in cloud.openstack("endpoint", "list", "--service", "identity")}
    assert urls == {interface: cloud.endpoint(interface) for interface in ("public", "internal")}
    # From this machine by the public one, from a pod by both.
    assert cloud.is_valid(cloud.token())
    for url in urls.values():
        script = f"import urllib.request; print(urllib.request.urlopen('{url}/v3').status)"
        assert cloud.kubectl.inside("client", "python3", "-c", script).strip() == "200"


def test_openrc_logs_in_from_this_machine(cloud: Cloud) -> None:
    # As a shell reads it; what the shell of this run says of a cloud must not help.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    printed = subprocess.run(
        ["bash", "-c", "set -eu; source /dev/stdin; env -0"],
        input=cloud.stackwright("openrc"),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    said = dict(line.split("=", 1) for line in printed.split("\0") if line.startswith("OS_"))
    cloud.reached()
    token = clouds.log_in(
        said["OS_AUTH_URL"],
        user=(said["OS_USERNAME"], said["OS_USER_DOMAIN_NAME"]),
        password=said["OS_PASSWORD"],
        project=(said["OS_PROJECT_NAME"], said["OS_PROJECT_DOMAIN_NAME"]),
    )
    assert cloud.is_valid(token)
    with pytest.raises(urllib.error.HTTPError, match="401"):
        clouds.log_in(said["OS_AUTH_URL"], password=f"not {said['OS_PASSWORD']}")


def test_keys_turn_and_older_tokens_stay_valid(cloud: Cloud) -> None:
    def keys() -> int:
        return int(cloud.kubectl("get", "secret", "keystone-fernet-keys", "--template={{len .data}}"))

    before, count = cloud.token(), keys()
    cloud.act("keystone", "rotate-keys", "e2e")
    assert keys() == count + 1
    assert cloud.is_valid(before)
    assert cloud.is_valid(cloud.token())


def test_a_dropped_grant_is_given_again_by_itself(cloud: Cloud) -> None:
    root = clouds.secret(cloud.kubectl, "openstack-mariadb-root", "DatabasePassword")
    user = cloud.kubectl.get("mariadbaccount/keystone", "{.spec.userName}")

    def sql(statement: str) -> str:
        command = f"MYSQL_PWD='{root}' mariadb -h 127.0.0.1 -uroot -N -e \"{statement}\""
        return cloud.kubectl("exec", "openstack-galera-0", "--", "sh", "-c", command)

    # In one session: the operator looks at it again at any time.
    shown = sql(f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM '{user}'@'%'; SHOW GRANTS FOR '{user}'@'%'")
    assert "keystone" not in shown.replace(f"'{user}'", "").replace(f"`{user}`", "")

    def granted() -> bool:
        found = next((line for line in sql(f"SHOW GRANTS FOR '{user}'@'%'").splitlines() if "`keystone`.*" in line), "")
        return "CREATE" in found and "ALL PRIVILEGES" not in found

    eventually(granted, "the grant is back", REPAIRED)


def test_a_wrong_image_is_told_and_heals(cloud: Cloud) -> None:
    def image(reference: str) -> None:
        body = {"spec": {"containerImage": reference}}
        cloud.kubectl("patch", "keystoneapi", "keystone", "--type=merge", f"--patch={json.dumps(body)}")

    def message() -> str:
        return cloud.kubectl.get("keystoneapi/keystone", "{.status.conditions[?(@.type=='Ready')].message}")

    token = cloud.token()
    try:
        image("registry.invalid/keystone:none")
        eventually(lambda: "cannot get its image registry.invalid/keystone:none" in message(), message)
        # The old pods go on until the new ones are ready.
        assert cloud.is_valid(token)
    finally:
        # Whatever happens: who looks at Keystone next must not find this image in its status.
        image("")
        cloud.settle()


@pytest.mark.parametrize(("host", "port"), [("openstack", 3306), ("memcached", 11211)])
def test_only_who_needs_it_reaches_it(cloud: Cloud, host: str, port: int) -> None:
    assert dialled(cloud, "deployment/keystone", host, port).stdout.strip() == "reached"
    assert "ConnectionRefusedError" in dialled(cloud, "client", host, port).stderr


def dialled(cloud: Cloud, pod: str, host: str, port: int) -> subprocess.CompletedProcess[str]:
    """Open a connection from a pod."""
    script = f"import socket; socket.create_connection(('{host}', {port}), timeout=10); print('reached')"
    command = cloud.kubectl.command("exec", pod, "--", "python3", "-c", script)
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_operators_tell_a_stranger_nothing_and_read_no_secret_outside_of_the_cloud(cloud: Cloud) -> None:
    system = f"--namespace={OPERATORS}"
    address = cloud.kubectl("get", "pods", system, "--output=jsonpath={.items[0].status.podIP}")
    # The API server may ask the webhooks, from wherever it is; the metrics are for those that the chart names.
    assert dialled(cloud, "client", address, 9443).stdout.strip() == "reached"
    assert "ConnectionRefusedError" in dialled(cloud, "client", address, 8080).stderr
    account = f"--as=system:serviceaccount:{OPERATORS}:stackwright-operator"
    assert cloud.kubectl("auth", "can-i", "list", "secrets", account).strip() == "yes"
    for namespace in ("kube-system", OPERATORS, "default"):
        command = cloud.kubectl.command("auth", "can-i", "list", "secrets", f"--namespace={namespace}", account)
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.stdout.strip(), done.returncode) == ("no", 1), namespace


def signalled(cloud: Cloud, signal: str) -> None:
    """Send a signal to memcached itself, in its pod."""
    each = (
        f'for found in /proc/[0-9]*; do [ "$(cat $found/comm)" != memcached ] || kill -{signal} ${{found#/proc/}}; done'
    )
    cloud.kubectl("exec", "memcached-0", "--", "sh", "-c", each)


def test_a_catalog_that_the_cache_did_not_hear_of_is_not_old_for_long(cloud: Cloud) -> None:
    def known() -> int:
        return next(len(entry["Endpoints"]) for entry in cloud.openstack("catalog", "list") if entry["Type"] == "tea")

    cloud.openstack("service", "create", "--name", "tea", "tea")
    try:
        assert known() == 0
        signalled(cloud, "STOP")
        try:
            cloud.openstack("endpoint", "create", "--region", "regionOne", "tea", "public", "http://tea.example.org")
        finally:
            signalled(cloud, "CONT")
        eventually(lambda: known() == 1, "the endpoint is in the catalog", 90.0)
    finally:
        cloud.kubectl("exec", "client", "--", "openstack", "service", "delete", "tea")
