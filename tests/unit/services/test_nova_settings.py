"""What nova.conf says beyond Nova's defaults, where upstream's template says the same."""

from typing import Any

import pytest

from stackwright.blueprint import configuration, ini
from tests.unit.services.novas import BY_KIND, FACTS, made

FILTERS = (
    "AggregateInstanceExtraSpecsFilter,ComputeFilter,ComputeCapabilitiesFilter,ImagePropertiesFilter,"
    "ServerGroupAntiAffinityFilter,ServerGroupAffinityFilter,SameHostFilter,DifferentHostFilter,"
    "PciPassthroughFilter,NUMATopologyFilter"
)


def settings(kind: str) -> Any:
    data = configuration.secret_data(BY_KIND[kind], made(kind), FACTS)
    parsed = ini.parse(data["01-nova.conf"])
    assert not isinstance(parsed, ini.Problem)
    return parsed


@pytest.mark.parametrize(
    ("kind", "section", "option", "value"),
    [
        ("NovaAPI", "DEFAULT", "allow_resize_to_same_host", "true"),
        ("NovaAPI", "keystone_authtoken", "service_type", "compute"),
        ("NovaAPI", "keystone_authtoken", "service_token_roles_required", "true"),
        ("NovaAPI", "oslo_middleware", "enable_proxy_headers_parsing", "true"),
        ("NovaAPI", "oslo_concurrency", "lock_path", "/var/lib/nova/locks"),
        ("NovaAPI", "upgrade_levels", "compute", "auto"),
        ("NovaAPI", "service_user", "send_service_user_token", "true"),
        ("NovaAPI", "cinder", "catalog_info", "volumev3:cinderv3:internalURL"),
        ("NovaScheduler", "filter_scheduler", "enabled_filters", FILTERS),
        ("NovaScheduler", "filter_scheduler", "shuffle_best_same_weighed_hosts", "true"),
        ("NovaScheduler", "workarounds", "disable_fallback_pcpu_query", "true"),
        ("NovaScheduler", "scheduler", "max_attempts", "10"),
        ("NovaScheduler", "scheduler", "workers", "1"),
        ("NovaScheduler", "scheduler", "image_metadata_prefilter", "true"),
        ("NovaConductor", "conductor", "workers", "1"),
        ("NovaMetadata", "neutron", "service_metadata_proxy", "true"),
        ("NovaMetadata", "api", "local_metadata_per_cell", "false"),
        ("NovaNoVNCProxy", "vnc", "novncproxy_port", "6080"),
        ("NovaCompute", "vnc", "enabled", "false"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_option_is_as_upstream_has_it(kind: str, section: str, option: str, value: str) -> None:
    assert settings(kind)[section][option] == (value,)
