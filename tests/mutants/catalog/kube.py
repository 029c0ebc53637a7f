"""Mutants of the ground: the runtime and its shapes."""

from tests.mutants.mutant import Mutant

CHILD = "stackwright/kube/shapes/child.py"
CHILDREN = "stackwright/kube/shapes/children.py"
OUTCOME = "stackwright/kube/shapes/outcome.py"
VERSIONS = "stackwright/kube/shapes/versions.py"
EVERY_SERVICE = "tests/functional/services/test_cases.py"
ON_FAULTS = "tests/runtime/test_service_controller.py"
COMPOSITE = "tests/unit/kube/test_composite.py"
LAST_MOMENT = "tests/functional/test_last_moment.py"

MUTANTS = (
    Mutant(
        "the content of a Secret stands in status.overridden",
        OUTCOME,
        "if item.of.kind == Secret.kind:",
        "if False:",
        (f"{COMPOSITE}::test_the_status_tells_what_is_asked_for_in_place_of_what_others_set",),
    ),
    Mutant(
        "what was made anew in the place of a pruned object is deleted",
        VERSIONS,
        "uid=metadata.uid, resource_version=metadata.resourceVersion",
        "",
        (f"{ON_FAULTS}::test_what_was_made_anew_in_the_place_of_what_is_pruned_stays",),
    ),
    Mutant(
        "a parent that is paused is worked on",
        "stackwright/kube/shapes/composite.py",
        "self.owns, context), context):\n            return None",
        "self.owns, context), context):\n            pass",
        (
            "tests/functional/test_children.py"
            "::test_a_paused_parent_rests_with_all_that_it_owns_and_both_go_on_together",
        ),
    ),
    Mutant(
        "what stands for something outside is worked on though it is paused",
        "stackwright/kube/shapes/external.py",
        "        if pausing.is_paused(self.pause, resource):\n            return None\n",
        "",
        ("tests/functional/identity/test_service.py::test_a_paused_resource_is_left_alone",),
    ),
    Mutant(
        "a delete asks for no uid, whoever wants one",
        "stackwright/kube/client.py",
        'preconditions = {"uid": uid, "resourceVersion": resource_version}',
        'preconditions = {"uid": "", "resourceVersion": resource_version}',
        # What is pruned is also asked for by its version.
        ("tests/runtime/test_client_requests.py::test_a_deletion_spares_what_was_made_anew_under_the_same_name",),
    ),
    Mutant(
        "what others own by the parent is pruned",
        CHILD,
        "        and mark in resource.metadata.annotations\n    )",
        "    )",
        (f"{COMPOSITE}::test_what_others_made_by_the_parent_is_not_pruned",),
    ),
    Mutant(
        "a composite prunes whatever is waited for",
        CHILD,
        "if (prune or forsaken(resource))\n        and key not in wanted",
        "if key not in wanted",
        (f"{COMPOSITE}::test_nothing_is_pruned_while_something_is_waited_for",),
    ),
    Mutant(
        "a child of somebody else is taken",
        CHILDREN,
        "    refuse_foreign(str(child), present, parent)\n",
        "",
        ("tests/functional/test_shapes.py::test_a_child_of_somebody_else_is_taken_once_it_is_free",),
    ),
    Mutant(
        "two workers work on one key at once",
        "stackwright/kube/queue.py",
        "        if key in self._working:\n            self._again",
        "        if False:\n            self._again",
        ("tests/unit/kube/test_queue.py", "tests/unit/kube/test_queue_machine.py"),
    ),
    Mutant(
        "a lease is taken before it is over",
        "stackwright/kube/leader.py",
        "if self.holder != self.identity and self._clock.monotonic() < self._expiry():",
        "if False:",
        ("tests/runtime/test_leader.py",),
    ),
    Mutant(
        "a webhook lets through what its check refused",
        "stackwright/kube/admission/reviews.py",
        "allowed=False, status=status",
        "allowed=True, status=status",
        ("tests/unit/kube/admission/test_reviews.py",),
    ),
    Mutant(
        "a status is written on one that was made anew",
        "stackwright/kube/shapes/report.py",
        '            "resourceVersion": resource.metadata.resourceVersion,\n',
        "",
        ("tests/functional/test_shapes.py::test_one_that_was_made_anew_does_not_get_the_status_of_the_one_before",),
    ),
    Mutant(
        "a status that was put off is never looked at again",
        "stackwright/kube/workers.py",
        "                self.queue.add_after(key, pace.rest)\n",
        "",
        ("tests/runtime/test_controller_pace.py",),
    ),
    Mutant(
        "a field that others wait for is put off",
        "stackwright/kube/pace.py",
        "return any(getattr(resource.status, name) != getattr(new, name) for name in facts)",
        "return False",
        ("tests/unit/kube/test_pace.py",),
    ),
    Mutant(
        "a connection that a starting server refuses is an error at once",
        "stackwright/kube/pace.py",
        'if after.severity == "Error" and not passing:',
        'if after.severity == "Error":',
        ("tests/runtime/test_controller_pace.py",),
    ),
    Mutant(
        "a bug of ours is told with its text, which may hold a secret",
        "stackwright/kube/conditions.py",
        "Internal error ({type(error).__name__}); the operator's log has the details",
        "Internal error ({error}); the operator's log has the details",
        ("tests/unit/kube/test_conditions.py",),
    ),
    Mutant(
        "Ready does not follow what was found now",
        "stackwright/kube/conditions.py",
        "    if not unmet:\n        return Condition(type=READY",
        "    if unmet:\n        return Condition(type=READY",
        ("tests/unit/kube/test_conditions.py",),
    ),
    Mutant(
        "a pause grows while it lasts",
        "stackwright/kube/pace.py",
        "moved, way = before.moved, before.way",
        "moved, way = before.moved, unready_for(new, wall)",
        ("tests/unit/kube/test_pace.py",),
    ),
    Mutant(
        "what is updated under our name is ours",
        "stackwright/kube/field_owners.py",
        "is_ours = manager == ours and operation == APPLY",
        "is_ours = manager == ours",
        ("tests/unit/kube/test_field_owners.py::test_who_is_a_stranger",),
    ),
    Mutant(
        "quantities are compared as texts",
        "stackwright/kube/fields.py",
        "None is not amount(value) == amount(actual[key])",
        "False",
        (f"{EVERY_SERVICE}::test_it_names_what_is_missing_comes_up_and_is_listed[rabbitmq]",),
    ),
    Mutant(
        "a scale to 0 that comes while we apply is undone",
        VERSIONS,
        "if not version or not asked_replicas(body):",
        "if version or not asked_replicas(body):",
        (f"{LAST_MOMENT}::test_a_scale_to_0_is_kept[right-before-the-apply]",),
    ),
    Mutant(
        "what the cache does not have is taken for new",
        CHILDREN,
        "missed=absent and self.exchanges.has_written(name)",
        "missed=False",
        (f"{LAST_MOMENT}::test_a_scale_to_0_is_kept_if_the_cache_has_not_even_the_workload",),
    ),
    Mutant(
        "what somebody took away from its parent is pruned",
        VERSIONS,
        "resource_version=metadata.resourceVersion",
        'resource_version=""',
        (f"{LAST_MOMENT}::test_what_is_taken_away_from_its_parent_is_not_pruned[it-was-taken-away-from-its-parent]",),
    ),
    Mutant(
        "a status whose answer was lost is taken for a stranger's, and an older one is written over it",
        "stackwright/kube/meddling.py",
        "        if change.resource.status not in unseen:",
        "        if True:",
        ("tests/runtime/test_meddling.py::test_a_status_whose_answer_was_lost_is_our_own",),
    ),
    Mutant(
        "a former status that the server refuses holds up every pass",
        "stackwright/kube/meddling.py",
        "        except (Invalid, TypedPatchRefused) as error:",
        "        except TypedPatchRefused as error:",
        ("tests/runtime/test_meddling.py::test_a_former_status_that_is_refused_holds_up_no_pass",),
    ),
)
