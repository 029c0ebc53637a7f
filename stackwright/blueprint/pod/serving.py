"""What a process of a service does before it serves: it reads all of its options once, and asks its peers.

A service reads most options only when a request needs them, so that a bad value would show when the old pods are gone.
This text runs in the service's own Python, of our image or of somebody's own. What it says has no value in it.
"""

import contextlib
import gc
import importlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from oslo_config import cfg  # type: ignore[import-not-found]  # only the service's Python has it

# The kubelet reads it when the container ends, and keeps it in the pod's status.
TERMINATION_LOG = Path("/dev/termination-log")
# What says to the pod's probe that a process which serves no port is at work.
STARTED = Path("/tmp/stackwright-started")  # noqa: S108  it holds nothing, and the pod is the service's alone
SECONDS = 2
# After how many seconds a peer that refuses is asked again: an account may be about to be made. These are few, because
# Keystone may lock a user out after some wrong passwords.
DOUBTS = (2, 4, 8, 8)
# Numbers with which a service starts, and fails requests that need them, if they are set to nothing. Most others may be
# empty: a service then does without them, as without the lifetime of a cache.
NUMBERS = frozenset(
    {
        ("DEFAULT", "rpc_response_timeout"),
        ("oslo_middleware", "max_request_body_size"),
        ("token", "expiration"),
        ("token", "allow_expired_window"),
    }
)
REFUSED = (cfg.ConfigFileValueError, cfg.ConfigSourceValueError, cfg.TemplateSubstitutionError)


def tell(sentence: str) -> None:
    """Leave a sentence where it is found when this container ends, and in the log.

    The file is never empty in between: when one worker has said why and uwsgi gives up, the others are killed at once,
    and one of them may be about to say the same.
    """
    sys.stderr.write(f"{sentence}\n")
    # Outside of a pod there is no such file.
    with contextlib.suppress(OSError):
        file = os.open(TERMINATION_LOG, os.O_WRONLY)
        try:
            os.truncate(file, os.write(file, sentence.encode()))
        finally:
            os.close(file)


def options(configuration: Any) -> Iterator[tuple[Any, Any]]:
    """Yield section and option of all that a configuration knows.

    They are listed first: to read one may register others, as the log of a deprecated one does.
    """
    for info in list(configuration._opts.values()):  # noqa: SLF001  oslo.config lists its options nowhere else
        yield None, info["opt"]
    for group in list(configuration._groups.values()):  # noqa: SLF001  likewise
        for info in list(group._opts.values()):  # noqa: SLF001  likewise
            yield group, info["opt"]


def is_set(configuration: Any, group: Any, option: Any) -> bool:
    """Return whether a file, or the command line, has a value for an option."""
    try:
        option._get_from_namespace(configuration._namespace, group.name if group is not None else None)  # noqa: SLF001  only it knows all names that an option had
    except KeyError:
        return False
    return True


def is_emptied(configuration: Any, group: Any, option: Any, value: Any) -> bool:
    """Return whether a number that requests need is set to nothing, which oslo.config reads as None."""
    section = group.name if group is not None else "DEFAULT"
    return value is None and (section, option.dest) in NUMBERS and is_set(configuration, group, option)


def refused() -> list[str]:
    """Return a sentence for each option that is set and whose value cannot be read."""
    found = {}
    # Some services keep their configuration to themselves; all of them are oslo.config's.
    for configuration in [each for each in gc.get_objects() if issubclass(type(each), cfg.ConfigOpts)]:
        if configuration._namespace is None:  # noqa: SLF001  it was never asked to read files
            continue
        for group, option in options(configuration):
            section = group.name if group is not None else "DEFAULT"
            try:
                value = configuration._get(option.dest, group)  # noqa: SLF001  getattr would trip over names of methods
            except REFUSED as error:
                if not isinstance(error, cfg.ConfigSourceValueError) and not is_set(configuration, group, option):
                    continue  # A default of the service's own that means nothing here, and that nobody can mend.
                found[section, option.dest] = f"[{section}] {option.dest} is not of type {option.type!r}"
            except cfg.Error:
                continue  # Absent, or of no meaning for this process.
            if is_emptied(configuration, group, option, value):
                found[section, option.dest] = f"[{section}] {option.dest} is empty, and has to be a number"
    return [found[place] for place in sorted(found)]


class Unusable(Exception):
    """Ends a process. uwsgi starts one again that exits, and gives up where it cannot load the application."""


def unusable(sentence: str) -> Unusable:
    """Leave a sentence where it is found, and return the error that ends this process with it."""
    tell(sentence)
    return Unusable(sentence)


def check() -> None:
    """End this process where an option cannot be read."""
    if sentences := refused():
        raise unusable(f"The configuration has values that the service cannot read: {'; '.join(sentences)}")


def meet(peers: Callable[[], Iterable[str]]) -> None:
    """End this process where peers refuse what the user says, and go on doing so."""
    for doubt in (*DOUBTS, None):
        sentences = sorted(set(peers()))
        if not sentences:
            return
        if doubt is None:
            raise unusable(f"Others refuse the service with these values: {'; '.join(sentences)}")
        time.sleep(doubt)


def load(module: str, peers: Callable[[], Iterable[str]]) -> Any:
    """Return the application of a module; where it cannot be made, say why as far as that holds no secret."""
    try:
        application = importlib.import_module(module).application
    except (Exception, SystemExit) as error:
        check()
        meet(peers)
        raise unusable(f"The application cannot be loaded, by {type(error).__name__}; the log has more") from error
    check()
    meet(peers)
    check_policies()
    return application


def attempt(run: Callable[[], None]) -> None:
    """Run a program; where an error ends it, say which one as far as that holds no secret."""
    try:
        run()
    except Exception as error:
        raise unusable(f"The program cannot run, by {type(error).__name__}; the log has more") from error


def require(what: str, managers: list[Any]) -> None:
    """End this process where it could not load what requests need: a program may go on without, and fail each of them.

    `managers` are stevedore's; one that has loaded nothing, or something that could not be made, is not usable.
    """
    failed = [each for each in managers if not each.extensions or not all(one.obj for one in each.extensions)]
    if failed:
        names = ", ".join(sorted({str(one.name) for each in failed for one in each.extensions if not one.obj}))
        raise unusable(f"{what} cannot be loaded{f': {names}' if names else ''}; the log has more")


def prepare_policies(load: Callable[[], object]) -> None:
    """Load the policies of who may do what before any request, or end this process.

    A service makes them with its first request. Who comes beside that one finds them half made, and is refused.
    """
    try:
        load()
    except Exception as error:
        raise unusable(f"The policies cannot be loaded, by {type(error).__name__}; the log has more") from error
    check_policies()


def references(check: Any) -> Iterator[str]:
    """Yield the rules to which a check of oslo.policy refers."""
    if type(check).__name__ == "RuleCheck":
        yield check.match
    # Of several checks that are joined, and of one that is negated.
    for part in (*(getattr(check, "rules", None) or ()), *filter(None, (getattr(check, "rule", None),))):
        yield from references(part)


def follow(rules: Any, name: str) -> set[str]:
    """Return all rules to which a rule leads."""
    found: set[str] = set()
    left = [name]
    while left:
        new = set(references(rules.get(left.pop()))) - found
        found |= new
        left.extend(new)
    return found


def can_hold(rules: Any, check: Any, seen: frozenset[str] = frozenset()) -> bool:
    """Return whether anybody could fulfil a check: nobody fulfils a rule that is not defined."""
    if type(check).__name__ == "RuleCheck":
        name = check.match
        return name not in seen and name in rules and can_hold(rules, rules[name], seen | {name})
    if parts := getattr(check, "rules", None):
        some = any if type(check).__name__ == "OrCheck" else all
        return some(can_hold(rules, part, seen) for part in parts)
    return True


def check_policies() -> None:
    """End this process where a rule of the user's own leads to itself, or nobody can fulfil it.

    oslo.policy only warns of it: each request that needs the rule fails, or is refused.
    """
    policy = sys.modules.get("oslo_policy.policy")
    enforcers = [each for each in gc.get_objects() if policy is not None and issubclass(type(each), policy.Enforcer)]
    said = set()
    for enforcer in enforcers:
        rules = enforcer.rules or {}
        # Nothing is missing where a rule stands for all that are not defined, or where only some are registered.
        whole = rules.get(getattr(rules, "default_rule", None)) is not None or enforcer.skip_undefined_check
        for name in enforcer.file_rules:
            found = follow(rules, name)
            if name in found:
                said.add(f"{name} leads to itself")
            missing = sorted(other for other in found if other not in rules)
            if missing and not whole and not can_hold(rules, rules.get(name)):
                said.add(f"{name} needs what is not defined: {', '.join(missing)}")
    if said:
        raise unusable(f"The policies cannot be used: {'; '.join(sorted(said)[:5])}")


def reach(ask: Callable[[], None]) -> None:
    """Wait until the database answers: a pod that does not serve yet does no harm, and no restart would help it."""
    while True:
        try:
            ask()
        except Exception as error:  # noqa: BLE001  whatever it is, the pod cannot serve before it is gone
            tell(f"The database does not answer yet: {type(error).__name__}; the log has more")
            sys.stderr.write(f"{error}\n")
            time.sleep(SECONDS)
        else:
            return
