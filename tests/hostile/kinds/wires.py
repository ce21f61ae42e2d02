"""The network, and everything else that could carry a word out."""

from __future__ import annotations

from left import assert_nothing_found

from kinds.base import Hostile, python

KINDS = [
    Hostile(
        "network",
        "speaks to the host, the gateway, the cloud's metadata, name servers and the internet, by TCP, UDP, IPv4 and IPv6",
        ": > found.txt\n"
        + python("""
            import os, socket
            def note(text): open("/app/found.txt", "a").write(text + "\\n")
            port = int(os.environ["HOST_PORT"])
            names = ("127.0.0.1", "::1", "10.0.0.1", "10.0.2.2", "172.17.0.1", "192.168.0.1", "192.168.1.1", "169.254.169.254",
                     "169.254.1.1", "fe80::1%lo", "fd00:ec2::254", "8.8.8.8", "1.1.1.1", "2001:4860:4860::8888", "0.0.0.0",
                     "255.255.255.255", "224.0.0.1", "::ffff:127.0.0.1")
            for name in names:
                family = socket.AF_INET6 if ":" in name else socket.AF_INET
                for number in (port, 80, 53):
                    with socket.socket(family, socket.SOCK_STREAM) as wire:
                        wire.settimeout(0.1)
                        try: wire.connect((name, number)); note(f"tcp {name} {number}")
                        except OSError: pass
                with socket.socket(family, socket.SOCK_DGRAM) as wire:
                    wire.settimeout(0.1); wire.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
                    try: wire.sendto(b"hello", (name, port)); wire.recv(1); note(f"udp {name}")
                    except OSError: pass
            for name in ("example.com", "localhost.localdomain", "host.docker.internal", "metadata.google.internal"):
                try: note(f"{name} {socket.getaddrinfo(name, 80)}")
                except OSError: pass
            """),
        also=assert_nothing_found,
    ),
    Hostile(
        "other_sockets",
        "uses abstract and named sockets of the host, vsock, netlink, raw and packet sockets, Bluetooth and tunnels",
        ": > found.txt\n"
        + python("""
            import os, socket
            def note(text): open("/app/found.txt", "a").write(text + "\\n")
            for address in ("\\0" + os.environ["HOST_SOCKET"], os.environ["HOST_PLACE"] + "/socket",
                            "/proc/1/root" + os.environ["HOST_PLACE"] + "/socket", "/run/docker.sock", "/var/run/docker.sock",
                            "/run/systemd/private", "/run/dbus/system_bus_socket", "\\0/tmp/.X11-unix/X0"):
                for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
                    with socket.socket(socket.AF_UNIX, kind) as wire:
                        try: wire.connect(address); note(f"unix {address!r}")
                        except OSError: pass
            for host in (0, 1, 2, 3, 0xffffffff):
                try:
                    with socket.socket(40, socket.SOCK_STREAM) as wire:
                        wire.settimeout(0.1); wire.connect((host, 22)); note(f"vsock {host}")
                except OSError: pass
            for family, kind, protocol in ((socket.AF_INET, socket.SOCK_RAW, 1), (socket.AF_INET, socket.SOCK_RAW, 255),
                                           (socket.AF_PACKET, socket.SOCK_RAW, 0x300), (31, 3, 1), (38, 5, 0)):
                try:
                    with socket.socket(family, kind, protocol) as wire:
                        if family != 38: note(f"raw {family}")
                except OSError: pass
            for number in range(23):  # netlink: refused, and before that nothing of the host's would have answered
                try:
                    with socket.socket(16, socket.SOCK_RAW, number) as wire: wire.bind((0, 0xffffffff))
                except OSError: pass
            try: os.open("/dev/net/tun", os.O_RDWR); note("tun")
            except OSError: pass
            """)
        + """
        unshare -Urn sh -c 'ip link add v type veth; ip addr add 10.0.0.2/24 dev lo; ip link set lo up' > /dev/null 2>&1
        unshare -Urn cat /proc/net/unix | grep -a "$HOST_SOCKET" >> found.txt; cat /proc/net/unix | grep -a "$HOST_SOCKET" >> found.txt
        ip link add v type veth; ip link set lo down; ip route add default dev lo; true""",
        also=assert_nothing_found,
    ),
]
