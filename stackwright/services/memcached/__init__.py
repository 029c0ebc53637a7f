"""Memcached holds tokens and other answers for a while, so that they need not be asked for again."""
