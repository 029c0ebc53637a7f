"""Which changes of an object are worth a run: small functions over a Change.

Coming and going always count; a predicate says which updates do.
"""

from collections.abc import Callable
from typing import Any

from stackwright.kube.informer import Change
from stackwright.kube.resource import ObjectMeta

Predicate = Callable[[Change[Any]], bool]


def _on_update(compare: Callable[[ObjectMeta, ObjectMeta], bool]) -> Predicate:
    def predicate(change: Change[Any]) -> bool:
        if change.old is None or change.new is None:
            return True
        return compare(change.old.metadata, change.new.metadata)

    return predicate


# For a kind without generations (such as a ConfigMap), every update counts as a change of its content.
generation_changed: Predicate = _on_update(lambda old, new: old.generation != new.generation or not new.generation)
labels_changed: Predicate = _on_update(lambda old, new: old.labels != new.labels)
annotations_changed: Predicate = _on_update(lambda old, new: old.annotations != new.annotations)
deletion_began: Predicate = _on_update(lambda old, new: old.deletionTimestamp != new.deletionTimestamp)
finalizers_changed: Predicate = _on_update(lambda old, new: old.finalizers != new.finalizers)


def any_of(*predicates: Predicate) -> Predicate:
    """Return a predicate that holds when one of these does."""
    return lambda change: any(predicate(change) for predicate in predicates)


def all_of(*predicates: Predicate) -> Predicate:
    """Return a predicate that holds when all of these do."""
    return lambda change: all(predicate(change) for predicate in predicates)


# Everything that a user or another controller can ask of an object, that is, all but its status.
asked_differently: Predicate = any_of(
    generation_changed, labels_changed, annotations_changed, deletion_began, finalizers_changed
)
