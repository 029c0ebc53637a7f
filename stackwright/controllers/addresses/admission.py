"""What is refused when a network, an IPSet or names are written, and what cannot be deleted. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from stackwright.api.network import DNSData, IPSet, NetConfig, Reservation
from stackwright.blueprint.addresses import names, refusals
from stackwright.blueprint.addresses.allocation import is_mine, list_held
from stackwright.blueprint.addresses.owners import find_missing
from stackwright.blueprint.addresses.subnets import elder_first, find_eldest
from stackwright.blueprint.refusal import Problem
from stackwright.controllers.surroundings import Known
from stackwright.kube.admission.checks import FieldError, Objections
from stackwright.kube.resource import CustomResource

# How many IPSets are named that hold a NetConfig.
NAMED = 3


def _check_net_config(old: CustomResource | None, new: CustomResource, known: Known) -> Objections:
    assert isinstance(new, NetConfig)  # noqa: S101  the table below says for which kind
    namespace = new.metadata.namespace
    held = tuple(list_held(known(Reservation, namespace)))
    ip_sets = tuple(known(IPSet, namespace))
    problems = [*refusals.of_net_config(new.spec, held, ip_sets)]
    if isinstance(old, NetConfig):
        problems += refusals.of_networks_changed(old.spec, new.spec, held, ip_sets)
    errors = [*_errors(problems)]
    elder = next((each for each in elder_first(known(NetConfig, namespace)) if each.key != new.key), None)
    if old is None and elder is not None:
        message = f"there is already NetConfig {elder.metadata.name} in namespace {namespace}, there can only be one"
        errors.append(FieldError("metadata.name", message, "FieldValueForbidden"))
    return Objections(tuple(errors))


def _check_ip_set(old: CustomResource | None, new: CustomResource, known: Known) -> Objections:
    assert isinstance(new, IPSet)  # noqa: S101  the table below says for which kind
    if new.deleting:
        return Objections()
    namespace = new.metadata.namespace
    warnings = tuple(_find_forsaken(old, new, known))
    there = known(Reservation, namespace)
    held = list_held(each for each in there if is_mine(each, new))
    changed = tuple(refusals.of_ip_set_changed(old, new, held)) if isinstance(old, IPSet) and old is not new else ()
    networks = find_eldest(known(NetConfig, namespace))
    if networks is None:
        # It may come a moment later, in the same file.
        told = (f"there is no NetConfig in namespace {namespace} yet; the IPSet waits for it",)
        return Objections(tuple(_errors(changed)), (*told, *warnings))
    others = (each for each in there if not is_mine(each, new))
    taken = {held.address: held.ip_set for held in list_held(others)}
    problems = (
        *refusals.of_ip_set(new.spec, networks.spec),
        *refusals.is_fixed_elsewhere(new, taken),
        *changed,
    )
    return Objections(tuple(_errors(problems)), warnings)


def _check_reservation(old: CustomResource | None, new: CustomResource, known: Known) -> Objections:
    """Refuse what is no address, or another Reservation's: people write Reservations when they restore a backup."""
    assert isinstance(new, Reservation)  # noqa: S101  the table below says for which kind
    others = (each for each in known(Reservation, new.metadata.namespace) if each.key != new.key)
    taken = {held.address: held for held in list_held(others) if held.address}
    problems = refusals.of_reservation(new.spec, taken)
    return Objections(tuple(_errors(problems)), tuple(_find_forsaken(old, new, known)))


def _find_forsaken(old: CustomResource | None, new: CustomResource, known: Known) -> Iterator[str]:
    """Yield a warning about a resource that Kubernetes deletes at once, because an owner is not there.

    Tools that restore a backup write owners as they were. What the operators write has an owner that is there.
    """
    if old is not None and old.metadata.ownerReferences == new.metadata.ownerReferences:
        return
    missing = find_missing(new, lambda kind: known(kind, new.metadata.namespace))
    if missing is not None:
        yield (
            f"metadata.ownerReferences: {missing.kind} {missing.name} with uid {missing.uid} is not there, so "
            f"Kubernetes deletes this {new.kind.name}, and its addresses are given to others; leave ownerReferences "
            "out of all that you restore from a backup, the operator sets them again"
        )


def _check_names(old: CustomResource | None, new: CustomResource, known: Known) -> Objections:
    assert isinstance(new, DNSData)  # noqa: S101  the table below says for which kind
    problems = list(names.find_problems(new.spec))
    if new.metadata.controller is None and not (isinstance(old, DNSData) and old.spec == new.spec):
        served = new.spec.dnsDataLabelSelectorValue
        machines = {
            f"{owner.kind} {owner.name}": each.spec
            for each in known(DNSData, new.metadata.namespace)
            if (owner := each.metadata.controller) is not None and not each.deleting
            if each.key != new.key and each.spec.dnsDataLabelSelectorValue == served
        }
        problems.extend(names.find_meeting(new.spec, machines))
    return Objections(tuple(_errors(problems)))


def _errors(problems: Iterable[Problem]) -> Iterable[FieldError]:
    return (FieldError(path, sentence) for path, sentence in problems)


def hold(net_config: CustomResource, known: Known) -> str:
    """Return why a NetConfig has to stay; "" where no IPSet has an address of it."""
    namespace = net_config.metadata.namespace
    first = find_eldest(known(NetConfig, namespace))
    if first is not None and first.key != net_config.key:
        return ""
    names = [each.metadata.name for each in known(IPSet, namespace) if not each.deleting]
    if not names:
        return ""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"there are still IPSets in the namespace: {', '.join(names[:NAMED])}{more}; delete them first"


checks: Mapping[type[CustomResource], Callable[[CustomResource | None, CustomResource, Known], Objections]] = {
    NetConfig: _check_net_config,
    IPSet: _check_ip_set,
    Reservation: _check_reservation,
    DNSData: _check_names,
}
