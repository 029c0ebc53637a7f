"""Write `options.json` of every service from the image that was built: `make options`."""

import sys

from tests.images.built import container, why_not_built
from tests.images.option_lists import LISTED, PACKAGES, listed


def main() -> None:
    """Ask the image for each list."""
    if reason := why_not_built(["openstack"]):
        sys.exit(reason)
    with container("openstack") as openstack:
        for service in LISTED:
            assert service.options is not None
            service.options.write_text(listed(openstack, PACKAGES[service.image_name]))


if __name__ == "__main__":
    main()
