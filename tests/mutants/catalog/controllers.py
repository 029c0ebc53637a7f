"""Mutants of what runs: controllers, and a command."""

from tests.mutants.mutant import Mutant

SERVICE = "stackwright/controllers/service"
KEYSTONE = "tests/functional/services/test_keystone.py"
EVERY_SERVICE = "tests/functional/services/test_cases.py"
ON_FAULTS = "tests/runtime/test_service_controller.py"
SWEEPING = "tests/functional/identity/test_sweeping.py"
OWN_ENTRY = "tests/functional/identity/test_own_entry.py"
REMOVAL = "tests/unit/controllers/database/test_account_removal.py"

MUTANTS = (
    Mutant(
        "a service that is paused is worked on",
        f"{SERVICE}/controller.py",
        "hand_down(PAUSED, resource, below, context):\n            return None",
        "hand_down(PAUSED, resource, below, context):\n            pass",
        (f"{ON_FAULTS}::test_nothing_is_written_for_a_service_that_is_paused",),
    ),
    Mutant(
        "a key ring turns before all pods hold the staged key",
        f"{SERVICE}/ring_turns.py",
        "    if not isinstance(step, Drop):\n        await _held(",
        "    if isinstance(step, Drop):\n        await _held(",
        (f"{ON_FAULTS}::test_a_ring_turns_only_when_every_pod_holds_the_staged_key",),
    ),
    Mutant(
        "a pod that only starts is taken for one that holds the staged key",
        f"{SERVICE}/ring_turns.py",
        "if not started or not await",
        "if started and not await",
        (f"{ON_FAULTS}::test_a_ring_turns_only_when_every_pod_holds_the_staged_key",),
    ),
    Mutant(
        "a service's objects are pruned while something is waited for",
        f"{SERVICE}/controller.py",
        "prune = intent.values is not None and not waits",
        "prune = intent.values is not None",
        (f"{KEYSTONE}::test_nothing_goes_while_something_is_waited_for",),
    ),
    Mutant(
        "helm.sh/resource-policy: keep is ignored",
        "stackwright/controllers/release/handover.py",
        ' or metadata.annotations.get(POLICY) == "keep"',
        "",
        ("tests/functional/test_release_handover.py::test_what_a_hand_asked_for_and_the_operator_does_not_goes",),
    ),
    Mutant(
        "the server's own user is dropped with a MariaDBAccount",
        "stackwright/controllers/database/account.py",
        "        and not _reserved(account, seen)\n",
        "",
        (f"{REMOVAL}::test_the_servers_own_users_stay",),
    ),
    Mutant(
        "the user that we work as is dropped with a MariaDBAccount",
        "stackwright/controllers/database/account.py",
        "if isinstance(seen.server, Server) and bare(name) == bare(seen.server.user):",
        "if False:",
        (f"{REMOVAL}::test_the_user_that_we_work_as_stays",),
    ),
    Mutant(
        "Keystone's administrator is swept away",
        "stackwright/controllers/identity/sweeping.py",
        "case User() if not is_administrator(one, administrator, self.access):",
        "case User():",
        (f"{SWEEPING}::test_the_administrator_stays_whatever_is_noted",),
    ),
    Mutant(
        "a control plane that is paused makes up passwords",
        "stackwright/controllers/controlplane/controller.py",
        "if not pausing.is_paused(PAUSED, umbrella) and await",
        "if await",
        ("tests/functional/controlplane/test_controlplane.py::test_a_paused_control_plane_does_nothing",),
    ),
    Mutant(
        "what was made for a resource is swept though another one asks for it",
        "stackwright/controllers/identity/sweeping.py",
        "if is_stood_for(one, noted.keystone, others) or claim_on(one, noted.keystone) in claimed",
        "if False",
        (f"{SWEEPING}::test_a_user_goes_with_the_last_one_who_works_as_it",),
    ),
    Mutant(
        "keys that something is written with are made anew without a word",
        f"{SERVICE}/losses.py",
        "    if stuck:\n",
        "    if not stuck:\n",
        ("tests/unit/controllers/test_service_decide.py",),
    ),
    Mutant(
        "passwords are added to a Secret that a user made",
        "stackwright/controllers/controlplane/passwords.py",
        " or (secret is not None and not secret.generated):",
        ":",
        ("tests/unit/controllers/controlplane/test_passwords.py",),
    ),
    Mutant(
        "a turn forgets keys that tokens of today are written with",
        f"{SERVICE}/ring_turns.py",
        "source.random, needed=step.needed)",
        "source.random)",
        (
            "tests/functional/test_service_defects.py"
            "::test_keys_that_tokens_of_today_are_written_with_stay_however_often_the_ring_turns",
        ),
    ),
    Mutant(
        "a password reaches the shell unquoted",
        "stackwright/cli/commands/openrc.py",
        "{shlex.quote(str(value))}",
        "{value}",
        ("tests/unit/cli/test_openrc.py",),
    ),
    Mutant(
        "a Secret that a user made under a name of ours is taken over",
        "stackwright/controllers/ownership/claims.py",
        "(claim_object(Secret, each, owned=True) for each in object_names.of_secrets(service, resource))",
        "(claim_object(Secret, each) for each in object_names.of_secrets(service, resource))",
        (
            "tests/unit/controllers/ownership/test_cases.py"
            "::test_what_a_user_made_under_a_name_of_ours_is_not_taken_over[the-configuration]",
        ),
    ),
    Mutant(
        "one account is that of two databases",
        "stackwright/controllers/ownership/rule.py",
        "if claim.path not in (NAME, other.path) and claim.meets(other):",
        "if False:",
        ("tests/unit/services/test_nova_names.py::test_one_account_is_not_that_of_two_databases",),
    ),
    Mutant(
        "what was done for a removed cell counts when it comes back",
        "stackwright/controllers/service/former_jobs.py",
        "if known and name not in present and",
        "if name in present and",
        (
            "tests/unit/services/test_nova_rows.py"
            "::test_what_was_done_for_a_removed_cell_is_forgotten_and_for_others_is_not",
        ),
    ),
    Mutant(
        "an object of the chart that a user made is taken over",
        "stackwright/controllers/ownership/users.py",
        "if found and not hands_over(resource, secrets):",
        "if not hands_over and found:",
        ("tests/functional/test_refused.py::test_what_a_user_made_is_named_and_never_touched[an-object-of-the-chart]",),
    ),
    Mutant(
        "a service that is refused is frozen",
        f"{SERVICE}/controller.py",
        "        if held is None:\n",
        "        if held is not None or held is None:\n",
        ("tests/functional/test_refused.py::test_a_service_that_is_refused_is_kept_as_it_was_recorded",),
    ),
    Mutant(
        "a service that is refused does its Jobs again",
        f"{SERVICE}/holding.py",
        "        if of is Job:\n            continue\n",
        "",
        ("tests/unit/controllers/test_service_holding.py::test_what_was_recorded_is_kept[jobs-are-not-done-again]",),
    ),
    Mutant(
        "the password of a person in Keystone is changed",
        "stackwright/controllers/identity/service.py",
        "return seen.login is PasswordState.DIFFERS or",
        "return False and",
        (f"{SWEEPING}::test_a_person_keeps_the_password",),
    ),
    Mutant(
        "a note deletes what carries no mark of its resource",
        "stackwright/controllers/identity/sweeping.py",
        "return thing.made_for == mark(noted.kind, noted.key)",
        "return True",
        (f"{OWN_ENTRY}::test_a_forged_note_deletes_nothing",),
    ),
    Mutant(
        "an older resource has a better right to Keystone's own entry than Keystone",
        "stackwright/controllers/ownership/rule.py",
        "return -sum(claim.innate for claim in shared)",
        "return 0",
        ("tests/unit/controllers/ownership/test_cases.py::test_what_is_keystones_own_is_refused_to_everybody",),
    ),
    Mutant(
        "Keystone's own endpoints are taken as they are",
        "stackwright/controllers/identity/own_entry.py",
        "if kept != replace(kept, url=wanted.url, enabled=True):",
        "if False:",
        (f"{OWN_ENTRY}::test_keystones_own_entry_is_mended",),
    ),
    Mutant(
        "a second Keystone that was refused counts",
        "stackwright/controllers/ownership/standing.py",
        "[resource for resource in staying if not is_refused(resource)] or staying",
        "staying",
        (f"{OWN_ENTRY}::test_a_second_keystone_that_is_refused_stops_nobody",),
    ),
    Mutant(
        "a broker is not told the password of its new default user",
        "stackwright/controllers/service/losses.py",
        'secret.metadata.annotations.get(GENERATED_AGAIN) == "true"',
        "False",
        (
            "tests/unit/controllers/test_service_decide.py"
            "::test_only_what_took_the_place_of_a_lost_secret_is_told_to_what_runs",
        ),
    ),
    Mutant(
        "a Service that is deleted comes back at another address inside the cluster",
        "stackwright/controllers/service/addresses.py",
        "        changed |= _inside_again(spec, known)\n",
        "",
        ("tests/unit/controllers/test_service_addresses.py::test_what_a_service_asks_for",),
    ),
    Mutant(
        "a database of OVN has no address while the Service of a member is away",
        "stackwright/services/ovn/database.py",
        "(inside_address(resource, look) or known) if formed",
        "inside_address(resource, look) if formed",
        ("tests/unit/services/test_ovn.py::test_an_address_stays_while_the_service_of_a_member_is_away",),
    ),
    Mutant(
        "a broker gets a value that it does not start with",
        "stackwright/services/rabbitmq/configuration.py",
        "if not inside and (problem := value_problem(name, value)):",
        "if problem := '':",
        ("tests/unit/services/test_rabbitmq.py",),
    ),
    Mutant(
        "pods of before find the configuration of new ones",
        "stackwright/controllers/service/decide.py",
        "    if present is not None and in_use:\n",
        "    if False:\n",
        ("tests/unit/controllers/test_service_decide.py",),
    ),
    Mutant(
        "an edition that pods mount goes",
        "stackwright/controllers/service/editions.py",
        "(left[part] >= 0 or secret.metadata.name in mounted)",
        "left[part] >= 0",
        ("tests/unit/controllers/test_service_editions.py",),
    ),
    Mutant(
        "a StatefulSet's pods are replaced without a trial",
        "stackwright/controllers/service/trials.py",
        "        if not change.is_risky:\n",
        "        if True:\n",
        ("tests/unit/controllers/test_service_trials.py",),
    ),
    Mutant(
        "the image of a StatefulSet without data is not tried",
        "stackwright/controllers/service/trials.py",
        "        return serving and _started_with(",
        "        return bool(self.component.data or self.component.trial) and serving and _started_with(",
        ("tests/unit/controllers/test_service_trials.py",),
    ),
    Mutant(
        "the image of a DaemonSet is not tried",
        "stackwright/controllers/service/trials.py",
        "KINDS: tuple[type[Plain], ...] = (StatefulSet, DaemonSet)",
        "KINDS: tuple[type[Plain], ...] = (StatefulSet,)",
        ("tests/unit/controllers/test_service_trials.py",),
    ),
    Mutant(
        "an image that somebody set waits for a trial of ours",
        "stackwright/controllers/service/trials.py",
        "if _image_path(part, name) in change.theirs}",
        "if False}",
        ("tests/unit/controllers/test_service_trials.py",),
    ),
    Mutant(
        "a trial mounts what the machine has",
        "stackwright/controllers/service/trials.py",
        'if "hostPath" in volume else volume',
        "if not volume else volume",
        ("tests/unit/controllers/test_service_trials.py",),
    ),
    Mutant(
        "a taken image counts as taken before its trial has ended",
        f"{SERVICE}/controller.py",
        "return replace(outcome, desired=(*outcome.desired, *children.held))",
        "return outcome",
        ("tests/functional/test_layers.py::test_an_image_set_by_kubectl_stays_until_it_is_taken_back",),
    ),
    Mutant(
        "a release record that somebody forged hands an object of a user over",
        "stackwright/controllers/ownership/users.py",
        "service.has_chart and release.RECORDED not in status_of(resource).hash",
        "service.has_chart",
        ("tests/unit/controllers/ownership/test_cases.py::test_a_record_that_somebody_forged_hands_nothing_over",),
    ),
    Mutant(
        "a cell of Nova is created before Keystone has its user",
        "stackwright/controllers/service/decide.py",
        "done = facts.done | find_ready(common.children, seen.look)",
        "done = facts.done | {name_child(item) for item in common.children}",
        ("tests/unit/foresight/test_imagined_nova.py",),
    ),
    Mutant(
        "a trial runs with the configuration of before",
        "stackwright/controllers/service/trials.py",
        '        if present is None or present.data != written[name]["data"]:\n',
        "        if present is None:\n",
        ("tests/unit/controllers/test_service_trials.py",),
    ),
    Mutant(
        "a broker's user of another RabbitMq gets another password",
        "stackwright/controllers/broker/transport.py",
        "        _refuse_change(seen, broker, kept)\n",
        "        pass\n",
        ("tests/unit/controllers/broker/test_transport.py::test_a_user_of_somebody_else_gets_no_other_password",),
    ),
    Mutant(
        "a cache is closed to the pods that need it",
        "stackwright/blueprint/needs/cache.py",
        "    labelled: ClassVar[bool] = True\n",
        "",
        ("tests/unit/blueprint/test_needs.py::test_a_port_is_open_to_the_pods_that_carry_the_label_of_a_need",),
    ),
    Mutant(
        "a release record that somebody forged is taken for ours",
        "stackwright/controllers/service/holding.py",
        "newest.content_digest != status_of(",
        "newest.digest != status_of(",
        ("tests/unit/controllers/test_service_holding.py::test_a_record_that_somebody_forged_creates_nothing",),
    ),
    Mutant(
        "what is kept for a service goes on while that is paused",
        f"{SERVICE}/controller.py",
        "below = (*self._kept(resource, look, context), ",
        "below = (*(), ",
        (f"{EVERY_SERVICE}::test_it_acts_once_rests_while_it_is_paused_and_leaves_what_stays[placement]",),
    ),
)
