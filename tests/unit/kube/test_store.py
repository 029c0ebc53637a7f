"""The store and its indexes."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackwright.kube.builtin import ConfigMap
from stackwright.kube.resource import Key, ObjectMeta, OwnerReference
from stackwright.kube.store import Store


def config_map(
    name: str, *, namespace: str = "one", labels: dict[str, str] | None = None, owners: Iterable[str] = ()
) -> ConfigMap:
    references = tuple(OwnerReference(apiVersion="v1", kind="ConfigMap", name="owner", uid=uid) for uid in owners)
    metadata = ObjectMeta(name=name, namespace=namespace, labels=labels or {}, ownerReferences=references)
    return ConfigMap(metadata=metadata)


def names(found: Iterable[ConfigMap]) -> list[str]:
    return [resource.metadata.name for resource in found]


def test_what_is_put_is_found_until_it_is_removed() -> None:
    store: Store[ConfigMap] = Store()
    store.put(config_map("a"))
    store.put(config_map("a", namespace="two"))
    assert store.get(Key("one", "a")) == config_map("a")
    assert len(store) == 2
    assert store.remove(Key("one", "a")) == config_map("a")
    assert store.remove(Key("one", "a")) is None
    assert store.get(Key("one", "a")) is None
    assert store.get(Key("nowhere", "a")) is None
    assert len(store) == 1


def test_a_namespace_is_listed_alone() -> None:
    store: Store[ConfigMap] = Store()
    for name, namespace in (("a", "one"), ("b", "two"), ("c", "one")):
        store.put(config_map(name, namespace=namespace))
    assert names(store.list("one")) == ["a", "c"]
    assert names(store.list()) == ["a", "c", "b"]
    assert store.list("three") == []


def test_an_index_follows_changes_and_covers_what_was_there_before_it() -> None:
    store: Store[ConfigMap] = Store()
    store.put(config_map("a", labels={"color": "red"}))
    store.index("color", lambda resource: [resource.metadata.labels["color"]])
    store.put(config_map("b", labels={"color": "red"}))
    assert names(store.by("color", "red")) == ["a", "b"]
    store.put(config_map("a", labels={"color": "blue"}))
    assert names(store.by("color", "red")) == ["b"]
    assert names(store.by("color", "blue")) == ["a"]
    store.remove(Key("one", "b"))
    assert store.by("color", "red") == []


def test_an_index_that_cannot_read_one_object_keeps_the_others() -> None:
    store: Store[ConfigMap] = Store()
    store.index("color", lambda resource: [resource.metadata.labels["color"]])
    store.put(config_map("broken"))
    store.put(config_map("whole", labels={"color": "red"}))
    assert names(store.by("color", "red")) == ["whole"]
    assert len(store) == 2


def test_an_index_nobody_made_is_an_error() -> None:
    store: Store[ConfigMap] = Store()
    with pytest.raises(KeyError):
        store.by("color", "red")


def test_owned_objects_are_found_by_any_of_their_owners() -> None:
    store: Store[ConfigMap] = Store()
    store.put(config_map("a", owners=["uid-1", "uid-2"]))
    store.put(config_map("b", owners=["uid-2"]))
    assert names(store.owned_by("uid-2")) == ["a", "b"]
    store.put(config_map("c", owners=["uid-1"]))
    assert names(store.owned_by("uid-1")) == ["a", "c"]
    assert store.owned_by("uid-3") == []


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["one", "two"]), st.none() | st.lists(st.sampled_from("xyz")))
    )
)
def test_an_index_kept_from_the_start_equals_one_made_at_the_end(
    steps: list[tuple[str, str, list[str] | None]],
) -> None:
    store: Store[ConfigMap] = Store()

    def values(resource: ConfigMap) -> Iterable[str]:
        return (owner.uid for owner in resource.metadata.ownerReferences)

    store.index("kept", values)
    for name, namespace, owners in steps:
        if owners is None:
            store.remove(Key(namespace, name))
        else:
            store.put(config_map(name, namespace=namespace, owners=owners))
    store.index("made", values)
    for value in "xyz":
        kept, made = store.by("kept", value), store.by("made", value)
        assert sorted(resource.key for resource in kept) == sorted(resource.key for resource in made)
        assert all(value in values(resource) for resource in kept)
    assert len(store) == len(store.list())
