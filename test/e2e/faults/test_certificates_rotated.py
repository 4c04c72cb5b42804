"""Every certificate of berth is replaced every second while it binds."""

import itertools
import shutil
import ssl
import time

from authority import Authority
from client import FAULT_SCALE
from load import MANAGED
from objects import BERTH_NAMESPACE, make_extender
from waiting import wait_for

N_ROTATIONS = max(3, FAULT_SCALE)
SCHEDULER = "system:kube-scheduler"
ACCOUNT, GROUP = f"system:serviceaccount:{BERTH_NAMESPACE}:berth", f"system:serviceaccounts:{BERTH_NAMESPACE}"


class Secret:
    """A folder like a Secret volume of a kubelet: all files change atomically."""

    def __init__(self, folder):
        folder.mkdir()
        self.folder, self.numbers = folder, itertools.count()

    def write(self, texts):
        """@texts: {name: text}. Returns the paths."""
        number = next(self.numbers)
        data = self.folder / f"..{number}"
        data.mkdir()
        for name, text in texts.items():
            (data / name).write_text(text)
        new = self.folder / "..new"
        new.symlink_to(data.name)
        new.rename(self.folder / "..data")
        if number == 0:
            for name in texts:
                (self.folder / name).symlink_to(f"..data/{name}")
        shutil.rmtree(self.folder / f"..{number - 2}", ignore_errors=True)
        return [self.folder / name for name in texts]


class Certificates:
    """berth's certificates as a server and as a client of the API server, and the CAs of its clients."""

    def __init__(self, cluster):
        folder = cluster.folder
        self.secret, self.plane = Secret(folder / "secret"), cluster.plane
        self.servers = Authority(folder / "servers", "servers")
        self.clients = Authority(folder / "clients", "clients")
        # The unused CA changes the content of the file each time.
        self.spares = itertools.cycle([Authority(folder / name, name) for name in ("red", "blue")])
        self.client = self.clients.issue_client(SCHEDULER)
        self.seen = set()  # serial numbers that berth has shown
        paths = self.rotate()
        self.flags = [*zip(("--tls-cert", "--tls-key", "--client-ca"), paths)]
        self.flags = list(itertools.chain.from_iterable(self.flags))
        proof = f"client-certificate: {paths[3]}", f"client-key: {paths[4]}"
        self.kubeconfig = cluster.plane.write_kubeconfig_file("rotated", *proof)

    def rotate(self):
        self.server = self.servers.issue_server()
        access = self.plane.authority.issue_client(ACCOUNT, GROUP)
        trusted = self.clients, next(self.spares)
        return self.secret.write(
            {
                "tls.crt": self.server.certificate.read_text(),
                "tls.key": self.server.key.read_text(),
                "client-ca.crt": "".join(each.certificate.read_text() for each in trusted),
                "access.crt": access.certificate.read_text(),
                "access.key": access.key.read_text(),
            }
        )

    def is_served(self, berth):
        """Whether berth serves the newest certificate."""
        shown = ssl.get_server_certificate((berth.host, berth.port))
        self.seen.add(shown)
        return shown.strip() in self.server.certificate.read_text()

    def make_extender(self, berth, **fields):
        tls = {
            "caFile": str(self.servers.certificate),
            "certFile": str(self.client.certificate),
            "keyFile": str(self.client.key),
        }
        return make_extender(berth.url, enableHTTPS=True, tlsConfig=tls, **fields)


def test_certificates_are_rotated_every_second_while_berth_binds(cluster, make_load, report):
    certificates = Certificates(cluster)
    load = make_load(is_shared=True)
    berth = cluster.start_berth(*load.flags(certificates.kubeconfig), *certificates.flags)
    cluster.start_scheduler(
        certificates.make_extender(berth, bindVerb="bind", managedResources=MANAGED, httpTimeout="15s")
    )
    context = certificates.servers.context(certificates.client)
    load.place(berth, context, keeps_connections=False)
    start = time.monotonic()
    for i in range(N_ROTATIONS):
        certificates.rotate()
        certificates.is_served(berth)
        time.sleep(max(0, start + i + 1 - time.monotonic()))
    seconds = time.monotonic() - start
    wait_for("berth to show its newest certificate", lambda: certificates.is_served(berth))

    load.settle()
    load.check()
    cluster.assert_cluster_copy_is_true(berth)
    report(
        f"{N_ROTATIONS} rotations in {seconds:.0f} s, {len(certificates.seen)} certificates seen: {load.report()}"
    )
