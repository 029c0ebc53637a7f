"""Teapot makes tea. It does not exist; a test puts this folder among the services, and its chart among the charts."""
