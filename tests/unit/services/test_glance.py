"""What a Glance comes to: its APIs and their pods, what they read, where images are, and what is refused."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stackwright.api.service import ServiceSpec, ServiceTemplate
from stackwright.blueprint import configuration, ini, values
from stackwright.blueprint.facts import Endpoints
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.needs import Notifications
from stackwright.blueprint.needs.broker import BrokerFacts
from stackwright.controllers.service.decide import Seen, decide
from stackwright.controllers.service.environment import Environment
from stackwright.kube.builtin import Deployment, PersistentVolumeClaim, StorageClass
from stackwright.kube.resource import ObjectMeta
from stackwright.services.glance import apis
from stackwright.services.glance.checks import problems
from stackwright.services.glance.kinds import Glance, GlanceSpec
from stackwright.services.glance.service import SERVICE, tell
from tests.unit.services.glances import facts, glance

EDGE = {"default": {}, "far": {"type": "edge"}}


def nobody(kind: type[Any], name: str, **_: str) -> Any:
    return None


def said(resource: Glance, component: str, **further: Any) -> dict[str, dict[str, str]]:
    """Return what a component reads in the end: its snippets in the order of their names, the last word each."""
    found = next(entry for entry in SERVICE.components_of(resource) if entry.name == component)
    result: dict[str, dict[str, str]] = {}
    snippets = [file for file in found.files(resource, facts(**further)) if "/glance.conf.d/" in file.destination]
    for file in sorted(snippets, key=lambda file: file.destination):
        parsed = ini.parse(file.content)
        assert not isinstance(parsed, ini.Problem)
        for section, options in parsed.items():
            result.setdefault(section, {}).update({name: given[-1] for name, given in options.items()})
    return result


def hashes(resource: Glance) -> dict[str, str]:
    chart = values.values(SERVICE, resource, facts())
    return {name: part["hash"] for name, part in {**chart["components"], **chart["jobs"]}.items()}


def test_it_takes_what_every_service_takes_beside_its_pods() -> None:
    # It has no pods but those of its APIs, so it cannot be a ServiceSpec.
    every = set(ServiceSpec.__struct_fields__) - set(ServiceTemplate.__struct_fields__)
    assert every - set(GlanceSpec.__struct_fields__) == set()


APIS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "without-any-there-is-one-for-clients-and-for-services": ({}, ["default-external", "default-internal"]),
    "a-single-one-has-pods-for-both": ({"default": {"type": "single"}}, ["default"]),
    "an-edge-stands-beside": (EDGE, ["default-external", "default-internal", "far"]),
}


@pytest.mark.parametrize(("stated", "expected"), [pytest.param(*case, id=name) for name, case in APIS.items()])
def test_components(stated: dict[str, Any], expected: list[str]) -> None:
    resource = glance(glanceAPIs=stated, keystoneEndpoint="default")
    assert [component.name for component in SERVICE.components_of(resource)] == expected


def test_clients_and_services_reach_pods_of_their_own() -> None:
    (endpoint,) = SERVICE.endpoints_of(glance())
    assert (endpoint.public, endpoint.internal, endpoint.port) == ("default-external", "default-internal", 9292)
    services = values.values(SERVICE, glance(), facts())["services"]
    assert services == {
        "default-public": {"component": "default-external"},
        "default-internal": {"component": "default-internal"},
    }


def test_the_catalog_lists_the_chosen_one() -> None:
    resource = glance(glanceAPIs={"a": {}, "b": {"type": "single"}}, keystoneEndpoint="b")
    assert [endpoint.name for endpoint in SERVICE.endpoints_of(resource) if endpoint.listed] == ["b"]
    assert [endpoint.name for endpoint in SERVICE.endpoints_of(glance(glanceAPIs={"only": {}})) if endpoint.listed] == [
        "only"
    ]


def test_only_services_learn_where_an_image_is() -> None:
    shown = {name: said(glance(), name)["DEFAULT"] for name in ("default-external", "default-internal")}
    assert shown["default-external"]["show_multiple_locations"] == "false"
    assert shown["default-internal"]["show_multiple_locations"] == "true"
    assert shown["default-internal"]["show_image_direct_url"] == "true"
    single = said(glance(glanceAPIs={"default": {"type": "single"}}), "default")["DEFAULT"]
    assert single["show_image_direct_url"] == "false"


def test_images_and_what_is_staged_are_on_the_volume_of_the_api() -> None:
    resource = glance(
        storage={"storageClass": "fast", "storageRequest": "20G"},
        glanceAPIs={"a": {}, "b": {"storage": {"storageRequest": "50G", "accessMode": "ReadWriteMany"}}},
        keystoneEndpoint="a",
    )
    made = {volume.name: (volume.size, volume.storage_class, volume.shared) for volume in apis.volumes(resource)}
    assert [(volume.size, volume.usual) for volume in apis.volumes(glance())] == [("", "10G")]
    assert made == {"a": ("20G", "fast", False), "b": ("50G", "fast", True)}
    read = said(resource, "a-external")
    assert read["file"]["filesystem_store_datadir"] == "/var/lib/glance/images"
    assert read["os_glance_staging_store"]["filesystem_store_datadir"] == "/var/lib/glance/staging"
    mounted = values.values(SERVICE, resource, facts())["components"]
    assert mounted["a-external"]["volume"] == mounted["a-internal"]["volume"] == {"claim": "glance-a", "shared": False}
    assert mounted["b-internal"]["volume"] == {"claim": "glance-b", "shared": True}


def test_a_store_elsewhere_is_what_the_user_says() -> None:
    snippet = "[DEFAULT]\nenabled_backends = s3:s3\n[glance_store]\ndefault_backend = s3\n"
    resource = glance(storage={"external": True}, customServiceConfig=snippet)
    assert list(apis.volumes(resource)) == []
    assert "volume" not in values.values(SERVICE, resource, facts())["components"]["default-external"]
    read = said(resource, "default-external")
    assert read["DEFAULT"]["enabled_backends"] == "s3:s3"
    assert read["glance_store"] == {"default_backend": "s3"}
    assert "file" not in read


def test_the_snippet_of_an_api_has_the_last_word_and_secrets_come_after() -> None:
    resource = glance(
        customServiceConfig="[DEFAULT]\ndebug = false\nimage_size_cap = 1\n",
        customServiceConfigSecrets=["s3"],
        glanceAPIs={"a": {"customServiceConfig": "[DEFAULT]\nimage_size_cap = 2\n"}, "b": {}},
        keystoneEndpoint="a",
    )
    snippets = {"s3": {"store.conf": "[s3]\ns3_store_secret_key = hidden\n"}}
    a, b = (said(resource, name, snippets=snippets) for name in ("a-external", "b-external"))
    assert (a["DEFAULT"]["image_size_cap"], b["DEFAULT"]["image_size_cap"]) == ("2", "1")
    assert a["DEFAULT"]["debug"] == "false"
    assert a["s3"] == b["s3"] == {"s3_store_secret_key": "hidden"}


def test_the_snippet_of_an_api_rolls_its_own_pods_alone() -> None:
    before = hashes(glance(glanceAPIs={"a": {}, "b": {}}, keystoneEndpoint="a"))
    own = {"customServiceConfig": "[DEFAULT]\ndebug = true\n"}
    after = hashes(glance(glanceAPIs={"a": own, "b": {}}, keystoneEndpoint="a"))
    assert {name for name in before if before[name] != after[name]} == {"a-external", "a-internal"}


def test_a_file_of_an_api_takes_the_place_of_that_for_all() -> None:
    resource = glance(
        defaultConfigOverwrite={"policy.yaml": "all"},
        glanceAPIs={"a": {"defaultConfigOverwrite": {"policy.yaml": "own"}}, "b": {}},
        keystoneEndpoint="a",
    )
    data = configuration.secret_data(SERVICE, resource, facts())
    assert (data["a-external-policy.yaml"], data["b-external-policy.yaml"]) == ("own", "all")
    assert "/etc/glance/policy.yaml" in data["a-external.json"]


def test_jobs_know_the_database_and_no_other_password() -> None:
    data = configuration.secret_data(SERVICE, glance(), facts())
    assert "database-password" in data["01-glance.conf"]
    assert "user-password" not in data["01-glance.conf"]
    assert "glance-manage db purge --age_in_days 30" in data["db-purge.json"]


def test_a_transfer_is_not_cut_by_the_clock() -> None:
    component = SERVICE.components_of(glance(glanceAPIs={"default": {"apiTimeout": 300}}))[0]
    assert component.command is not None
    command = component.command(glance())
    assert "--socket-timeout 300" in command
    assert "harakiri" not in command


def test_notifications_go_where_a_broker_is() -> None:
    assert said(glance(), "default-internal")["oslo_messaging_notifications"] == {"driver": "noop"}
    component = SERVICE.components_of(glance())[0]
    told = replace(facts(), notifications=BrokerFacts("rabbit://url"))
    text = next(file.content for file in component.files(glance(), told) if file.key.endswith("01-glance.conf"))
    assert "transport_url = rabbit://url" in text


def test_pods_are_where_the_api_says_else_where_all_say() -> None:
    resource = glance(
        nodeSelector={"disk": "large"}, glanceAPIs={"a": {}, "b": {"nodeSelector": {}}}, keystoneEndpoint="a"
    )
    components = values.values(SERVICE, resource, facts())["components"]
    assert components["a-external"]["nodeSelector"] == {"disk": "large"}
    assert "nodeSelector" not in components["b-external"]


PROBLEMS: dict[str, tuple[dict[str, Any], str]] = {
    "two replicas on a volume of one node": (
        {"glanceAPIs": {"default": {"replicas": 2}}},
        "spec.glanceAPIs[default].replicas: 2 replicas would need a volume to which several nodes write",
    ),
    "a store elsewhere that nobody names": (
        {"storage": {"external": True}},
        "spec.glanceAPIs[default].storage.external: then nothing says where images are stored",
    ),
    "nothing to register": (
        {"glanceAPIs": {"far": {"type": "edge"}}},
        "spec.keystoneEndpoint: an edge API is not registered",
    ),
    "a name that another part has": (
        {"glanceAPIs": {"a": {}, "a-internal": {"type": "single"}}, "keystoneEndpoint": "a"},
        "spec.glanceAPIs[a-internal]: another part of Glance is called a-internal already",
    ),
    "a name of a job": (
        {"glanceAPIs": {"db-sync": {"type": "single"}}},
        "spec.glanceAPIs[db-sync]: another part of Glance is called db-sync already",
    ),
    "a file that is no file": (
        {"glanceAPIs": {"default": {"defaultConfigOverwrite": {"a/b": "x"}}}},
        "spec.glanceAPIs[default].defaultConfigOverwrite[a/b]: is not a file name",
    ),
    "a URL with the version": (
        {"glanceAPIs": {"default": {"override": {"service": {"public": {"endpointURL": "http://image/v2"}}}}}},
        "spec.glanceAPIs[default].override.service.public.endpointURL: is no URL that a path can be added to",
    ),
    "a name that nobody knows": (
        {"glanceAPIs": {"default": {"customServiceConfig": "[a]\nb = {{ .Nobody }}"}}},
        "spec.glanceAPIs[default].customServiceConfig: {{ .Nobody }} is not known here; write the value itself",
    ),
    "a cache of images": ({"imageCache": {"size": "10G"}}, "spec.imageCache: a cache of images is not supported yet"),
    "quotas": ({"quotas": {"imageCountTotal": 5}}, "spec.quotas: quotas are not supported yet"),
    "an application credential": (
        {"glanceAPIs": {"default": {"auth": {"applicationCredentialSecret": "ac"}}}},
        "application credentials are not supported yet",
    ),
}


@pytest.mark.parametrize(("spec", "sentence"), [pytest.param(*case, id=name) for name, case in PROBLEMS.items()])
def test_what_cannot_be_is_refused_with_a_sentence(spec: dict[str, Any], sentence: str) -> None:
    found = [f"{path}: {said}" for path, said in problems(glance(**spec), nobody)]
    assert len(found) == 1
    assert sentence in found[0]


GOOD: dict[str, dict[str, Any]] = {
    "the least": {},
    "no cache and no quotas, as exports say it": {
        "imageCache": {"size": "", "prunerScheduler": "1 0 * * *"},
        "quotas": {"imageCountTotal": 0},
        "glanceAPIs": {"default": {"imageCache": {"size": "", "cleanerScheduler": "*/30 * * * *"}, "apiTimeout": 0}},
    },
    "two replicas on a volume that all can write": {
        "storage": {"accessMode": "ReadWriteMany"},
        "glanceAPIs": {"default": {"replicas": 2}},
    },
    "two replicas of a store elsewhere, which a Secret names": {
        "storage": {"external": True},
        "glanceAPIs": {"default": {"replicas": 2, "customServiceConfigSecrets": ["s3"]}},
    },
    "an edge beside": {"glanceAPIs": EDGE, "keystoneEndpoint": "default"},
}


def test_names_in_a_snippet_are_filled_in() -> None:
    said = "[a]\nurl = {{ .KeystoneInternalURL }}\nkey = {{.ServicePassword}}\nuser = {{ .ServiceUser }}"
    known = facts().identity
    filled = f"[a]\nurl = {known.url}\nkey = {known.password}\nuser = {known.user}"
    api = {"default": {"type": "single", "customServiceConfig": said}}
    data = configuration.secret_data(SERVICE, glance(customServiceConfig=said, glanceAPIs=api), facts())
    for name in ("default-02-glance-override.conf", "default-03-glance-api-override.conf", "02-glance-override.conf"):
        assert data[name] == filled


def test_an_api_may_have_an_image_of_its_own_and_leaves_its_time_to_the_whole() -> None:
    resource = glance(
        apiTimeout=5, glanceAPIs={"default": {"type": "single", "containerImage": "a:1", "apiTimeout": 0}}
    )
    assert SERVICE.asked_image(resource) == "a:1"
    assert values.values(SERVICE, resource, facts())["components"]["default"]["image"] == "a:1"
    assert "--socket-timeout 5 " in configuration.secret_data(SERVICE, resource, facts())["default.json"]


@pytest.mark.parametrize(
    ("spec", "cluster"),
    [
        pytest.param({}, "", id="nobody-listens"),
        pytest.param({"notificationBusInstance": ""}, "", id="nobody-shall"),
        pytest.param({"notificationBusInstance": "older"}, "older", id="by-the-older-field"),
        pytest.param({"notificationBusInstance": "older", "notificationsBus": {"cluster": "new"}}, "new", id="by-both"),
    ],
)
def test_the_broker_of_notifications_is_named_by_either_field(spec: dict[str, Any], cluster: str) -> None:
    (need,) = (need for need in SERVICE.needs if isinstance(need, Notifications))
    assert need.provided_by(glance(**spec)) == cluster


@pytest.mark.parametrize("spec", [pytest.param(spec, id=name) for name, spec in GOOD.items()])
def test_what_can_be_is_not_refused(spec: dict[str, Any]) -> None:
    assert list(problems(glance(**spec), nobody)) == []


def test_it_tells_how_many_pods_of_each_api_serve() -> None:
    there = {"glance-default-external": 1, "glance-default-internal": 1, "glance-far": 0}

    def look(kind: type[Any], name: str, **_: str) -> Any:
        return Deployment(status={"readyReplicas": there[name]}) if kind is Deployment else None

    resource = glance(glanceAPIs=EDGE, keystoneEndpoint="default")
    told = tell(resource, facts(endpoints=Endpoints("http://public", "http://internal")), look)
    assert told.status.glanceAPIReadyCounts == {"default": 2, "far": 0}  # type: ignore[attr-defined]  # a Glance's
    assert told.status.apiEndpoint == {"public": "http://public", "internal": "http://internal"}  # type: ignore[attr-defined]  # likewise
    assert [(finding.condition, finding.status) for finding in told.findings] == [("GlanceAPIReady", "False")]
    assert "far" in told.findings[0].message


CLAIMS: dict[str, tuple[dict[str, Any], str]] = {
    "another size, of a class that lets none grow": (
        {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "resources": {"requests": {"storage": "2G"}},
        },
        "spec.glanceAPIs[default].storage.storageRequest: PersistentVolumeClaim glance-default is there already, "
        "with 2G, and cannot grow, because its StorageClass fast does not allow that; set 2G",
    ),
    "another mode": (
        {"accessModes": ["ReadWriteMany"]},
        "spec.glanceAPIs[default].storage.accessMode: PersistentVolumeClaim glance-default is there already, with "
        "ReadWriteMany",
    ),
    "another class": (
        {"accessModes": ["ReadWriteOnce"], "storageClassName": "slow"},
        "spec.glanceAPIs[default].storage.storageClass: PersistentVolumeClaim glance-default is there already, of "
        "class slow",
    ),
}


@pytest.mark.parametrize(("spec", "sentence"), [pytest.param(*case, id=name) for name, case in CLAIMS.items()])
def test_a_volume_that_is_there_stays_what_it_is(spec: dict[str, Any], sentence: str) -> None:
    present = PersistentVolumeClaim(metadata=ObjectMeta(name="glance-default"), spec=spec)

    def look(kind: type[Any], name: str, **_: str) -> Any:
        there = {"glance-default": present, "fast": StorageClass()}
        return there.get(name)

    found = list(problems(glance(storage={"storageClass": "fast", "storageRequest": "10G"}), look))
    assert [f"{path}: {said}".startswith(sentence) for path, said in found] == [True]


def test_fields_that_nothing_reads_yet_are_named_where_they_stand() -> None:
    resource = glance(
        glanceAPIs={"a": {}, "b": {"networkAttachments": ["storage"]}},
        keystoneEndpoint="a",
    )
    images = {"glance": ComponentImage("glance:1", sudo=False)}
    intent = decide(SERVICE, resource, Seen(nobody, datetime.now(UTC)), Environment(images, Path("charts")))
    (finding,) = intent.findings
    assert finding.message.endswith("this release: spec.glanceAPIs.b.networkAttachments")


TWO = "[DEFAULT]\nenabled_backends = file:file, far:s3\n"


@pytest.mark.parametrize(
    ("spec", "copies"),
    [
        pytest.param({}, False, id="one-store"),
        pytest.param({"customServiceConfig": TWO}, True, id="two-stores"),
        pytest.param({"glanceAPIs": {"default": {"customServiceConfig": TWO}}}, True, id="two-stores-of-the-api"),
        pytest.param({"storage": {"external": True}, "customServiceConfig": TWO}, True, id="two-stores-elsewhere"),
        pytest.param(
            {"storage": {"external": True}, "customServiceConfig": "[DEFAULT]\nenabled_backends = far:s3\n"},
            False,
            id="one-store-elsewhere",
        ),
    ],
)
def test_copies_between_stores_are_offered_where_there_are_several(spec: dict[str, Any], copies: bool) -> None:
    read = said(glance(**spec), "default-external")["DEFAULT"]
    assert read.get("enabled_import_methods") == (None if copies else "[glance-direct,web-download]")
