"""What Keystone's chart renders: what changes with what, who waits for whom, and where secrets come from."""

from typing import Any

import pytest

from tests.charts.conftest import Render

Objects = dict[tuple[str, str], dict[str, Any]]

DEPLOYMENT = ("Deployment", "keystone")
DB_SYNC = ("Job", "keystone-db-sync-abc")
BOOTSTRAP = ("Job", "keystone-bootstrap-def")


def pod(objects: Objects, name: tuple[str, str]) -> dict[str, Any]:
    spec = objects[name]["spec"]
    template = spec["jobTemplate"]["spec"]["template"] if name[0] == "CronJob" else spec["template"]
    return dict(template["spec"])


def waits_for(objects: Objects, name: tuple[str, str]) -> list[str]:
    return [container["name"] for container in pod(objects, name).get("initContainers", [])]


def mounts(container: dict[str, Any]) -> set[str]:
    return {mount["mountPath"] for mount in container["volumeMounts"]}


def changed(before: Objects, after: Objects) -> set[tuple[str, str]]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def test_everything_that_was_asked_for_is_there(render: Render) -> None:
    assert set(render("keystone")) == {
        DEPLOYMENT,
        ("PodDisruptionBudget", "keystone"),
        ("Service", "keystone-public"),
        ("Service", "keystone-internal"),
        ("ServiceAccount", "keystone"),
        ("ConfigMap", "keystone-wait"),
        ("Role", "keystone-wait"),
        ("RoleBinding", "keystone-wait"),
        ("ConfigMap", "keystone-db-create"),
        ("Job", "keystone-db-create-789"),
        DB_SYNC,
        BOOTSTRAP,
        ("Job", "keystone-credential-migrate-123"),
        ("Job", "keystone-action-sync-database-456"),
        ("CronJob", "keystone-trust-flush"),
        ("NetworkPolicy", "keystone"),
        ("NetworkPolicy", "keystone-api"),
    }


CHANGES = {
    "a new configuration rolls the API alone": ("components.api.hash=second", {DEPLOYMENT}),
    "a new db-sync is another Job, and those who wait for it stay as they are": (
        "jobs.db-sync.hash=new",
        {DB_SYNC, ("Job", "keystone-db-sync-new"), ("ConfigMap", "keystone-wait"), ("Role", "keystone-wait")},
    ),
    "a new bootstrap is another Job": ("jobs.bootstrap.hash=new", {BOOTSTRAP, ("Job", "keystone-bootstrap-new")}),
    "an action asked for again is another Job": (
        "actions.sync-database.hash=new",
        {("Job", "keystone-action-sync-database-456"), ("Job", "keystone-action-sync-database-new")},
    ),
    "one replica needs no budget": ("components.api.replicas=1", {DEPLOYMENT, ("PodDisruptionBudget", "keystone")}),
    "a public NodePort changes its Service alone": ("services.public.type=NodePort", {("Service", "keystone-public")}),
    "a Service can be left out": ("services.public=null", {("Service", "keystone-public")}),
}


@pytest.mark.parametrize(("value", "expected"), [pytest.param(*case, id=name) for name, case in CHANGES.items()])
def test_a_change_reaches_only_what_reads_it(render: Render, value: str, expected: set[tuple[str, str]]) -> None:
    assert changed(render("keystone"), render("keystone", "--set", value)) == expected


def test_nothing_is_rendered_that_was_not_asked_for(render: Render) -> None:
    nothing = "components=null,jobs=null,actions=null,schedules=null,provision=null,keyRings=null,networkPolicies=null"
    expected = {("Service", "keystone-public"), ("Service", "keystone-internal")}
    assert set(render("keystone", "--set", nothing)) == expected


def test_all_wait_for_db_sync_which_waits_for_the_database(render: Render) -> None:
    objects = render("keystone")
    assert waits_for(objects, DB_SYNC) == ["wait-for-db-create"]
    for name in (DEPLOYMENT, BOOTSTRAP, ("CronJob", "keystone-trust-flush")):
        assert waits_for(objects, name) == ["wait-for-db-sync"]
    assert objects["ConfigMap", "keystone-wait"]["data"]["db-sync"] == "keystone-db-sync-abc"
    assert objects["ConfigMap", "keystone-wait"]["data"]["db-create"] == "keystone-db-create-789"


def test_with_its_database_made_elsewhere_db_sync_waits_for_nobody(render: Render) -> None:
    objects = render("keystone", "--set", "provision=null")
    assert waits_for(objects, DB_SYNC) == []
    assert ("Job", "keystone-db-create-789") not in objects


def test_only_who_waits_has_a_token_and_may_see_only_what_it_waits_for(render: Render) -> None:
    objects = render("keystone")
    for name in (DEPLOYMENT, DB_SYNC, BOOTSTRAP):
        found = pod(objects, name)
        tokens = [volume["name"] for volume in found["volumes"] if "projected" in volume]
        with_token = [
            container["name"]
            for container in (*found["initContainers"], *found["containers"])
            if {mount["name"] for mount in container["volumeMounts"]} & set(tokens)
        ]
        assert tokens == ["wait-token"]
        assert with_token == waits_for(objects, name)
    config_maps, jobs = objects["Role", "keystone-wait"]["rules"]
    assert (config_maps["resourceNames"], config_maps["verbs"]) == (["keystone-wait"], ["get"])
    assert jobs["resourceNames"] == ["keystone-db-create-789", "keystone-db-sync-abc"]
    assert jobs["verbs"] == ["get", "watch"]


def test_an_action_runs_what_its_job_runs(render: Render) -> None:
    objects = render("keystone")
    assert pod(objects, ("Job", "keystone-action-sync-database-456")) == pod(objects, DB_SYNC)


def test_key_rings_are_the_repositories_of_all_but_db_sync(render: Render) -> None:
    objects = render("keystone")
    rings = {"/etc/keystone/fernet-keys", "/etc/keystone/credential-keys"}
    for name in (
        DEPLOYMENT,
        BOOTSTRAP,
        ("Job", "keystone-credential-migrate-123"),
        ("CronJob", "keystone-trust-flush"),
    ):
        assert rings <= mounts(pod(objects, name)["containers"][0])
    assert not rings & mounts(pod(objects, DB_SYNC)["containers"][0])
    modes = {
        volume["name"]: volume["secret"]["defaultMode"]
        for volume in pod(objects, DEPLOYMENT)["volumes"]
        if volume["name"].endswith("-keys")
    }
    assert modes == {"fernet-keys": 0o440, "credential-keys": 0o440}


def test_passwords_come_from_secrets(render: Render) -> None:
    objects = render("keystone")
    references = {
        variable["name"]: variable["valueFrom"]["secretKeyRef"]
        for name in (BOOTSTRAP, ("Job", "keystone-db-create-789"))
        for variable in pod(objects, name)["containers"][0]["env"]
        if "PASSWORD" in variable["name"]
    }
    assert references == {
        "OS_BOOTSTRAP_PASSWORD": {"name": "keystone-admin", "key": "AdminPassword"},
        "ADMIN_PASSWORD": {"name": "openstack-mariadb-root", "key": "DatabasePassword"},
        "ACCOUNT_PASSWORD": {"name": "keystone-db-secret", "key": "DatabasePassword"},
    }


def test_a_pod_drains_before_it_is_stopped_and_has_time_to_finish(render: Render) -> None:
    found = pod(render("keystone", "--set", "components.api.stop.drain=20"), DEPLOYMENT)
    environment = {variable["name"]: variable.get("value") for variable in found["containers"][0]["env"]}
    assert found["containers"][0]["lifecycle"] == {"preStop": {"sleep": {"seconds": 20}}}
    assert environment["UWSGI_HOOK_MASTER_START"] == "unix_signal:15 gracefully_kill_them_all"
    assert found["terminationGracePeriodSeconds"] > 20 + int(environment["UWSGI_WORKER_RELOAD_MERCY"] or 0)


def test_a_rollout_takes_no_pod_away_before_another_is_ready(render: Render) -> None:
    strategy = render("keystone")[DEPLOYMENT]["spec"]["strategy"]
    assert strategy == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}


def test_probes_are_merged_and_another_way_replaces_the_charts(render: Render) -> None:
    before = pod(render("keystone"), DEPLOYMENT)["containers"][0]
    settings = "components.api.probes.liveness.periodSeconds=7,components.api.probes.readiness.tcpSocket.port=api"
    after = pod(render("keystone", "--set", settings), DEPLOYMENT)["containers"][0]
    assert after["livenessProbe"] == before["livenessProbe"] | {"periodSeconds": 7}
    assert after["readinessProbe"]["tcpSocket"] == {"port": "api"}
    assert "httpGet" not in after["readinessProbe"]


def test_without_a_hash_a_job_is_named_by_its_values(render: Render) -> None:
    def names(*arguments: str) -> set[str]:
        return {name for kind, name in render("keystone", "--set", "jobs.db-sync.hash=", *arguments) if kind == "Job"}

    before, again, another = names(), names(), names("--set", "image=localhost/openstack:other")
    assert before == again
    assert len([name for name in before - another if name.startswith("keystone-db-sync-")]) == 1


def test_kollas_own_images_get_what_sudo_needs(render: Render) -> None:
    context = pod(render("keystone", "--set", "sudo=true"), DEPLOYMENT)["containers"][0]["securityContext"]
    assert context["allowPrivilegeEscalation"] is True
    assert {"SETUID", "SETGID"} <= set(context["capabilities"]["add"])
