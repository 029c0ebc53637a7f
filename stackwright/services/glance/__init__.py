"""Glance keeps the images that servers start from, and serves them to clients and to other services."""
