"""Manifests in files, as a person writes them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright.cli import manifests

KEYSTONE = """
apiVersion: keystone.openstack.org/v1beta1
kind: KeystoneAPI
metadata: {name: keystone}
spec: {secret: osp-secret, databaseInstance: openstack}
"""
SECRET = """
apiVersion: v1
kind: Secret
metadata: {name: osp-secret}
stringData: {AdminPassword: word}
"""
STRANGER = "{apiVersion: example.org/v1, kind: Teapot, metadata: {name: pot}}"


def test_what_we_know_is_read_and_the_rest_passed_over() -> None:
    found: list[Any] = manifests.parse(f"---\n{KEYSTONE}\n---\n{SECRET}\n---\n{STRANGER}\n---\n", "x.yaml")
    assert [(item.kind.name, item.metadata.name) for item in found] == [
        ("KeystoneAPI", "keystone"),
        ("Secret", "osp-secret"),
    ]
    assert found[0].spec.databaseInstance == "openstack"


def test_words_are_those_of_the_server() -> None:
    # For the YAML of old, the first is a number to the base of 60, and the second a text.
    text = KEYSTONE.replace("spec: {", "spec: {replicas: 2e0, ")
    found: list[Any] = manifests.parse(text.replace("name: keystone}", "name: k, labels: {a: 12:30}}"), "x.yaml")
    assert (found[0].metadata.labels, found[0].spec.replicas) == ({"a": "12:30"}, 2)


def test_a_list_is_opened() -> None:
    keystone, secret = (yaml.safe_load(text) for text in (KEYSTONE, SECRET))
    text = yaml.safe_dump({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": [keystone, secret]})
    assert [item.metadata.name for item in manifests.parse(text, "x.yaml")] == ["keystone", "osp-secret"]


def test_files_in_which_nothing_is_known_are_refused(tmp_path: Path) -> None:
    pot, keystone = tmp_path / "pot.yaml", tmp_path / "keystone.yaml"
    pot.write_text(STRANGER)
    keystone.write_text(KEYSTONE)
    with pytest.raises(manifests.BadManifest, match=r"pot\.yaml: there is nothing of a kind that is known here"):
        manifests.read([pot])
    assert len(manifests.read([pot, keystone])) == 1
    pot.write_text("")
    assert manifests.read([pot]) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            "{apiVersion: v1, kind: List, items: 3}", "x.yaml: the items of a List are no list", id="a-number"
        ),
        pytest.param("{apiVersion: v1, kind: List, items: [3]}", "x.yaml has a document without a kind", id="an-item"),
        pytest.param(
            KEYSTONE.replace("keystone.openstack.org", "keystone.openstack.ogr"),
            "x.yaml: KeystoneAPI has the apiVersion keystone.openstack.ogr/v1beta1; did you mean the group "
            "keystone.openstack.org?",
            id="a-misspelt-group",
        ),
        pytest.param("a: [b", "x.yaml is not YAML (line 1)", id="no-yaml"),
        pytest.param("{kind: Foo}", "x.yaml: Foo has no apiVersion", id="no-version"),
        pytest.param(
            "{apiVersion: glance.openstack.org/v1beta1, kind: Glnace}",
            "x.yaml: there is no kind Glnace in glance.openstack.org/v1beta1; did you mean Glance?",
            id="a-misspelt-kind",
        ),
        pytest.param(
            "{apiVersion: glance.openstack.org/v1, kind: Glance}",
            "x.yaml: Glance has the apiVersion glance.openstack.org/v1beta1, and not glance.openstack.org/v1",
            id="another-version",
        ),
        pytest.param("just words", "x.yaml has a document without a kind", id="no-object"),
        pytest.param(KEYSTONE.replace("{name: keystone}", "{}"), "has no metadata.name", id="no-name"),
        pytest.param(
            KEYSTONE.replace("secret:", "sekret:"), "KeystoneAPI keystone: there is no field spec.sekret", id="a-typo"
        ),
        pytest.param(
            KEYSTONE.replace("spec: {", "spec: {override: {service: {public: {url: x}}}, "),
            "there is no field spec.override.service.public.url",
            id="a-typo-deep-inside",
        ),
        pytest.param(
            KEYSTONE.replace("spec: {", "spec: {actions: [{name: restart, idd: x}], "),
            "there is no field spec.actions[0].idd",
            id="a-typo-in-a-list",
        ),
        pytest.param(
            KEYSTONE.replace("spec: {", "spec: {replicas: two, "),
            "KeystoneAPI keystone: spec.replicas: Expected `int`, got `str`",
            id="a-wrong-type",
        ),
        pytest.param("{apiVersion: v1, kind: [a]}", "x.yaml: the kind of a document is not a text", id="a-kind"),
        pytest.param(
            "{apiVersion: [a], kind: A}", "x.yaml: the apiVersion of a document is not a text", id="a-version"
        ),
        pytest.param("{apiVersion: 1, kind: A}", "x.yaml: the apiVersion of a document is not a text", id="a-digit"),
        pytest.param(
            KEYSTONE.replace("{name: keystone}", "[a]"), "x.yaml: KeystoneAPI: metadata is not a mapping", id="a-list"
        ),
        pytest.param(
            KEYSTONE.replace("{name: keystone}", "keystone"), "KeystoneAPI: metadata is not a mapping", id="a-word"
        ),
        pytest.param(
            KEYSTONE.replace("{name: keystone}", "{name: keystone, lables: {a: b}}"),
            "KeystoneAPI keystone: there is no field metadata.lables; check its spelling.",
            id="a-typo-in-metadata",
        ),
        pytest.param(
            SECRET.replace("stringData", "stringdata"),
            "Secret osp-secret: there is no field stringdata; check its spelling.",
            id="a-typo-in-a-secret",
        ),
        pytest.param(
            SECRET.replace("stringData: {AdminPassword: word}", "data: {AdminPassword: 'hunter 2'}"),
            "Secret osp-secret: data.AdminPassword is not valid Base64; write it as text under stringData",
            id="a-text-for-base64",
        ),
        pytest.param(
            KEYSTONE.replace("secret: osp-secret, ", ""), "missing required field `secret`", id="something-is-missing"
        ),
    ],
)
def test_a_mistake_is_named(text: str, said: str) -> None:
    with pytest.raises(manifests.BadManifest) as raised:
        manifests.parse(text, "x.yaml")
    assert said in raised.value.message
    assert raised.value.exit_code == 2


def test_a_mistake_is_named_once_and_without_the_secret() -> None:
    wrong = KEYSTONE.replace("spec: {secret: osp-secret, databaseInstance: openstack}", "spec: [a]")
    secret = SECRET.replace("stringData: {AdminPassword: word}", "data: {AdminPassword: 'hunter 2'}")
    with pytest.raises(manifests.BadManifest) as raised:
        manifests.parse(f"{wrong}\n---\n{secret}", "x.yaml")
    assert [problem.partition(";")[0] for problem in raised.value.problems] == [
        "x.yaml: KeystoneAPI keystone: spec: Expected `object`, got `array`.",
        "x.yaml: Secret osp-secret: data.AdminPassword is not valid Base64",
    ]


def test_what_a_server_or_kubectl_wrote_is_no_mistake() -> None:
    metadata = (
        "{name: osp-secret, uid: a, resourceVersion: '1', generation: 1, creationTimestamp: null, managedFields: []"
    )
    metadata += ", labels: {a: b}, annotations: {a: b}, finalizers: [], ownerReferences: [], deletionTimestamp: ''}"
    whole = SECRET.replace("{name: osp-secret}", metadata)
    further = 'type: Opaque\nimmutable: true\ndata: {a: "dGV\\nh"}'
    assert len(manifests.parse(f"{whole}\n{further}", "x.yaml")) == 1


def test_all_mistakes_of_all_documents_are_named() -> None:
    wrong = KEYSTONE.replace("spec: {", "sepc: {}\nspec: {sekret: x, fernet: 3, replicas: two, adminUser: 5, ")
    with pytest.raises(manifests.BadManifest) as raised:
        manifests.parse(f"{wrong}\n---\n{KEYSTONE.replace('secret: osp-secret', 'secret: 5')}", "x.yaml")
    said = [problem.removeprefix("x.yaml: KeystoneAPI keystone: ") for problem in raised.value.problems]
    assert said == [
        "there is no field sepc; check its spelling.",
        "there is no field spec.sekret; check its spelling.",
        "there is no field spec.fernet; check its spelling.",
        "spec.replicas: Expected `int`, got `str`.",
        "spec.adminUser: Expected `str`, got `int`.",
        # That it is missing then is no second mistake.
        "spec.secret: Expected `str`, got `int`.",
    ]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        pytest.param(
            "actions: [{name: 5}, {name: 6}]", ["spec.actions[0].name: Expected `str`, got `int`"], id="a-list"
        ),
        pytest.param("nodeSelector: {a: 5, b: 6}", ["spec.nodeSelector[...]: Expected `str`, got `int`"], id="a-map"),
    ],
)
def test_what_cannot_be_left_out_ends_the_list(spec: str, said: list[str]) -> None:
    with pytest.raises(manifests.BadManifest) as raised:
        manifests.parse(KEYSTONE.replace("spec: {", f"spec: {{{spec}, "), "x.yaml")
    assert len(raised.value.problems) == len(said)
    assert said[0] in raised.value.problems[0]


def test_free_parts_may_have_any_field() -> None:
    free = KEYSTONE.replace("spec: {", "spec: {nodeSelector: {any/label: here}, defaultConfigOverwrite: {a.yaml: b}, ")
    assert len(manifests.parse(free, "x.yaml")) == 1
