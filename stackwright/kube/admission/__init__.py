"""Admission webhooks: checks of a resource when it is written.

    checks.py        what a kind's author writes: pure functions that mutate and validate, and what they find
    json_patch.py    the difference of two manifests, as RFC 6902 wants it
    reviews.py       the API server's question and our answer, as types; a question in, an answer out
    server.py        the TLS server in front of that
    certificates.py  our own authority and serving certificate, and when they are renewed
    certificate_sources.py  the Secret in which replicas share them, or files that somebody else keeps
    registration.py  tells the API server what to ask, and which authority to trust
    serving.py       everything together, for a process to run

A webhook gives an early answer, never safety: every check runs again where the resource is reconciled.
"""
