"""MariaDB."""

from stackwright.services.mariadb.service import SERVICE
from tests.functional.services.case import CLASS, Refusal, ServiceCase

CASES = (
    ServiceCase(
        blueprint=SERVICE,
        name="openstack",
        least={"storageClass": CLASS, "storageRequest": "1G"},
        ports={"": 3306},
        stays=frozenset({"Secret openstack-mariadb-root", "PersistentVolumeClaim data-openstack-galera-0"}),
        refused=(Refusal({"replicas": 2}, "use one or three"),),
    ),
)
