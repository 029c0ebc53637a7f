"""Tests that need a whole cloud: it is made once for all of them, and ends with them."""
