"""The recipes of images: what is refused, in which order they are made, and what makes another hash."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from stackwright.local.errors import RecipeInvalid
from stackwright.local.images import composing, context, hashing, locking, recipes

KEYSTONE = 'package = "keystone"\nversion = "30.0.0"\nuid = 42425\n'
PLACEMENT = 'package = "openstack-placement"\nversion = "16.0.0"\nuid = 42482\nfurther = ["osc-placement"]\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a chain of three images, and one beside."""
    write(tmp_path, "debian", 'description = "d"\ndate = "today"\n[bootstrap]\nsuite = "trixie"\n')
    write(tmp_path, "base", 'description = "b"\nneeds = ["debian"]\n', "FROM ${DEBIAN}\n")
    top = 'description = "t"\nneeds = ["base"]\ninputs = ["start"]\nservices = "image.toml"\nprograms = ["helm"]\n'
    write(tmp_path, "top", top, "FROM ${BASE}\n# for each service\nRUN add {name} {uid} {package}=={version}\n# end\n")
    write(tmp_path, "pause", 'description = "p"\n[scratch]\nprogram = "pause"\npath = "/pause"\nuser = "1"\n')
    # One has a folder of its own; the other one is beside the recipe.
    service(tmp_path, "stackwright/services/keystone", KEYSTONE)
    service(tmp_path, "images/top/placement", PLACEMENT)
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "script").write_text("one")
    (tmp_path / "images" / "build").mkdir()
    (tmp_path / "images" / "build" / "install").write_text("apt")
    return tmp_path


def write(root: Path, name: str, recipe: str, containerfile: str = "") -> None:
    folder = root / "images" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "recipe.toml").write_text(recipe)
    if containerfile:
        (folder / "Containerfile").write_text(containerfile)


def service(root: Path, folder: str, text: str) -> None:
    (root / folder).mkdir(parents=True, exist_ok=True)
    (root / folder / "image.toml").write_text(text)


def pinned(root: Path, old: str, new: str) -> None:
    """Change what Placement's folder says."""
    service(root, "images/top/placement", PLACEMENT.replace(old, new))


def hashes(root: Path, *, architecture: str = "amd64", program: str = "v1", debian: str = "") -> dict[str, str]:
    around = hashing.Circumstances(root, architecture, lambda _: program, {"debian": debian} if debian else {})
    return {name: found.whole for name, found in hashing.hashes(recipes.ordered(recipes.read(root)), around).items()}


def names(root: Path, *wanted: str) -> list[str]:
    return [recipe.name for recipe in recipes.ordered(recipes.read(root), wanted)]


def test_each_image_comes_after_what_it_needs(root: Path) -> None:
    order = names(root)
    assert sorted(order) == ["base", "debian", "pause", "top"]
    assert order.index("debian") < order.index("base") < order.index("top")


def test_only_what_is_asked_for_and_what_that_needs(root: Path) -> None:
    assert names(root, "base") == ["debian", "base"]


def test_images_in_a_circle_are_refused(root: Path) -> None:
    write(root, "debian", 'description = "d"\nneeds = ["top"]\n', "FROM ${TOP}\n")
    with pytest.raises(RecipeInvalid, match=r"in a cycle: .* needs "):
        names(root)


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        pytest.param('description = "x', "images/top/recipe.toml: ", id="not-toml"),
        pytest.param('description = "x"\nparent = "base"', "unknown field `parent`", id="an-unknown-key"),
        pytest.param("needs = []", "missing required field `description`", id="no-description"),
        pytest.param('description = "x"\nneeds = ["gone"]', "needs gone, which is not an image", id="an-unknown-need"),
        pytest.param('description = "x"\nneeds = "base"', "Expected `array`", id="a-text-for-a-list"),
    ],
)
def test_a_bad_recipe_is_named(root: Path, recipe: str, message: str) -> None:
    write(root, "top", recipe)
    with pytest.raises(RecipeInvalid) as refused:
        recipes.read(root)
    assert message in str(refused.value)
    assert "images/top/recipe.toml" in str(refused.value)


def test_a_recipe_without_a_containerfile_is_refused(root: Path) -> None:
    write(root, "lost", 'description = "x"')
    with pytest.raises(RecipeInvalid, match=r"images/lost/recipe\.toml has no Containerfile"):
        recipes.read(root)


def test_an_unknown_image_is_answered_with_those_there_are(root: Path) -> None:
    with pytest.raises(RecipeInvalid, match="no image nova; there are base, debian, pause, top"):
        names(root, "nova")


def test_the_lines_for_each_service_are_written_out(root: Path) -> None:
    text = composing.containerfile(root, recipes.read(root)["top"])
    assert text.splitlines() == [
        "FROM ${BASE}",
        "RUN add keystone 42425 keystone==30.0.0",
        "RUN add placement 42482 openstack-placement==16.0.0",
    ]


def test_braces_of_the_containerfile_itself_stay() -> None:
    service = composing.ServicePackage("nova", "34.0.0", 42436, name="nova")
    text = "# for each service\nRUN find {name} -exec rm {} + ${HOME}\n# end\nUSER 1\n"
    assert composing.compose(text, [service]) == "RUN find nova -exec rm {} + ${HOME}\nUSER 1\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param(
            "42482",
            "42425",
            "images/top/placement/image.toml and stackwright/services/keystone/image.toml: two services have the uid",
            id="one-uid-twice",
        ),
        pytest.param("16.0.0", "16; reboot", 'placement has version "16; reboot"', id="a-word-for-the-shell"),
        pytest.param("osc-placement", "a b", 'placement has further "a b"', id="a-further-word-for-the-shell"),
        pytest.param("uid = 42482", "", "placement/image.toml: Object missing required field `uid`", id="no-uid"),
    ],
)
def test_bad_services_are_refused(root: Path, old: str, new: str, message: str) -> None:
    pinned(root, old, new)
    with pytest.raises(RecipeInvalid) as refused:
        hashes(root)
    assert message in str(refused.value)


def test_a_service_that_is_in_two_folders_is_refused(root: Path) -> None:
    service(root, "images/top/keystone", KEYSTONE)
    with pytest.raises(RecipeInvalid, match="two services have the name keystone"):
        hashes(root)


def test_all_libraries_are_pinned_together_and_the_services_apart() -> None:
    listed = [
        composing.parse(KEYSTONE.encode(), "keystone", "k"),
        composing.parse(PLACEMENT.encode(), "placement", "p"),
    ]
    wanted = locking.inputs(listed, "pyuwsgi\n").splitlines()
    assert wanted == ["keystone==30.0.0", "openstack-placement==16.0.0", "osc-placement", "pyuwsgi"]
    words = locking.command("uv", listed, ["--upgrade"])
    assert [words[place + 1] for place, word in enumerate(words) if word == "--no-emit-package"] == [
        "keystone",
        "openstack-placement",
    ]
    assert words[-1] == "--upgrade"


@pytest.mark.parametrize(
    ("before", "after", "end"),
    [
        pytest.param(
            "# head\na==1\n", "# head\na==1\n", "1 libraries are pinned for keystone; none of them are new.", id="none"
        ),
        pytest.param("a==1\n", "a==1\nb==2\n", "2 libraries are pinned for keystone; 1 of them are new.", id="one"),
    ],
)
def test_who_has_added_a_service_is_told_that_it_was_found(before: str, after: str, end: str) -> None:
    listed = [composing.parse(KEYSTONE.encode(), "keystone", "k")]
    assert locking.said(listed, before, after) == end


def test_what_services_need_further_is_pinned() -> None:
    root = recipes.folder()
    listed = pins(root / locking.PINNED)
    for service in locking.services(root):
        assert set(service.further) <= set(listed), f"{service.name}: run make lock"
        assert service.package not in listed


def test_every_stage_begins_with_the_hash_of_what_goes_in(root: Path, tmp_path: Path) -> None:
    write(root, "base", 'description = "b"\n', "ARG X\nFROM ${X} AS one\nRUN a\n\nFROM ${X}\nCOPY --from=one /a /b\n")
    path = context.containerfile(root, recipes.read(root)["base"], tmp_path / "context", inputs="abc")
    label = "LABEL stackwright.inputs=abc"
    assert path.read_text().splitlines() == [
        *("ARG X", "FROM ${X} AS one", label, "RUN a", "", "FROM ${X}", label, "COPY --from=one /a /b")
    ]


def test_the_hash_of_what_goes_in_stays_when_only_a_pin_changes(root: Path) -> None:
    def inputs() -> str:
        around = hashing.Circumstances(root, "amd64", lambda _: "v1", {})
        return hashing.hashes(recipes.ordered(recipes.read(root)), around)["top"].inputs

    before = inputs()
    pinned(root, "16.0.0", "16.0.1")
    assert inputs() == before
    (root / "images" / "build" / "install").write_text("dnf")
    assert inputs() != before


def test_the_same_content_has_the_same_hash(root: Path) -> None:
    before = hashes(root)
    (root / "start" / "script").write_text("one")
    (root / "start" / "__pycache__").mkdir()
    (root / "start" / "__pycache__" / "script.pyc").write_text("compiled")
    write(root, "base", 'description = "in other words"\nneeds = ["debian"]\non_request = true\n')
    assert hashes(root) == before


CHANGES: dict[str, tuple[Callable[[Path], object], set[str]]] = {
    "an-input": (lambda root: (root / "start" / "script").write_text("two"), {"top"}),
    "an-input-more": (lambda root: (root / "start" / "more").write_text(""), {"top"}),
    "who-may-run-it": (lambda root: (root / "start" / "script").chmod(0o755), {"top"}),
    "a-pin": (lambda root: pinned(root, "16.0.0", "16.0.1"), {"top"}),
    "a-uid": (lambda root: pinned(root, "42482", "42483"), {"top"}),
    "a-containerfile": (lambda root: write(root, "base", "", "FROM scratch\n"), {"base", "top"}),
    "a-date": (
        lambda root: write(root, "debian", 'description = "d"\ndate = "now"\n[bootstrap]\nsuite = "trixie"\n'),
        {"debian", "base", "top"},
    ),
    "a-script-of-the-builds": (lambda root: (root / "images/build/install").write_text("dnf"), {"base", "top"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_makes_other_images_of_those_that_it_reaches(root: Path, change: str) -> None:
    act, expected = CHANGES[change]
    before = hashes(root)
    recipe = (root / "images" / "base" / "recipe.toml").read_text()
    act(root)
    if change == "a-containerfile":
        write(root, "base", recipe)
    after = hashes(root)
    assert {name for name in before if before[name] != after[name]} == expected


def test_another_machine_program_or_base_makes_other_images(root: Path) -> None:
    before = hashes(root)
    assert not set(before.values()) & set(hashes(root, architecture="arm64").values())
    assert changed(before, hashes(root, program="v2")) == {"top", "pause"}
    assert changed(before, hashes(root, debian="debian:trixie-slim")) == {"debian", "base", "top"}


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in before if before[name] != after[name]}


def test_a_folder_that_is_linked_into_an_input_is_part_of_it(root: Path) -> None:
    (root / "shared").mkdir()
    (root / "shared" / "text").write_text("one")
    before = hashes(root)["top"]
    (root / "start" / "linked").symlink_to("../shared")
    assert [name for name, _ in hashing.files(root, ["start"])] == ["start/linked/text", "start/script"]
    linked = hashes(root)["top"]
    (root / "shared" / "text").write_text("two")
    assert len({before, linked, hashes(root)["top"]}) == 3


def test_an_input_that_is_not_there_is_named(root: Path) -> None:
    (root / "start" / "script").unlink()
    (root / "start").rmdir()
    with pytest.raises(RecipeInvalid, match="start is named by a recipe, but does not exist"):
        hashes(root)


def test_our_own_recipes_can_be_read() -> None:
    root = recipes.folder()
    known = recipes.read(root)
    assert {"openstack", "mariadb", "rabbitmq", "memcached", "operator", "coredns", "pause"} <= set(known)
    for recipe in known.values():
        text = composing.containerfile(root, recipe)
        assert "{name}" not in text
        for need in recipe.needs:
            assert f"ARG {need.upper().replace('-', '_')}\n" in text


def pins(path: Path) -> dict[str, str]:
    """Return the pinned versions of a file, by the package's name."""
    return dict(re.findall(r"^([a-z0-9._-]+)==([^ ;\\\n]+)", path.read_text(), re.MULTILINE))


def test_the_operator_s_image_has_the_libraries_that_it_is_tested_with() -> None:
    root = recipes.folder()
    ours, image = pins(root / "requirements.lock"), pins(root / "images" / "operator" / "requirements.txt")
    assert image
    assert image == {name: ours.get(name) for name in image}


def test_the_mask_of_a_shell_makes_no_difference_to_an_image(root: Path) -> None:
    (root / "start" / "deeper").mkdir()
    (root / "start" / "deeper" / "script").write_text("two")
    folder = root / "context"
    before = os.umask(0o077)
    try:
        program = root / "helm"
        program.touch(mode=0o755)
        folder.mkdir()
        context.fill(root, recipes.read(root)["top"], folder, {"helm": program})
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in (folder, *folder.rglob("*")) if path.is_dir()}
    assert modes == {0o755}
    assert (folder / "programs" / "helm").stat().st_mode & 0o777 == 0o755
    assert (folder / "start" / "deeper" / "script").is_file()
