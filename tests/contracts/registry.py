"""What an OCI registry does when charts are pulled from it by the real helm.

The fake is tried by these tests in the functional ring, and the local cluster's own registry among the long tests. The
other side is real: it is helm that pulls. Whoever has a registry inherits this class with a fixture `registry`: one
that speaks plain HTTP, and who puts charts there.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from stackwright.adapters.errors import Refused, Rejected
from stackwright.adapters.helm import Packages

NOBODYS = f"sha256:{'0' * 64}"


@dataclass(frozen=True)
class Registry:
    """Where a registry is; `put` keeps a packaged chart in a repository and returns its digest."""

    host: str
    put: Callable[[str, bytes], Awaitable[str]]


class RegistryContract:
    """The tests."""

    async def test_a_chart_is_pulled_by_its_digest(
        self, registry: Registry, packages: Packages, package: bytes
    ) -> None:
        digest = await registry.put("charts", package)
        for version in ("", ":0.1.0"):
            folder = await packages.pulled(f"oci://{registry.host}/charts/small{version}@{digest}", plain_http=True)
            assert (folder / "templates" / "small.yaml").is_file()

    async def test_a_digest_that_nobody_has_is_refused(
        self, registry: Registry, packages: Packages, package: bytes
    ) -> None:
        await registry.put("charts", package)
        with pytest.raises(Refused, match="push the chart"):
            await packages.pulled(f"oci://{registry.host}/charts/small@{NOBODYS}", plain_http=True)
        with pytest.raises(Refused, match="push the chart"):
            await packages.pulled(f"oci://{registry.host}/nothing/here@{NOBODYS}", plain_http=True)

    async def test_a_registry_without_tls_is_used_only_when_that_is_said(
        self, registry: Registry, packages: Packages, package: bytes
    ) -> None:
        digest = await registry.put("charts", package)
        with pytest.raises(Rejected, match="plainHTTP"):
            await packages.pulled(f"oci://{registry.host}/charts/small@{digest}")
