"""Writes `pause`, the program that holds a pod's namespaces: a few instructions in a file of a few hundred bytes.

It ignores the ends of its children, so that the kernel reaps them where containers share its process namespace, and
then sleeps for ever. There is no compiler in a user's machine that we could count on, and no need for one.
"""

import struct

_ADDRESS = 0x400000
_HEADERS = 64 + 56

# The kernel's struct sigaction: handler SIG_IGN, then flags, restorer and mask, all zero.
_IGNORE = struct.pack("<4Q", 1, 0, 0, 0)

# Each program is followed by _IGNORE, which its first address points to.
_AMD64 = bytes.fromhex(
    "b80d000000"  # mov eax, 13          rt_sigaction(
    "bf11000000"  # mov edi, 17            SIGCHLD,
    "488d3513000000"  # lea rsi, [rip+19]  ignore,
    "31d2"  # xor edx, edx                 NULL,
    "41ba08000000"  # mov r10d, 8          8)
    "0f05"  # syscall
    "b822000000"  # mov eax, 34          pause()
    "0f05"  # syscall
    "ebf7"  # jmp to the mov above
)
_ARM64 = b"".join(
    word.to_bytes(4, "little")
    for word in (
        0xD2800220,  # mov x0, 17        rt_sigaction(SIGCHLD,
        0x10000181,  # adr x1, +48         ignore,
        0xD2800002,  # mov x2, 0           NULL,
        0xD2800103,  # mov x3, 8           8)
        0xD28010C8,  # mov x8, 134
        0xD4000001,  # svc 0
        0xD2800000,  # mov x0, 0         ppoll(NULL,
        0xD2800001,  # mov x1, 0           0,
        0xD2800002,  # mov x2, 0           NULL, NULL)
        0xD2800003,  # mov x3, 0
        0xD2800928,  # mov x8, 73
        0xD4000001,  # svc 0
        0x17FFFFFA,  # b to the first mov of ppoll
    )
)
_MACHINES = {"amd64": (62, _AMD64), "arm64": (183, _ARM64)}


def program(architecture: str) -> bytes:
    """Return the program for that architecture, by Go's name, as a static ELF file."""
    machine, code = _MACHINES[architecture]
    body = code + _IGNORE
    size = _HEADERS + len(body)
    identification = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    entry = _ADDRESS + _HEADERS
    header = struct.pack("<16sHHIQQQIHHHHHH", identification, 2, machine, 1, entry, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    # One segment, readable and executable, that is the whole file.
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, _ADDRESS, _ADDRESS, size, size, 0x10000)
    return header + segment + body
