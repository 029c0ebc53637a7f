"""Tries a cloud with Tempest, and tells how it goes: a JSON object a line.

{"notes": ["There is no external network: ..."]}
{"selected": 214, "leftOut": {"The computes only pretend to run servers: ...": 12}}
{"test": "tempest.api.identity...", "status": "failed", "seconds": 1.2, "reason": "...", "trace": "..."}
{"removed": 3}
{"done": {"missing": 0}}

or `{"error": "..."}` if nothing can be tried. What Tempest cannot try on this cloud it skips itself, by the feature
flags that `configuration` derives from what the cloud has. The administrator's password is cut out of every line.
"""
