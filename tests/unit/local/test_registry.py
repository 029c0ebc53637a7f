"""What runs the registry of a local cluster."""

from pathlib import Path

from stackwright.local import versions
from stackwright.local.registry import binary, objects


def test_another_program_is_another_image() -> None:
    one, other = (objects.image(Path("/registry"), fingerprint).name for fingerprint in ("a", "b"))
    assert one == "stackwright.local/registry:a"
    assert other != one


def test_the_program_is_that_of_its_own_module() -> None:
    recipe = binary.recipe()
    # A change of it must not make anybody compile Kubernetes again.
    assert recipe.module.directory != versions.MODULE
    assert recipe.cache().directory.name.startswith("registry-v")
    assert (recipe.module.directory / binary.NAME / "main.go").is_file()


def test_it_serves_at_the_node_s_address_and_keeps_images_on_a_volume() -> None:
    claim, deployment = (body for _, body in objects.manifests("stackwright.local/registry:a"))
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["hostNetwork"]
    assert container["ports"][0]["containerPort"] == 5000
    assert (container["image"], container["imagePullPolicy"]) == ("stackwright.local/registry:a", "Never")
    assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    # Two of them would want the same port.
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    assert pod["securityContext"]["runAsNonRoot"]
    assert not container["securityContext"]["allowPrivilegeEscalation"]
