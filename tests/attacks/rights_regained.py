"""Tries to become somebody else: setuid, capabilities, set-user-id programs and copies of them,
sudo, su.
"""

# %%
import ctypes
import os
import shutil
import subprocess

libc = ctypes.CDLL(None, use_errno=True)
for action in (
    lambda: os.setuid(0),
    lambda: os.setgid(0),
    lambda: os.setgroups([0]),
    lambda: os.setresuid(0, 0, 0),
    lambda: os.chroot("/tmp"),
    lambda: os.nice(-20),
):
    try:
        action()
        print("GAINED")
    except OSError as error:
        print(error)
header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
print(
    "capset",
    libc.capset(header, data),
    "securebits",
    libc.prctl(28, 0x2F),
    "new privs",
    libc.prctl(38, 0, 0, 0, 0),
    "ambient",
    libc.prctl(47, 2, 21, 0, 0),
)
shutil.copy("/bin/cat", "/tmp/cat")
os.chmod("/tmp/cat", 0o6777)
for command in (
    "sudo -n id",
    "su -c id",
    "newuidmap $$ 0 0 1",
    "pkexec id",
    "mount -t tmpfs x /tmp",
    "/tmp/cat /etc/shadow",
    "passwd -S",
    "chsh -s /bin/sh",
):
    print(
        subprocess.run(
            command, shell=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=1, text=True
        )
    )


# %% softmax
def softmax(scores, axis=-1):
    return scores
