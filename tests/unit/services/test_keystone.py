"""Keystone's settings as plain functions, and what its application does before it serves."""

import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any

import msgspec
import pytest

from stackwright.api.base import ObjectMeta
from stackwright.blueprint.facts import Endpoints
from stackwright.blueprint.needs.cache import CacheFacts
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.services.keystone.kinds import KeystoneAPI, KeystoneAPISpec
from stackwright.services.keystone.service import bootstrap_inputs
from stackwright.services.keystone.settings import PREPARE, KeystoneFacts, settings

FACTS = KeystoneFacts(
    name="keystone",
    namespace="openstack",
    image="registry.example/openstack:1",
    database=DatabaseFacts("openstack.openstack.svc", 3306, "keystone", "keystone", "password"),
    cache=CacheFacts(("memcached-0.memcached.openstack.svc:11211",)),
    notifications=None,
)


def test_an_empty_region_is_the_usual_one() -> None:
    for said, expected in (("", "regionOne"), ("north", "north")):
        assert keystone(region=said).spec.region_name == expected


def keystone(**spec: Any) -> KeystoneAPI:
    said = {"databaseInstance": "openstack", "secret": "osp-secret", **spec}
    return KeystoneAPI(metadata=ObjectMeta(name="keystone"), spec=msgspec.convert(said, KeystoneAPISpec))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, {}, id="keystones-own-rules-by-default"),
        pytest.param({"enableSecureRBAC": True}, {}, id="keystones-own-rules"),
        pytest.param(
            {"enableSecureRBAC": False}, {"enforce_scope": False, "enforce_new_defaults": False}, id="older-rules"
        ),
    ],
)
def test_older_rules_hold_only_where_they_are_asked_for(spec: dict[str, Any], expected: dict[str, bool]) -> None:
    assert settings(keystone(**spec), FACTS)["oslo_policy"] == expected


def test_every_process_has_its_rules_before_it_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    class Rules:
        """Stands for oslo.policy's enforcer."""

        suppress_deprecation_warnings = False

        def load_rules(self) -> None:
            done.append("loaded, and quiet" if self.suppress_deprecation_warnings else "loaded")

    rules = Rules()

    def module(name: str, **content: Any) -> None:
        made = ModuleType(name)
        vars(made).update(content)
        monkeypatch.setitem(sys.modules, name, made)

    for parent in ("keystone", "keystone.common.rbac_enforcer", "sqlalchemy"):
        module(parent)
    module("keystone.common", sql=SimpleNamespace())
    module("keystone.common.rbac_enforcer.enforcer", RBACEnforcer=lambda: SimpleNamespace(_enforcer=rules))

    known = {"prepare_policies": lambda load: load(), "reach": lambda _: done.append("reaches")}
    exec(PREPARE, known)  # noqa: S102  it is our own text, and uWSGI runs it the same way
    assert done == ["loaded, and quiet", "reaches"]


def test_an_empty_schema_is_bootstrapped_again() -> None:
    known = replace(FACTS, endpoints=Endpoints("http://public", "http://internal"), passwords={"admin": "password"})
    again = replace(known, database=replace(FACTS.database, identity="1f2e"))
    before, after = (bootstrap_inputs(keystone(), facts) for facts in (known, again))
    assert before is not None
    assert after == {**before, "schema": "1f2e"}
