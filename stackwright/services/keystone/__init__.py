"""Keystone knows users, projects and roles, issues tokens, and holds the catalog of all services."""
