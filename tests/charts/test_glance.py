"""What Glance's chart renders: APIs under names of the user's own, and what follows from where images are."""

from typing import Any

import pytest

from tests.charts.conftest import Refuse, Render

Objects = dict[tuple[str, str], dict[str, Any]]

EXTERNAL, INTERNAL = ("Deployment", "glance-default-external"), ("Deployment", "glance-default-internal")
S3, WIDE = ("Deployment", "glance-s3"), ("Deployment", "glance-wide")
DB_SYNC = ("Job", "glance-db-sync-abc")


def pod(objects: Objects, name: tuple[str, str]) -> dict[str, Any]:
    spec = objects[name]["spec"]
    template = spec["jobTemplate"]["spec"]["template"] if name[0] == "CronJob" else spec["template"]
    return dict(template["spec"])


def environment(objects: Objects, name: tuple[str, str]) -> dict[str, Any]:
    return {variable["name"]: variable.get("value") for variable in pod(objects, name)["containers"][0]["env"]}


def data(objects: Objects, name: tuple[str, str]) -> dict[str, Any]:
    (found,) = (volume for volume in pod(objects, name)["volumes"] if volume["name"] == "data")
    return {key: value for key, value in found.items() if key != "name"}


def changed(before: Objects, after: Objects) -> set[tuple[str, str]]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def test_everything_that_was_asked_for_is_there(render: Render) -> None:
    assert set(render("glance")) == {
        *(EXTERNAL, INTERNAL, S3, WIDE, DB_SYNC),
        *(("PodDisruptionBudget", f"glance-{name}") for name in ("s3", "wide")),
        *(("Service", f"glance-{api}-{end}") for api in ("default", "s3", "wide") for end in ("public", "internal")),
        *(("ConfigMap", f"glance-{name}") for name in ("wait", "db-create", "identity-create")),
        ("ServiceAccount", "glance"),
        ("Role", "glance-wait"),
        ("RoleBinding", "glance-wait"),
        ("Job", "glance-load-metadefs-def"),
        ("Job", "glance-db-create-789"),
        ("Job", "glance-identity-create-012"),
        ("Job", "glance-action-purge-database-456"),
        ("CronJob", "glance-db-purge"),
        ("NetworkPolicy", "glance"),
        ("NetworkPolicy", "glance-default-external"),
    }


CHANGES = {
    "a new configuration rolls its own component": ("components.default-external.hash=second", {EXTERNAL}),
    "a component on another volume moves apart from its sibling": (
        "components.default-internal.volume.claim=other",
        {EXTERNAL, INTERNAL},
    ),
    "a NodePort changes its Service alone": ("services.s3-public.type=NodePort", {("Service", "glance-s3-public")}),
    "a new purge is another Job": (
        "actions.purge-database.hash=new",
        {("Job", "glance-action-purge-database-456"), ("Job", "glance-action-purge-database-new")},
    ),
}


@pytest.mark.parametrize(("value", "expected"), [pytest.param(*case, id=name) for name, case in CHANGES.items()])
def test_a_change_reaches_only_what_reads_it(render: Render, value: str, expected: set[tuple[str, str]]) -> None:
    assert changed(render("glance"), render("glance", "--set", value)) == expected


def test_each_service_is_before_its_component(render: Render) -> None:
    objects = render("glance")
    selected = {
        name: body["spec"]["selector"]["app.kubernetes.io/component"]
        for (kind, name), body in objects.items()
        if kind == "Service"
    }
    assert selected["glance-default-public"] == "default-external"
    assert selected["glance-default-internal"] == "default-internal"
    assert selected["glance-s3-public"] == selected["glance-s3-internal"] == "s3"


def test_pods_with_a_volume_of_one_node_are_on_one_node(render: Render) -> None:
    objects = render("glance")
    for name in (EXTERNAL, INTERNAL):
        assert data(objects, name) == {"persistentVolumeClaim": {"claimName": "glance-default"}}
        (term,) = pod(objects, name)["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        (together,) = term["labelSelector"]["matchExpressions"]
        assert term["topologyKey"] == "kubernetes.io/hostname"
        assert together["values"] == ["default-external", "default-internal"]
    for name in (S3, WIDE):
        assert list(pod(objects, name)["affinity"]) == ["podAntiAffinity"]


def test_pods_that_a_volume_holds_on_one_node_can_leave_it(render: Render) -> None:
    objects = render("glance", "--set", "components.default-external.replicas=2,components.wide.replicas=2")
    budgets = {name for kind, name in objects if kind == "PodDisruptionBudget"}
    assert EXTERNAL[1] not in budgets
    assert WIDE[1] in budgets


def test_an_affinity_of_the_users_own_is_kept(render: Render) -> None:
    objects = render("glance", "--set-json", 'components.default-external.affinity={"nodeAffinity": {}}')
    assert pod(objects, EXTERNAL)["affinity"] == {"nodeAffinity": {}}


def test_only_pods_that_stage_for_themselves_say_where_they_are(render: Render) -> None:
    objects = render("glance")
    assert data(objects, S3) == {"emptyDir": {}}
    assert environment(objects, S3)["OS_DEFAULT__WORKER_SELF_REFERENCE_URL"] == "http://$(POD_IP):9292"
    for name in (EXTERNAL, INTERNAL, WIDE):
        assert "OS_DEFAULT__WORKER_SELF_REFERENCE_URL" not in environment(objects, name)


def test_a_transfer_may_end_before_its_pod_goes(render: Render) -> None:
    objects = render("glance", "--set", "components.s3.stop.finish=60")
    assert environment(objects, EXTERNAL)["UWSGI_WORKER_RELOAD_MERCY"] == "600"
    assert pod(objects, EXTERNAL)["terminationGracePeriodSeconds"] > 610
    assert environment(objects, S3)["UWSGI_WORKER_RELOAD_MERCY"] == "60"


def test_a_pod_that_is_busy_is_not_taken_for_dead(render: Render) -> None:
    container = pod(render("glance"), EXTERNAL)["containers"][0]
    assert container["livenessProbe"]["tcpSocket"] == {"port": "api"}
    assert "httpGet" not in container["livenessProbe"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/healthcheck"
    setting = "components.default-external.probes.liveness.httpGet.path=/mine"
    own = pod(render("glance", "--set", setting), EXTERNAL)["containers"][0]["livenessProbe"]
    assert own["httpGet"] == {"path": "/mine", "port": "api"}
    assert "tcpSocket" not in own


def test_all_wait_for_the_schema(render: Render) -> None:
    objects = render("glance")
    for name in (EXTERNAL, ("Job", "glance-load-metadefs-def"), ("CronJob", "glance-db-purge")):
        assert [entry["name"] for entry in pod(objects, name)["initContainers"]] == ["wait-for-db-sync"]
    assert [entry["name"] for entry in pod(objects, DB_SYNC)["initContainers"]] == ["wait-for-db-create"]


REFUSED = {
    "a component that is no name": ("components.A_b.config=x", "invalid propertyName 'A_b'"),
    "a Service without a component": ("services.far-public.type=ClusterIP", "missing property 'component'"),
    "a volume without a claim": (
        "components.far.config=x,components.far.volume.shared=true",
        "missing property 'claim'",
    ),
    "an unknown schedule": ("schedules.purge.config=x", "additional properties 'purge' not allowed"),
}


@pytest.mark.parametrize(("value", "sentence"), [pytest.param(*case, id=name) for name, case in REFUSED.items()])
def test_refused(refuse: Refuse, value: str, sentence: str) -> None:
    assert sentence in refuse("glance", "--set", value)
