"""What of the data plane's tests runs only in `make everything`."""

from tests.functional.dying import EVERY_POINT

collect_ignore = [] if EVERY_POINT else ["test_releases_crash.py"]
