"""HTTPS between kube-scheduler and berth, with certificates on both sides."""

import pytest
from authority import Authority
from objects import AVOID, make_extender

SCHEDULER = "system:kube-scheduler"
POLICY = """
filters:
  - {name: pool, nodeLabels: {pool: blue}, reason: node is not in the pool}
"""


class Meeting:
    """The certificates of both sides; a scenario replaces one of them."""

    def __init__(self, folder):
        self.folder = folder
        self.servers = Authority(folder / "servers", "servers")
        self.clients = Authority(folder / "clients", "clients")
        self.server = self.servers.issue_server()
        self.client = self.clients.issue_client(SCHEDULER)
        self.trusted = self.servers.certificate
        self.flags = []

    def make_stranger(self):
        return Authority(self.folder / "stranger", "stranger")

    def start(self, cluster):
        cluster.add_node("red", {"pool": "red"})
        cluster.add_node("blue", {"pool": "blue"}, taints=[AVOID])
        berth = cluster.start_berth(
            "--policy", cluster.write_policy(POLICY),
            "--tls-cert", self.server.certificate, "--tls-key", self.server.key,
            "--client-ca", self.clients.certificate, *self.flags,
        )  # fmt: skip
        tls = {
            "caFile": str(self.trusted),
            "certFile": str(self.client.certificate),
            "keyFile": str(self.client.key),
        }
        cluster.start_scheduler(
            make_extender(berth.url, names=False, enableHTTPS=True, tlsConfig=tls)
        )


@pytest.fixture
def meeting(tmp_path):
    return Meeting(tmp_path)


@pytest.mark.compat("TLS")
def test_mutual_tls_binds_a_pod(cluster, meeting):
    meeting.start(cluster)
    cluster.add_pod("goes")
    assert cluster.wait_bound("goes") == "blue"


def test_scheduler_of_another_name_is_allowed(cluster, meeting):
    meeting.client = meeting.clients.issue_client("second-scheduler")
    meeting.flags = ["--client-name", "second-scheduler"]
    meeting.start(cluster)
    cluster.add_pod("goes")
    assert cluster.wait_bound("goes") == "blue"


def berth_of_another_authority(meeting):
    meeting.trusted = meeting.make_stranger().certificate


def berth_of_another_name(meeting):
    meeting.server = meeting.servers.issue_server("DNS:elsewhere.example.com")


def scheduler_of_another_authority(meeting):
    meeting.client = meeting.make_stranger().issue_client(SCHEDULER)


def scheduler_of_another_name(meeting):
    meeting.client = meeting.clients.issue_client("system:node:one")


STRANGERS = [
    (berth_of_another_authority, "certificate signed by unknown authority"),
    (berth_of_another_name, "cannot validate certificate for 127.0.0.1"),
    (scheduler_of_another_authority, "code 403"),
    (scheduler_of_another_name, "code 403"),
]


@pytest.mark.compat("TLS")
@pytest.mark.parametrize("spoil, error", STRANGERS, ids=[each[0].__name__ for each in STRANGERS])
def test_pods_are_pending_with_untrusted_certificates(cluster, meeting, spoil, error):
    spoil(meeting)
    meeting.start(cluster)
    cluster.add_pod("waits")
    condition = cluster.wait_pending("waits", error)
    assert condition["reason"] == "SchedulerError"
    cluster.wait_event("waits", "FailedScheduling", error)
    assert error in cluster.describe_pod("waits")
