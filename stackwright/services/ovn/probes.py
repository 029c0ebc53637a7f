"""How the pods of OVN are asked how they are: by a command in a shell."""

from stackwright.api.base import JsonObject


def ask(command: str, *, period: int, failures: int, timeout: int = 12) -> JsonObject:
    """Return a probe in Kubernetes' words; the times are seconds."""
    return {
        "exec": {"command": ["sh", "-c", command]},
        "periodSeconds": period,
        "timeoutSeconds": timeout,
        "failureThreshold": failures,
    }
