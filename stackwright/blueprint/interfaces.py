"""The interfaces of an API: for clients, and for other services."""

PUBLIC, INTERNAL = "public", "internal"
