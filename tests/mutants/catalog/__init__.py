"""The mutants, by the floor of the product that they are in.

Each stands for a mistake that a test must notice; keep their texts short, so that they last.
"""

from tests.mutants.catalog import controllers, databases, dataplane, doors, kube, services

ALL = (*kube.MUTANTS, *controllers.MUTANTS, *services.MUTANTS, *databases.MUTANTS, *dataplane.MUTANTS, *doors.MUTANTS)
