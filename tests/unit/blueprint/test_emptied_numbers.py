"""Which numbers a process needs, and that admission says so before a pod does."""

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from stackwright import services
from stackwright.blueprint import options
from stackwright.services.keystone.checks import problems
from stackwright.services.keystone.kinds import KeystoneAPI, KeystoneAPISpec
from tests.surroundings import nothing_known


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The program of pods; of the library that only services have, it needs no more here than its names."""
    library, cfg = ModuleType("oslo_config"), ModuleType("oslo_config.cfg")
    for name in ("ConfigOpts", "ConfigFileValueError", "ConfigSourceValueError", "TemplateSubstitutionError"):
        setattr(cfg, name, type(name, (Exception,), {}))
    library.cfg = cfg  # type: ignore[attr-defined]  # a module of this test
    monkeypatch.setitem(sys.modules, "oslo_config", library)
    monkeypatch.setitem(sys.modules, "oslo_config.cfg", cfg)
    name = "stackwright.blueprint.pod.serving"
    yield importlib.import_module(name)
    del sys.modules[name]


def said(serving: Any, section: str, name: str, value: int | None) -> bool:
    """Return what is said of an option that a file sets."""
    group = SimpleNamespace(name=section) if section != "DEFAULT" else None
    option = SimpleNamespace(dest=name, default=60, _get_from_namespace=lambda *_: (value, None))
    found: bool = serving.is_emptied(SimpleNamespace(_namespace=None), group, option, value)
    return found


@pytest.mark.parametrize(
    ("section", "name"),
    [
        ("cors", "max_age"),
        ("identity", "cache_time"),
        ("domain_config", "cache_time"),
        ("receipt", "cache_time"),
        ("revoke", "cache_time"),
        ("token", "cache_time"),
        ("cache", "memcache_socket_timeout"),
        ("cache", "memcache_pool_connection_get_timeout"),
        ("DEFAULT", "rate_limit_interval"),
        ("DEFAULT", "reclaim_instance_interval"),
        ("database", "max_overflow"),
    ],
)
def test_a_service_goes_on_without_numbers_that_it_can_do_without(serving: Any, section: str, name: str) -> None:
    assert not said(serving, section, name, None)


def test_a_process_ends_without_a_number_that_requests_need(serving: Any) -> None:
    assert len(serving.NUMBERS) > 0
    for section, name in serving.NUMBERS:
        assert said(serving, section, name, None)
        assert not said(serving, section, name, 0)


def test_admission_refuses_whatever_would_end_a_process(serving: Any) -> None:
    lists = [found for service in services.blueprints() if (found := options.of(service)) is not None]
    nothing: Any = nothing_known
    for section, name in serving.NUMBERS:
        text = f"[{section}]\n{name} =\n"
        known = [found for found in lists if name in found.get(section, {})]
        assert len(known) > 0
        keystone = KeystoneAPI(spec=KeystoneAPISpec(secret="s", databaseInstance="db", customServiceConfig=text))
        refused = [fault.sentence for found in known for fault in options.check(found, text) if fault.refused]
        assert [*refused, *(sentence for _, sentence in problems(keystone, nothing))]
