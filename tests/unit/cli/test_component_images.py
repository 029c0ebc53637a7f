"""Which image each component runs: services by their folders, the rest by the manifest."""

from pathlib import Path

from stackwright import services
from stackwright.cli import artifacts
from stackwright.local.images import recipes

BUILT = {name: f"stackwright.local/{name}:1" for name in recipes.read(recipes.folder())}


def test_every_service_of_ours_has_an_image() -> None:
    found = artifacts.component_images(built=BUILT)
    assert {service.image_name for service in services.blueprints()} <= set(found)
    assert found["keystone"].reference == found["nova"].reference == "stackwright.local/openstack:1"
    assert found["mariadb"].reference == "stackwright.local/mariadb:1"


def test_a_folder_that_is_added_is_a_component(tmp_path: Path) -> None:
    image, folder = tmp_path / "images" / "kitchen", tmp_path / "stackwright" / "services" / "teapot"
    image.mkdir(parents=True)
    folder.mkdir(parents=True)
    (image / "recipe.toml").write_text('description = "k"\nservices = "image.toml"\n')
    (image / "Containerfile").write_text("FROM scratch\n")
    (folder / "image.toml").write_text('package = "teapot"\nversion = "1"\nuid = 42499\n')
    (tmp_path / "images" / "manifest.yaml").write_text(
        "components: {kettle: {reference: 'registry.example/kettle:1'}}\n"
    )
    found = artifacts.component_images(built={"kitchen": "stackwright.local/kitchen:1"}, checkout=tmp_path)
    assert {name: image.reference for name, image in found.items()} == {
        "teapot": "stackwright.local/kitchen:1",
        "kettle": "registry.example/kettle:1",
    }


def test_what_the_manifest_says_of_a_service_goes_before_its_folder(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("components: {placement: {reference: 'registry.example/placement:2', sudo: true}}\n")
    found = artifacts.component_images(mine, built=BUILT)
    assert (found["placement"].reference, found["placement"].sudo) == ("registry.example/placement:2", True)
    assert found["keystone"].reference == "stackwright.local/openstack:1"
