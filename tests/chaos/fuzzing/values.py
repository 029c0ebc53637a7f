"""Random values for a schema of a CustomResourceDefinition, mostly valid, at times not; the same for the same seed."""

import random
from dataclasses import dataclass
from typing import Any

from stackwright.kube.resource import JsonObject

# Names that resources refer to each other by, so that they meet; hosts are this machine's, or nobody's.
NAMES = ("openstack", "keystone", "memcached", "rabbitmq", "glance", "placement", "barbican", "osp-secret", "other")
WORDS = (
    *NAMES,
    "",
    " ",
    "a" * 63,
    "a" * 253,
    "x" * 5000,
    "mysql",
    "root",
    "Root",
    "`mysql`",
    "sys; DROP TABLE users",
    "{{ .Values }}",
    "$(reboot)",
    "%(asctime)s",
    "../../etc/passwd",
    "/",
    "a\nb",
    "[DEFAULT]\ndebug = true\n",
    "[token]\nexpiration = soon\n",
    "no section here",
    "[broken",
    "\u0000",
    "ünïcödé ☃",
    "-1",
    "0",
    "1e400",
    "NaN",
    "true",
    "null",
    "10G",
    "0.5",
    "-5Gi",
    "99999999999999999999Ei",
    "* * * * *",
    "61 * * * *",
    "@hourly",
    "http://127.0.0.1:9",
    "https://user:password@127.0.0.1:9/v3",
    "oci://127.0.0.1:9/charts/none@sha256:" + "0" * 64,
    "127.0.0.1:9/image:1",
    "not an image",
    "somebody@127.0.0.1",
    "Retain",
    "Delete",
)
NUMBERS = (
    -(2**63),
    -(2**31),
    -1,
    0,
    1,
    2,
    3,
    5,
    7,
    63,
    80,
    1024,
    5000,
    30000,
    32767,
    65535,
    65536,
    2**31,
    2**53,
    2**63,
)
# What no field takes that has a type of its own.
NONSENSE: tuple[Any, ...] = (None, True, -1, 1.5, "x", [], {}, [None], {"": None}, {"a": {"b": ["c"]}}, [[["deep"]]])


@dataclass(frozen=True)
class Values:
    """Draws values."""

    chance: random.Random

    def fitting(self, schema: JsonObject, depth: int = 0) -> Any:  # noqa: PLR0911  one for each type
        """Return a value that the schema may accept."""
        if "enum" in schema:
            return self.chance.choice(schema["enum"])
        if schema.get("x-kubernetes-int-or-string"):
            return self.chance.choice((*NUMBERS, *WORDS))
        match schema.get("type"):
            case "object":
                return self._object(schema, depth)
            case "array":
                return [
                    self.fitting(schema.get("items", {}), depth + 1) for _ in range(self.chance.choice((0, 1, 1, 3)))
                ]
            case "integer":
                return self._within(schema)
            case "number":
                return self.chance.choice((0, 0.5, 1, 1e9))
            case "boolean":
                return self.chance.random() < 0.5
            case "string":
                return self._text(schema)
            case _:
                return self.chance.choice(NONSENSE)

    def _object(self, schema: JsonObject, depth: int) -> JsonObject:
        known: JsonObject = schema.get("properties", {})
        if not known:
            keys = [
                self.chance.choice((*NAMES, "default", "public", "a/b", ""))
                for _ in range(self.chance.choice((0, 1, 2)))
            ]
            further = schema.get("additionalProperties")
            return {key: self.fitting(further if isinstance(further, dict) else {}, depth + 1) for key in keys}
        needed = set(schema.get("required", ()))
        # Deep ones say less, so that a resource has a size that a server takes.
        often = 0.25 / (depth + 1)
        return {
            name: self.fitting(content, depth + 1)
            for name, content in known.items()
            if name in needed or self.chance.random() < often
        }

    def _within(self, schema: JsonObject) -> int:
        lowest, highest = schema.get("minimum", -(2**31)), schema.get("maximum", 2**31)
        inside = [number for number in (*NUMBERS, lowest, highest, lowest + 1) if lowest <= number <= highest]
        return int(self.chance.choice(inside))

    def _text(self, schema: JsonObject) -> str:
        if "default" in schema and self.chance.random() < 0.3:
            return str(schema["default"])
        words = NAMES if self.chance.random() < 0.5 else WORDS
        return self.chance.choice(words)

    def misfitting(self) -> Any:
        """Return a value that hardly any schema accepts where it is put."""
        return self.chance.choice((*NONSENSE, *NUMBERS, *WORDS))

    def changed(self, body: Any, schema: JsonObject, *, wild: bool) -> Any:
        """Return a part of a resource with one change in it, here or deeper; `wild` ones need not fit the schema."""
        known: JsonObject = schema.get("properties", {})
        if not isinstance(body, dict) or not known or self.chance.random() < 0.1:
            return self.misfitting() if wild else self.fitting(schema)
        name = self.chance.choice(sorted(known))
        if wild and self.chance.random() < 0.1:
            name = self.chance.choice(("unknown", "", "a.b", "spec"))
        result = dict(body)
        if name in result and self.chance.random() < 0.2:
            del result[name]
            return result
        inner = known.get(name, {})
        result[name] = (
            self.changed(result[name], inner, wild=wild)
            if isinstance(result.get(name), dict)
            else self._new(inner, wild=wild)
        )
        return result

    def _new(self, schema: JsonObject, *, wild: bool) -> Any:
        return self.misfitting() if wild else self.fitting(schema)
