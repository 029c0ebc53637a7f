#!/usr/bin/python3
"""Tell whether KVM runs a guest here: exit code 0 if it does, 1 if it does not.

That /dev/kvm exists and opens says little: there are machines on which firmware runs and an operating system hangs. So
a guest is started that does what every operating system does first: it turns paging on, enters long mode, computes for
a moment, and ends QEMU through a device made for that.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

DEVICE = "/dev/kvm"
SECONDS = 20
# The guest writes 0x10 to the device, of which QEMU makes its exit code: twice that, and one.
ENDED = 0x10 * 2 + 1

# A boot sector of 16-bit code, which is loaded at 0x7c00.
GUEST = (
    bytes.fromhex(
        "fa 31c0 8ed8 8ec0 fc"  # cli; ds = es = 0; cld
        "66bf00100000 66b9000c0000 6631c0 6766f3ab"  # clear the page tables at 0x1000, 0x2000 and 0x3000
        "66c706001003200000 66c706002003300000 66c706003083000000"  # the first 2 MiB are where they are
        "0f20e0 6683c820 0f22e0"  # cr4: PAE
        "66b800100000 0f22d8"  # cr3 = 0x1000
        "66b9800000c0 0f32 660d00010000 0f30"  # EFER: long mode
        "0f0116987c"  # lgdt [0x7c98]
        "0f20c0 660d01000080 0f22c0"  # cr0: protection and paging
        "66ea727c00000800"  # jump to 0x08:0x7c72, which is 64-bit code
        "b900e1f505 e2fe"  # count down from a hundred million
        "66baf400 b010 ee"  # out 0xf4, 0x10
        "f4 ebfd 0f1f440000"  # halt for ever; padding
        "0000000000000000 00000000009a2000"  # the segments: none, code
        "0f00 887c0000"  # their size and place
    ).ljust(510, b"\0")
    + b"\x55\xaa"
)


def command(disk: Path) -> list[str]:
    """Return how the guest is started."""
    return [
        "qemu-system-x86_64",
        *("-machine", "q35,accel=kvm", "-cpu", "host", "-m", "64"),
        *("-nodefaults", "-display", "none", "-no-reboot"),
        *("-drive", f"file={disk},format=raw,if=ide"),
        *("-device", "isa-debug-exit,iobase=0xf4,iosize=4"),
    ]


def main() -> int:
    """Start the guest, and wait for its end."""
    if os.uname().machine != "x86_64":
        print("it is not tried on this architecture")
        return 1
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        print(f"there is no {DEVICE}")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        disk = Path(folder) / "guest"
        disk.write_bytes(GUEST)
        try:
            done = subprocess.run(command(disk), capture_output=True, text=True, check=False, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            print(f"a guest has not ended after {SECONDS} seconds")
            return 1
    if done.returncode != ENDED:
        print(f"a guest ended with {done.returncode}: {done.stderr.strip()}")
        return 1
    print("a guest ran")
    return 0


if __name__ == "__main__":
    sys.exit(main())
