"""HTTPS to the API server: checks of its certificate and berth's credentials."""

import apiserver
import faults
import pytest
from apistate import NODES
from authority import Authority
from client import wait_until
from live import fill, node


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("identity") / "ca", "scripted")


@pytest.fixture
def server(authority):
    tls = apiserver.make_tls(authority.issue_server(), authority.certificate)
    server = apiserver.ApiServer(tls, tokens={"right": "berth"})
    fill(server)
    yield server
    server.stop()


def check_watching(server, berth, user):
    server.state.put(NODES, node("later"))
    berth.wait_true(server)
    server.kill()
    server.state.put(NODES, node("still-later"))
    berth.wait_true(server)
    assert {request.user for request in server.requests} == {user}


def test_token(server, start_live, authority, tmp_path):
    config = server.write_kubeconfig(tmp_path / "config", authority.certificate, token="right")
    check_watching(server, start_live(kubeconfig=config), "berth")


def test_client_certificate(server, start_live, authority, tmp_path):
    pair = authority.issue_client("berth-by-certificate")
    config = server.write_kubeconfig(tmp_path / "config", authority.certificate, pair=pair)
    check_watching(server, start_live(kubeconfig=config), "berth-by-certificate")


def test_rejected_token(server, start_live, authority, tmp_path):
    config = server.write_kubeconfig(tmp_path / "config", authority.certificate, token="wrong")
    berth = start_live(kubeconfig=config, is_ready=False)
    wait_until(lambda: "no update yet" in berth.health() or "401" in berth.health(), "the reason")
    assert not berth.is_ready()
    server.tokens["wrong"] = "berth"
    wait_until(berth.is_ready, "berth to be ready")


def test_token_that_is_withdrawn(server, start_live, authority, tmp_path):
    """The snapshot stays; after the token is accepted again, berth has all changes."""
    config = server.write_kubeconfig(tmp_path / "config", authority.certificate, token="right")
    berth = start_live(kubeconfig=config)
    user = server.tokens.pop("right")
    server.kill()
    server.state.put(NODES, node("missed"))
    wait_until(lambda: not berth.is_connected("nodes"), "the refusal to be seen")
    assert berth.is_ready()
    server.tokens["right"] = user
    berth.wait_true(server)
    assert len(server.relists("nodes")) == 1


def test_an_api_server_of_another_authority(server, start_live, tmp_path):
    stranger = Authority(tmp_path / "stranger", "stranger")
    config = server.write_kubeconfig(tmp_path / "config", stranger.certificate, token="right")
    berth = start_live(kubeconfig=config, is_ready=False)
    wait_until(lambda: "certificate" in berth.health(), "the reason")
    assert not berth.is_ready()
    assert not server.requests  # no other server receives the token


def test_redirects_are_not_followed(server, start_live, authority, tmp_path):
    """Another server must not get the token."""
    tls = apiserver.make_tls(authority.issue_server())
    other = apiserver.ApiServer(tls, tokens={"right": "berth"})
    try:
        config = server.write_kubeconfig(tmp_path / "config", authority.certificate, token="right")
        server.script(faults.redirect(other.url + "/api/v1/nodes"), times=2)
        berth = start_live(kubeconfig=config)
        berth.wait_true(server)
        assert not other.requests
    finally:
        other.stop()
