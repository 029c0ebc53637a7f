"""Several versions of us at one cluster: what the other wrote stays, and definitions are upgraded in place."""

from typing import Annotated, ClassVar

import msgspec
import pytest

from stackwright.kube.builtin import CustomResourceDefinition, Plain
from stackwright.kube.client import Client
from stackwright.kube.crd import generate
from stackwright.kube.crd.install import DefinitionChange, install
from stackwright.kube.errors import Blocked, Retry
from stackwright.kube.markers import Column, Definition, describe, minimum
from stackwright.kube.resource import Condition, CustomResource, JsonObject, Kind, ObjectMeta, Status, Value


class PartOfOlder(Value, frozen=True, kw_only=True):
    """A part of a widget."""

    colour: Annotated[str, describe("Its colour.")] = ""


class OlderSpec(Value, frozen=True, kw_only=True):
    """What a widget was."""

    size: Annotated[int, describe("How large.")] = 3
    part: PartOfOlder = PartOfOlder()


class OlderStatus(Status, frozen=True, kw_only=True):
    """How a widget went."""

    size: Annotated[int, describe("How large it is.")] = 0


class PartOfNewer(PartOfOlder, frozen=True, kw_only=True):
    """A part of a widget, with more to it."""

    weight: Annotated[int | None, describe("Its weight.")] = None


class NewerSpec(OlderSpec, frozen=True, kw_only=True):
    """What a widget is now."""

    size: Annotated[int, minimum(1), describe("How large.")] = 3
    part: PartOfNewer = PartOfNewer()
    flavour: Annotated[str, describe("What it tastes of.")] = "plain"


class NewerStatus(OlderStatus, frozen=True, kw_only=True):
    """How a widget goes now."""

    taste: Annotated[str, describe("What it tastes of.")] = ""


def widget(group: str, *, newer: bool = False) -> type[CustomResource]:
    """Return the kind Widget of a group, as an older or a newer version of us has it."""

    class Widget(CustomResource, frozen=True, kw_only=True):
        """A widget."""

        kind: ClassVar[Kind] = Kind(group, "v1", "Widget", "widgets")
        definition: ClassVar[Definition] = Definition(
            columns=(Column("Flavour", ".spec.flavour"),) if newer else (Column("Size", ".spec.size", "integer"),)
        )

        spec: NewerSpec if newer else OlderSpec  # type: ignore[valid-type]  # chosen when the class is made
        status: NewerStatus if newer else OlderStatus = NewerStatus() if newer else OlderStatus()  # type: ignore[valid-type]  # likewise

    return Widget


def free_form(kind: type[CustomResource]) -> type[Plain]:
    """Return the kind with nothing left out when it is read."""

    class Anything(Plain, frozen=True, kw_only=True):
        """An object as it is."""

    Anything.kind = kind.kind
    return Anything


@pytest.fixture
async def both(client: Client, group: str) -> tuple[type[CustomResource], type[Plain]]:
    """The older type of a kind whose newer definition is installed, and a type that shows all fields."""
    await install(client, [generate.manifest(widget(group, newer=True))])
    older = widget(group)
    return older, free_form(older)


async def test_what_a_newer_version_wrote_stays_when_we_write(
    client: Client, namespace: str, both: tuple[type[CustomResource], type[Plain]]
) -> None:
    older, anything = both
    metadata = {"name": "sample", "namespace": namespace}
    spec = {"size": 5, "flavour": "mint", "part": {"colour": "red", "weight": 7}}
    await client.apply(anything, {"metadata": metadata, "spec": spec}, field_manager="user")
    condition = {"type": "Tasty", "status": "True"}
    await client.apply(
        anything,
        {"metadata": metadata, "status": {"taste": "fresh", "conditions": [condition]}},
        subresource="status",
        field_manager="newer",
    )

    # We read it, know less than is there, and write what we know: the spec by apply and by patch, and the status.
    read = await client.get(older, "sample", namespace)
    changed = older(
        metadata=ObjectMeta(name="sample", namespace=namespace),
        spec=OlderSpec(size=8, part=PartOfOlder(colour="blue")),  # type: ignore[call-arg]  # a field of the kind above
    )
    assert read.spec == OlderSpec(size=5, part=PartOfOlder(colour="red"))  # type: ignore[attr-defined]  # likewise
    await client.apply(older, changed)
    await client.patch(older, "sample", namespace, {"metadata": {"labels": {"seen": "yes"}}})
    status = OlderStatus(size=8, conditions=(Condition(type="Ready", status="True"),))
    report = {"metadata": metadata, "status": msgspec.to_builtins(status)}
    await client.apply(older, report, subresource="status")

    after = await client.get(anything, "sample", namespace)
    assert after.spec == {"size": 8, "flavour": "mint", "part": {"colour": "blue", "weight": 7}}
    assert after.status["taste"] == "fresh"
    assert after.status["size"] == 8
    assert [entry["type"] for entry in after.status["conditions"]] == ["Tasty", "Ready"]


async def test_a_definition_is_upgraded_in_place(client: Client, namespace: str, group: str) -> None:
    older, newer = widget(group), widget(group, newer=True)
    name = newer.kind.crd_name
    assert await install(client, [generate.manifest(older)]) == (DefinitionChange(name, "created"),)
    before = await client.get(CustomResourceDefinition, name)
    kept = {"metadata": {"name": "kept", "namespace": namespace}, "spec": {"size": 5}}
    created = await client.create(older, kept)

    (change,) = await install(client, [generate.manifest(newer)])

    assert change.action == "updated"
    assert "versions[v1].schema.openAPIV3Schema.properties.spec.properties.flavour" in change.fields
    assert "versions[v1].additionalPrinterColumns[Flavour]" in change.fields
    after = await client.get(CustomResourceDefinition, name)
    assert after.metadata.uid == before.metadata.uid
    read = await client.get(newer, "kept", namespace)
    assert read.metadata.uid == created.metadata.uid
    assert read.spec == NewerSpec(size=5, flavour="plain")  # type: ignore[attr-defined]  # the kind above has one


async def test_a_definition_that_is_there_already_is_left_alone(client: Client, group: str) -> None:
    body = generate.manifest(widget(group))
    await install(client, [body])
    before = await client.get(CustomResourceDefinition, body["metadata"]["name"])

    assert await install(client, [body]) == (DefinitionChange(body["metadata"]["name"], "unchanged"),)

    after = await client.get(CustomResourceDefinition, body["metadata"]["name"])
    assert after.metadata.resourceVersion == before.metadata.resourceVersion


def renamed(body: JsonObject, plural: str, kind: str) -> JsonObject:
    """Return a definition under another name."""
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    return body | {
        "metadata": body["metadata"] | {"name": f"{plural}.{body['spec']['group']}"},
        "spec": body["spec"] | {"names": names},
    }


@pytest.mark.parametrize(
    ("labels", "whose"),
    [
        pytest.param({}, "written by somebody-else", id="one-that-says-nothing"),
        pytest.param(
            {"app.kubernetes.io/managed-by": "another-operator"},
            "managed by another-operator",
            id="one-that-says-whose",
        ),
    ],
)
async def test_the_definition_of_another_operator_is_left_alone_and_so_is_all_else(
    client: Client, group: str, labels: dict[str, str], whose: str
) -> None:
    ours = generate.manifest(widget(group))
    theirs = renamed(ours, "gadgets", "Gadget")
    theirs["metadata"]["labels"] = labels
    before = await client.apply(CustomResourceDefinition, theirs, field_manager="somebody-else")

    with pytest.raises(Blocked) as refusal:
        await install(client, [ours, renamed(ours, "gadgets", "Gadget")])

    assert f"gadgets.{group} ({whose})" in str(refusal.value)
    assert "Nothing was changed" in str(refusal.value)
    assert await client.find(CustomResourceDefinition, ours["metadata"]["name"]) is None
    after = await client.get(CustomResourceDefinition, before.metadata.name)
    assert after.spec == before.spec
    assert after.metadata.labels == labels


async def test_a_definition_that_was_handed_over_is_taken(client: Client, group: str) -> None:
    ours = generate.manifest(widget(group))
    await client.apply(CustomResourceDefinition, ours | {"metadata": {"name": ours["metadata"]["name"]}})
    labels = {"metadata": {"labels": ours["metadata"]["labels"]}}
    await client.patch(CustomResourceDefinition, ours["metadata"]["name"], "", labels)

    (change,) = await install(client, [ours])

    assert change.action == "unchanged"


async def test_names_that_are_taken_are_said_to_be(client: Client, group: str) -> None:
    ours = generate.manifest(widget(group))
    await install(client, [ours])

    with pytest.raises(Blocked, match=f"the names of widgetries.{group} clash with another's"):
        await install(client, [renamed(ours, "widgetries", "Widget")])


async def test_a_server_that_takes_too_long_is_named_with_what_it_does_not_serve(client: Client, group: str) -> None:
    body = generate.manifest(widget(group))

    with pytest.raises(Retry, match=f"did not begin to serve widgets.{group} within 0 s"):
        await install(client, [body], timeout=0)

    # It was applied all the same: the next try finds it there.
    (change,) = await install(client, [body])
    assert change.action == "unchanged"
