"""Helm: charts rendered by the real helm, and release records as it keeps them.

    rendered = await helm.render(Path("charts/keystone"), "keystone", "openstack", {"image": "..."})
    rendered.objects          # what to apply, in helm's order

`render` remembers what it rendered, and starts helm once for equal calls at the same time. `Packages` has charts
that users bring, from a registry or as bytes. Records are pure data: see `records`.
"""

from stackwright.adapters.helm.charts import Chart
from stackwright.adapters.helm.packages import Packages
from stackwright.adapters.helm.rendering import Rendered, Renderer, render

__all__ = ["Chart", "Packages", "Rendered", "Renderer", "render"]
