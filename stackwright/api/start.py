"""A component's own part of the start contract, in the format of Kolla's config.json."""

from typing import Annotated

from stackwright.api.base import Value, atomic, describe, max_items, max_length, min_length, pattern

_Path = Annotated[str, min_length(1), max_length(1024)]
_Owner = Annotated[
    str,
    pattern(r"^([A-Za-z_][\w.-]*(:[A-Za-z_][\w.-]*)?)?$"),
    describe("user[:group]; empty for the service's own user."),
]
_Mode = Annotated[str, pattern(r"^((0o)?[0-7]{3,4})?$"), describe("The mode in octal digits, such as 0640.")]

# More than anybody writes; the server wants a bound.
_MOST = 128


class CopiedFile(Value, frozen=True, kw_only=True):
    """A file that is copied before the component starts."""

    source: Annotated[
        _Path,
        describe(
            "What to copy: the name of a file in defaultConfigOverwrite, or an absolute path in the "
            "container, where extraMounts has mounted it. A path may have wildcards."
        ),
    ]
    dest: Annotated[
        _Path,
        pattern("^/"),
        describe(
            "Where to copy it. A path with a slash at the end is a directory to "
            "copy into. It replaces our entry for the same path."
        ),
    ]
    owner: _Owner = ""
    perm: _Mode = "0600"
    optional: Annotated[bool, describe("Whether it may be missing.")] = False
    merge: Annotated[bool, describe("Whether a directory is merged into an existing one.")] = False
    preserve_properties: Annotated[bool, describe("Whether the copy keeps the owner and mode of the source.")] = False


class MadePath(Value, frozen=True, kw_only=True):
    """A directory or an empty file that is created if it does not exist."""

    path: Annotated[_Path, pattern(r"^/[^*?\[]*$"), describe("The absolute path, without wildcards.")]
    owner: _Owner = ""
    perm: _Mode = "0750"


class Permission(Value, frozen=True, kw_only=True):
    """The owner and the mode of existing files."""

    path: Annotated[_Path, pattern("^/"), describe("An absolute path; wildcards are allowed.")]
    owner: _Owner = ""
    perm: _Mode = ""
    recurse: Annotated[bool, describe("Whether everything below the path changes too.")] = False
    exclude: Annotated[
        tuple[str, ...], atomic, max_items(_MOST), describe("Regular expressions for paths that are left alone.")
    ] = ()


class KollaConfig(Value, frozen=True, kw_only=True):
    """Additions to a component's config.json: entries are added, and an entry for the same path replaces ours."""

    command: Annotated[
        str, max_length(4096), describe("The command instead of ours. It is split on blanks; there is no quoting.")
    ] = ""
    config_files: Annotated[
        tuple[CopiedFile, ...], atomic, max_items(_MOST), describe("Further files, by their destination.")
    ] = ()
    directories: Annotated[
        tuple[MadePath, ...], atomic, max_items(_MOST), describe("Directories to create, by path.")
    ] = ()
    files: Annotated[tuple[MadePath, ...], atomic, max_items(_MOST), describe("Files to create, by path.")] = ()
    permissions: Annotated[
        tuple[Permission, ...], atomic, max_items(_MOST), describe("Owners and modes to set at the end, by path.")
    ] = ()
