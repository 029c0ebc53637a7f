"""How types become schemas: each case is one thing that a type can say."""

from typing import Annotated, Any, ClassVar, Literal

import msgspec
import pytest

from stackwright.kube import markers
from stackwright.kube.crd import schema
from stackwright.kube.markers import Rule, describe
from stackwright.kube.resource import JsonObject, Status, Value

text = describe("A field.")


class Inner(Value, frozen=True, kw_only=True):
    """Something inside."""

    size: Annotated[int, text] = 3
    label: Annotated[str | None, text] = None


class Keyed(Value, frozen=True, kw_only=True):
    """An item with a key."""

    name: Annotated[str, text]


def field_schema(annotation: Any, default: Any = msgspec.NODEFAULT) -> JsonObject:
    """Return the schema of the one field of a struct that is made for it."""
    struct = msgspec.defstruct(
        "Sample",
        [("field", annotation) if default is msgspec.NODEFAULT else ("field", annotation, default)],
        bases=(Value,),
        namespace={"__doc__": "A sample."},
        frozen=True,
        kw_only=True,
    )
    found: JsonObject = schema.of_struct(struct)["properties"]["field"]
    return found


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        pytest.param(str, {"type": "string"}, id="text-is-a-string"),
        pytest.param(bool, {"type": "boolean"}, id="a-truth-is-a-boolean-and-no-number"),
        pytest.param(int, {"type": "integer"}, id="a-whole-number-is-an-integer"),
        pytest.param(float, {"type": "number"}, id="a-fraction-is-a-number"),
        pytest.param(Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, id="given-words-are-an-enum"),
        pytest.param(Literal[1, 3], {"type": "integer", "enum": [1, 3]}, id="given-numbers-are-an-enum"),
        pytest.param(str | None, {"type": "string"}, id="what-may-be-none-is-not-nullable"),
        pytest.param(
            int | str,
            {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
            id="number-or-text-is-what-kubernetes-calls-int-or-string",
        ),
        pytest.param(
            dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}, id="a-map-has-values"
        ),
        pytest.param(
            JsonObject,
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            id="a-map-of-anything-keeps-what-it-does-not-know",
        ),
        pytest.param(tuple[str, ...], {"type": "array", "items": {"type": "string"}}, id="a-tuple-is-a-list"),
        pytest.param(list[bool], {"type": "array", "items": {"type": "boolean"}}, id="a-list-is-a-list"),
        pytest.param(
            tuple[Annotated[str, markers.max_length(5)], ...],
            {"type": "array", "items": {"type": "string", "maxLength": 5}},
            id="items-have-markers-of-their-own",
        ),
        pytest.param(
            Annotated[str, markers.max_length(5)] | None,
            {"type": "string", "maxLength": 5},
            id="markers-inside-an-optional-are-seen",
        ),
        pytest.param(
            Annotated[Annotated[int, markers.maximum(5)], markers.maximum(3)],
            {"type": "integer", "maximum": 3},
            id="of-two-bounds-the-outer-one-holds",
        ),
        pytest.param(
            Annotated[str, "a note of somebody else"], {"type": "string"}, id="what-is-no-marker-of-ours-says-nothing"
        ),
    ],
)
def test_a_type_has_its_schema(annotation: Any, expected: JsonObject) -> None:
    found = field_schema(Annotated[annotation, text])

    assert found.pop("description").startswith("A field.")
    assert found == expected


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        pytest.param(
            Annotated[int, markers.minimum(0), markers.maximum(32)],
            {"type": "integer", "minimum": 0, "maximum": 32},
            id="bounds",
        ),
        pytest.param(
            Annotated[str, markers.pattern("^a$"), markers.min_length(1), markers.string_format("date-time")],
            {"type": "string", "pattern": "^a$", "minLength": 1, "format": "date-time"},
            id="form-of-a-string",
        ),
        pytest.param(
            Annotated[tuple[str, ...], markers.min_items(1), markers.max_items(2), markers.list_set],
            {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "maxItems": 2,
                "x-kubernetes-list-type": "set",
            },
            id="a-set",
        ),
        pytest.param(
            Annotated[tuple[str, ...], markers.atomic],
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
            id="a-list-with-one-owner",
        ),
        pytest.param(
            Annotated[dict[str, str], markers.max_properties(2), markers.keys("a", "b")],
            {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "maxProperties": 2,
                "x-kubernetes-validations": [
                    {"rule": "self.all(key, key in ['a', 'b'])", "message": "must only have the keys a, b"}
                ],
            },
            id="a-map-with-given-keys",
        ),
        pytest.param(
            Annotated[
                str, markers.rule("self != ''", message="not empty", field_path=".x", reason="FieldValueRequired")
            ],
            {
                "type": "string",
                "x-kubernetes-validations": [
                    {"rule": "self != ''", "message": "not empty", "fieldPath": ".x", "reason": "FieldValueRequired"}
                ],
            },
            id="a-rule-with-all-its-parts",
        ),
        pytest.param(
            Annotated[str, markers.immutable("stays")],
            {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "stays"}]},
            id="what-stays-as-it-is",
        ),
        pytest.param(
            markers.Quantity,
            {
                "anyOf": [{"type": "integer"}, {"type": "string"}],
                "x-kubernetes-int-or-string": True,
                "pattern": markers.QUANTITY,
            },
            id="a-quantity",
        ),
    ],
)
def test_a_marker_becomes_part_of_the_schema(annotation: Any, expected: JsonObject) -> None:
    found = field_schema(Annotated[annotation, text])

    assert found.pop("description").startswith("A field.")
    assert found == expected


@pytest.mark.parametrize(
    ("annotation", "default", "description"),
    [
        pytest.param(str, msgspec.NODEFAULT, "A field.", id="nothing-to-add"),
        pytest.param(str, "", "A field.", id="an-empty-default-is-not-worth-a-word"),
        pytest.param(str, "utf8", "A field. Default: utf8.", id="a-default"),
        pytest.param(bool, False, "A field. Default: false.", id="a-default-as-yaml-writes-it"),
        pytest.param(Annotated[int, markers.minimum(3)], 5, "A field. At least 3; default: 5.", id="a-lower-bound"),
        pytest.param(Annotated[int, markers.maximum(3)], msgspec.NODEFAULT, "A field. At most 3.", id="an-upper-bound"),
        pytest.param(
            Annotated[int, markers.minimum(0), markers.maximum(32)],
            1,
            "A field. From 0 to 32; default: 1.",
            id="two-bounds",
        ),
        pytest.param(
            Annotated[str, markers.immutable("stays")],
            msgspec.NODEFAULT,
            "A field. Cannot be changed later.",
            id="what-stays-as-it-is",
        ),
        pytest.param(Inner, Inner(), "A field.", id="a-struct-tells-its-defaults-inside"),
    ],
)
def test_a_description_says_what_kubectl_explain_would_not_show(
    annotation: Any, default: Any, description: str
) -> None:
    assert field_schema(Annotated[annotation, text], default)["description"] == description


def test_a_list_that_is_merged_by_a_key_says_so() -> None:
    found = field_schema(Annotated[tuple[Keyed, ...], markers.list_map("name"), text])

    assert found["x-kubernetes-list-type"] == "map"
    assert found["x-kubernetes-list-map-keys"] == ["name"]
    assert found["items"]["required"] == ["name"]


def test_a_deprecated_field_says_first_what_to_use() -> None:
    found = field_schema(Annotated[str, markers.deprecated("set other."), describe("The old way.")], "")

    assert found["description"] == "Deprecated: set other. The old way."


@pytest.mark.parametrize(
    ("annotation", "default", "expected"),
    [
        pytest.param(int, 0, 0, id="zero-is-a-default"),
        pytest.param(bool, False, False, id="false-is-a-default"),
        pytest.param(str, "utf8", "utf8", id="a-word-is-a-default"),
        pytest.param(tuple[str, ...], ("a",), ["a"], id="a-list-is-a-default"),
        pytest.param(dict[str, int], {}, None, id="an-empty-map-is-none"),
        pytest.param(tuple[str, ...], (), None, id="an-empty-list-is-none"),
        pytest.param(str, "", None, id="an-empty-string-is-none"),
        pytest.param(str | None, None, None, id="what-may-be-absent-has-none"),
        pytest.param(Inner, Inner(), {"size": 3}, id="a-struct-is-defaulted-with-what-it-defaults-inside"),
        pytest.param(Inner, Inner(size=9), {"size": 9}, id="a-struct-may-be-defaulted-to-other-values-than-its-own"),
        pytest.param(Inner | None, None, None, id="a-struct-that-may-be-absent-stays-absent"),
    ],
)
def test_a_default_of_python_is_the_default_of_the_server(annotation: Any, default: Any, expected: Any) -> None:
    assert field_schema(Annotated[annotation, text], default).get("default") == expected


def test_inside_a_struct_that_may_be_absent_defaults_wait_for_it_to_be_given() -> None:
    found = field_schema(Annotated[Inner | None, text], None)

    assert found["properties"]["size"]["default"] == 3
    assert "default" not in found


def test_what_controllers_write_has_no_defaults() -> None:
    class Report(Status, frozen=True, kw_only=True):
        """How it goes."""

        count: Annotated[int, text] = 0

    found = schema.of_struct(Report, defaults=False)

    assert "default" not in found["properties"]["count"]
    assert found["properties"]["conditions"]["x-kubernetes-list-map-keys"] == ["type"]
    assert found["properties"]["conditions"]["items"]["required"] == ["status", "type"]


def test_a_field_without_a_default_is_required_and_others_are_not() -> None:
    class Sample(Value, frozen=True, kw_only=True):
        """A sample."""

        b: Annotated[str, text]
        a: Annotated[int, text]
        c: Annotated[int, text] = 1
        d: Annotated[int | None, text] = None

    assert schema.of_struct(Sample)["required"] == ["a", "b"]


def test_a_struct_inherits_fields_and_rules_and_may_narrow_them() -> None:
    class Base(Value, frozen=True, kw_only=True):
        """The base."""

        validations: ClassVar[tuple[Rule, ...]] = (markers.rule("self.count > 0", message="base"),)

        count: Annotated[int, markers.maximum(32), text] = 1

    class Narrow(Base, frozen=True, kw_only=True):
        """The narrow one."""

        validations: ClassVar[tuple[Rule, ...]] = (markers.rule("self.count < 3", message="narrow"),)

        count: Annotated[int, markers.maximum(3), text] = 2

    found = schema.of_struct(Narrow)

    assert found["description"] == "The narrow one."
    assert found["properties"]["count"]["maximum"] == 3
    assert found["properties"]["count"]["default"] == 2
    assert [rule["message"] for rule in found["x-kubernetes-validations"]] == ["base", "narrow"]


def test_an_immutable_field_that_may_be_absent_can_neither_come_nor_go() -> None:
    class Sample(Value, frozen=True, kw_only=True):
        """A sample."""

        namespace: Annotated[str | None, markers.immutable("stays"), text] = None
        kept: Annotated[str, markers.immutable("is always there"), text] = "x"

    assert schema.of_struct(Sample)["x-kubernetes-validations"] == [
        {
            "rule": "has(self.__namespace__) == has(oldSelf.__namespace__)",
            "message": "stays",
            "fieldPath": ".namespace",
        }
    ]


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        pytest.param("replicas", "replicas", id="an-ordinary-name-stays"),
        pytest.param("namespace", "__namespace__", id="a-word-of-the-language-is-wrapped"),
        pytest.param("a-b", "a__dash__b", id="a-dash-is-spelled-out"),
        pytest.param("a.b/c", "a__dot__b__slash__c", id="a-dot-and-a-slash-are-spelled-out"),
        pytest.param("a__b", "a__underscores__b", id="two-underscores-are-spelled-out"),
    ],
)
def test_cel_spells_names_its_own_way(name: str, escaped: str) -> None:
    assert schema.cel_name(name) == escaped


class Undocumented(Value, frozen=True, kw_only=True):
    field: Annotated[str, text] = ""


class Recursive(Value, frozen=True, kw_only=True):
    """Contains itself."""

    inner: Annotated["Recursive | None", text] = None


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        pytest.param(str, "Sample.field has no description", id="a-field-without-a-description"),
        pytest.param(Annotated[Any, text], "no structural schema", id="a-field-of-any-type"),
        pytest.param(Annotated[dict[int, str], text], "no structural schema", id="a-map-with-keys-of-numbers"),
        pytest.param(Annotated[tuple[int, str], text], "no structural schema", id="a-pair"),
        pytest.param(Annotated[int | bool, text], "union of several types", id="a-union"),
        pytest.param(Annotated[Literal["a", 1], text], "several types", id="an-enum-of-words-and-numbers"),
        pytest.param(Annotated[str, markers.minimum(1), text], "minimum does not fit", id="a-bound-on-text"),
        pytest.param(Annotated[int, markers.pattern("a"), text], "pattern does not fit", id="a-pattern-on-a-number"),
        pytest.param(Annotated[str, markers.list_set, text], "does not fit", id="a-list-type-on-text"),
        pytest.param(
            Annotated[tuple[Inner, ...], markers.list_map("label"), text], "merged by label", id="a-key-that-may-lack"
        ),
        pytest.param(
            Annotated[tuple[str, ...], markers.list_map("name"), text], "merged by name", id="a-key-of-no-object"
        ),
        pytest.param(Annotated[Undocumented, text], "has no docstring", id="a-struct-without-a-docstring"),
        pytest.param(Annotated[Recursive, text], "contains Recursive again", id="a-struct-that-contains-itself"),
    ],
)
def test_a_type_that_has_no_schema_is_refused_with_its_place(annotation: Any, words: str) -> None:
    with pytest.raises(schema.SchemaError, match=words):
        field_schema(annotation)


def test_a_pattern_that_is_no_expression_is_refused_where_it_is_written() -> None:
    with pytest.raises(Exception, match="unterminated"):
        markers.pattern("[")
