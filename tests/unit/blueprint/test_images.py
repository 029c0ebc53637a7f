"""The image manifest: what a user may write, and what he is told when it is wrong."""

from pathlib import Path

import pytest
import yaml

from stackwright.blueprint import images
from stackwright.cli import artifacts
from stackwright.kube.errors import ConfigError

BUILT = {"openstack": "stackwright.local/openstack:abc", "mariadb": "stackwright.local/mariadb:def"}
DEFAULT = "components: {keystone: {build: openstack}, mariadb: {build: mariadb}}"
DIGEST = "sha256:" + "0" * 64


def resolved(overlay: str = "") -> dict[str, str]:
    manifest = images.parse(DEFAULT, "manifest.yaml")
    if overlay:
        manifest = images.merge(manifest, images.parse(overlay, "mine.yaml"))
    return {name: image.reference for name, image in images.resolve(manifest, BUILT).items()}


def test_without_a_word_it_is_what_is_built_here() -> None:
    assert resolved() == {"keystone": "stackwright.local/openstack:abc", "mariadb": "stackwright.local/mariadb:def"}


@pytest.mark.parametrize(
    ("overlay", "keystone", "mariadb"),
    [
        pytest.param(
            "registry: r.example.com:5000/os/\ntag: '1'",
            "r.example.com:5000/os/openstack:1",
            "r.example.com:5000/os/mariadb:1",
            id="all-from-another-registry",
        ),
        pytest.param(
            "registry: r.example.com\ntag: '1'\ncomponents: {keystone: {name: kolla/keystone, sudo: true}}",
            "r.example.com/kolla/keystone:1",
            "r.example.com/mariadb:1",
            id="another-name",
        ),
        pytest.param(
            "registry: r.example.com\ntag: '1'\ncomponents: {keystone: {tag: '2'}, mariadb: {build: mariadb}}",
            "r.example.com/openstack:2",
            BUILT["mariadb"],
            id="one-by-another-tag-and-one-from-here",
        ),
        pytest.param(
            f"components: {{keystone: {{registry: r.example.com, digest: '{DIGEST}'}}}}",
            f"r.example.com/openstack@{DIGEST}",
            BUILT["mariadb"],
            id="a-digest",
        ),
        pytest.param(
            f"components: {{keystone: {{reference: 'r.example.com/k:1@{DIGEST}'}}}}",
            f"r.example.com/k:1@{DIGEST}",
            BUILT["mariadb"],
            id="a-whole-reference",
        ),
    ],
)
def test_a_file_points_components_elsewhere(overlay: str, keystone: str, mariadb: str) -> None:
    assert resolved(overlay) == {"keystone": keystone, "mariadb": mariadb}


def test_an_image_is_ours_where_it_is_built_here_or_said_to_be() -> None:
    others = "b: {reference: 'r.example.com/b:1'}, c: {reference: 'r.example.com/c:1', ours: true}"
    text = f"components: {{a: {{build: mariadb}}, {others}}}"
    found = images.resolve(images.parse(text, "x"), BUILT)
    assert {name: image.ours for name, image in found.items()} == {"a": True, "b": False, "c": True}
    found["operator"] = images.ComponentImage("operator:1")
    said = artifacts.chart_values(found)["images"]["components"]
    again = images.resolve(images.parse(yaml.safe_dump({"components": said}), "x"), {})
    assert {name: image.ours for name, image in again.items()} == {"a": True, "b": False, "c": True}


def test_an_image_that_starts_with_sudo_is_known_as_one() -> None:
    manifest = images.parse("components: {keystone: {reference: 'r.example.com/k:1', sudo: true}}", "x")
    assert images.resolve(manifest, {})["keystone"].sudo


@pytest.mark.parametrize(
    ("overlay", "message"),
    [
        pytest.param("components: [", "mine.yaml is not YAML (line 1).", id="not-yaml"),
        pytest.param("- keystone", "mine.yaml: Expected `object`", id="a-list"),
        pytest.param("component: {}", "mine.yaml: Object contains unknown field `component`", id="a-wrong-key"),
        pytest.param(
            "components: {keystone: {image: x}}",
            "mine.yaml: Object contains unknown field `image` - at `$.components[...]`",
            id="a-wrong-key-of-a-component",
        ),
        pytest.param("tag: 2026.2", "mine.yaml: Expected `str`, got `float` - at `$.tag`", id="a-number-for-a-tag"),
        pytest.param(
            "components: {keystone: {name: a, reference: b}}",
            "components.keystone has name and reference; give only one",
            id="a-name-and-a-reference",
        ),
        pytest.param("components: {keystone: {}}", "components.keystone does not say which image", id="nothing"),
        pytest.param(
            f"components: {{keystone: {{name: a, tag: b, digest: '{DIGEST}'}}}}",
            "components.keystone has a tag and a digest",
            id="a-tag-and-a-digest",
        ),
        pytest.param(
            "components: {keystone: {build: openstack, tag: b}}",
            "components.keystone has a build, which is complete",
            id="a-tag-for-what-is-built",
        ),
        pytest.param(
            "components: {keystone: {build: nova}}",
            "components.keystone should be built from nova, which is not a recipe; there are mariadb, openstack.",
            id="an-unknown-recipe",
        ),
        pytest.param("components: {keystone: {name: k, tag: t}}", "has a name and no registry", id="no-registry"),
        pytest.param("components: {keystone: {reference: r.example.com/k}}", "without a tag or a digest", id="no-tag"),
        pytest.param(
            "components: {keystone: {reference: 'R x/k:1'}}",
            'gives "R x/k:1", which is not an image reference',
            id="not-a-reference",
        ),
        pytest.param(
            "components: {keystone: {reference: 'r.example.com/k@sha256:12'}}",
            "not an image reference",
            id="half-a-digest",
        ),
    ],
)
def test_a_bad_file_is_refused_with_a_sentence(overlay: str, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        resolved(overlay)
    assert message in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.yaml: there is no such file"):
        images.read(tmp_path / "gone.yaml")


def test_our_own_manifest_names_recipes_that_there_are() -> None:
    root = Path(images.__file__).parents[2]
    built = {path.parent.name: f"stackwright.local/{path.parent.name}:1" for path in root.glob("images/*/recipe.toml")}
    found = images.resolve(images.read(root / "images" / "manifest.yaml"), built)
    assert found["mariadb"].reference == "stackwright.local/mariadb:1"
