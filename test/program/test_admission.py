"""The listener for AdmissionReviews: accepted clients, denied policies, and limits."""

import json
import os
import pathlib
import subprocess

import pytest

from authority import Authority
from client import ask, get, metrics, open_connection, pages_of, post, wait_until
from small_api import write_kubeconfig

PATH = "/admission/validate"
GOOD = {"filters": [{"name": "r", "nodeReady": True}]}
BAD = {"filters": [{"name": "r", "expression": "node.metdata.name == 'a'"}]}
MISTAKE = (
    "spec.filters[0].expression: undefined field 'metdata' of Node; did you mean 'metadata'? "
    "it has metadata, spec, status, ready, free, requested, allocatable, capacity, pods"
)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("admission") / "ca", "ca")


@pytest.fixture
def start(start_berth, authority, tmp_path):
    """start(*flags) -> berth and its listener for reviews. The API server is down, so berth has no policies of the cluster."""

    def run(*flags):
        certificate, key = authority.issue_server()
        berth = start_berth(
            "--tls-cert", certificate, "--tls-key", key, "--client-ca", authority.certificate,
            "--kubeconfig", write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1"),
            "--policies-from-cluster", "--admission-listen", "127.0.0.1:0", *flags,
        )  # fmt: skip
        return berth, pages_of(berth, "admission")

    return run


def make_object(spec, **metadata):
    return {"apiVersion": "berth.dev/v1alpha1", "kind": "PlacementPolicy", "metadata": {"name": "a", **metadata}, "spec": spec}


def make_review(operation, new=None, old=None, **request):
    resource = {"group": "berth.dev", "version": "v1alpha1", "resource": "placementpolicies"}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {"uid": "u-1", "operation": operation, "resource": resource, "object": new, "oldObject": old, **request},
    }


def review(listener, authority, *args, **request):
    """The response to a review."""
    reply = post(listener, PATH, make_review(*args, **request), context=authority.context())
    assert reply.status == 200, reply.text
    answer = reply.json()
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert answer["response"]["uid"] == "u-1"
    return answer["response"]


def test_denies_a_policy_with_a_mistake(start, authority):
    _, listener = start()
    assert review(listener, authority, "CREATE", make_object(GOOD))["allowed"]
    for operation, old in (("CREATE", None), ("UPDATE", make_object(GOOD))):
        denied = review(listener, authority, operation, make_object(BAD), old)
        assert not denied["allowed"]
        assert denied["status"] == {"status": "Failure", "reason": "Invalid", "code": 422, "message": MISTAKE}


def test_message_is_that_of_check(start, authority, berth_path, tmp_path):
    """berth check and the review report each mistake of a policy in the same words."""
    spec = {"filters": [{"name": "r", "nodeRedy": True}, BAD["filters"][0] | {"name": "s"}], "mode": "observe"}
    _, listener = start()
    message = review(listener, authority, "CREATE", make_object(spec))["status"]["message"]
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(make_object(spec)))
    done = subprocess.run([berth_path, "check", "-o", "json", path], capture_output=True, text=True)
    messages = json.loads(done.stdout)["messages"]
    assert len(messages) == len(message.splitlines()) == 3
    for line, expected in zip(message.splitlines(), messages):
        assert line.startswith("spec.") and expected["text"] in line and expected["hint"] in line


def test_warnings_of_check_are_passed_on(start, authority):
    _, listener = start()
    allowed = review(listener, authority, "CREATE", make_object(GOOD | {"params": {"p": 1}}))
    assert allowed == {"uid": "u-1", "allowed": True, "warnings": ['spec.params.p: no expression uses the parameter "p"']}


@pytest.mark.parametrize("args, request_fields", [
    (("UPDATE", make_object(BAD, labels={"a": "b"}), make_object(BAD)), {}),
    (("UPDATE", make_object(BAD, deletionTimestamp="2026-01-01T00:00:00Z"), make_object(GOOD)), {}),
    (("UPDATE", make_object(BAD), make_object(GOOD)), {"subResource": "status"}),
    (("DELETE", None, make_object(BAD)), {}),
    (("CREATE", make_object(BAD)), {"resource": {"group": "apps", "version": "v1", "resource": "deployments"}}),
])  # fmt: skip
def test_allows_what_adds_no_mistake(start, authority, args, request_fields):
    _, listener = start()
    assert review(listener, authority, *args, **request_fields) == {"uid": "u-1", "allowed": True}


def test_client_identity(start, authority, tmp_path):
    """With --admission-client-name only a certificate with this name is accepted; the scheduler's is not."""
    berth, listener = start("--admission-client-name", "kube-apiserver")
    body = make_review("CREATE", make_object(GOOD))
    other = Authority(tmp_path / "other", "other")
    allowed = authority.context(authority.issue("kube-apiserver"))
    assert post(listener, PATH, body, context=allowed).json()["response"]["allowed"]
    for context in (
        authority.context(),
        authority.context(authority.issue("system:kube-scheduler")),
        authority.context(other.issue("kube-apiserver")),
    ):
        refused = post(listener, PATH, body, context=context)
        assert refused.status == 403 and "--admission-client-name" in refused.error()
    assert post(berth, "filter", {"Pod": {}, "NodeNames": []}, context=allowed).status == 403


def test_only_reviews_are_answered_there_and_nowhere_else(start, authority):
    berth, listener = start()
    scheduler = authority.context(authority.issue("system:kube-scheduler"))
    for path in ("/", "/metrics", "/livez", "/api/v1/status", "/nowhere"):
        reply = get(listener, path, context=authority.context())
        assert reply.status == 404 and PATH in reply.error()
    assert post(listener, "filter", {}, context=authority.context()).status == 404
    assert get(listener, PATH, context=authority.context()).status == 405
    elsewhere = post(berth, PATH, make_review("CREATE", make_object(GOOD)), context=scheduler)
    assert elsewhere.status == 404 and "--admission-listen" in elsewhere.error()


@pytest.mark.parametrize("body, status", [
    (b"", 400),
    (b"{", 400),
    (json.dumps(make_review("CREATE")).encode(), 400),
    (json.dumps(make_review("CREATE", make_object({"params": {"p": "x" * (1 << 20)}}))).encode(), 413),
    (b" " * ((4 << 20) + 1), 413),
], ids=["empty", "half", "no object", "large text", "large body"])  # fmt: skip
def test_bad_reviews_get_an_error(start, authority, body, status):
    """After an error the API server follows failurePolicy."""
    _, listener = start()
    connection = open_connection(listener, authority.context())
    reply = ask(listener, "POST", PATH, body, {"Content-Type": "application/json"}, connection)
    assert reply.status == status and reply.text
    assert review(listener, authority, "CREATE", make_object(GOOD))["allowed"]


def test_reviews_are_counted(start, authority):
    berth, listener = start()
    scheduler = authority.context(authority.issue("system:kube-scheduler"))

    def counted():
        figures = metrics(berth, context=scheduler)
        return {result: figures[f'berth_admission_reviews_total{{result="{result}"}}'] for result in ("allowed", "rejected", "error")}

    assert counted() == {"allowed": 0, "rejected": 0, "error": 0}
    for spec in (GOOD, GOOD, BAD):
        review(listener, authority, "CREATE", make_object(spec))
    assert post(listener, PATH, {}, context=authority.context()).status == 400
    assert counted() == {"allowed": 2, "rejected": 1, "error": 1}
    large = ask(listener, "POST", PATH, b" " * ((4 << 20) + 1), {}, context=authority.context())
    assert large.status == 413
    assert metrics(berth, context=scheduler)['berth_admission_refused_total{cause="body_size"}'] == 1
    assert metrics(berth, context=scheduler)['berth_refused_total{cause="body_size"}'] == 0


def nice_values(berth, name):
    """The nice values of berth's threads named @name."""
    tasks = pathlib.Path(f"/proc/{berth.proc.pid}/task").iterdir()
    return sorted(int((task / "stat").read_text().rpartition(")")[2].split()[16]) for task in tasks if (task / "comm").read_text().strip() == name)


def test_its_threads_have_low_priority(start):
    """berth has two workers for verbs and one for reviews, and for each of both a thread that accepts."""
    berth, _ = start()
    own = os.getpriority(os.PRIO_PROCESS, 0)
    low = max(own, 10)
    wait_until(lambda: nice_values(berth, "http-worker") == [own, own, low], "the workers")
    wait_until(lambda: nice_values(berth, "http-accept") == [own, low], "the threads that accept")


def test_browsers_of_other_sites_are_refused(start, authority):
    _, listener = start()
    body = json.dumps(make_review("CREATE", make_object(GOOD))).encode()
    reply = ask(listener, "POST", PATH, body, {"Origin": "https://example.com"}, context=authority.context())
    assert reply.status == 403


def test_many_at_once(start, authority):
    """200 policies applied at once: the API server sends each review on a connection of its own, and gets all replies."""
    berth, listener = start()
    context = authority.context()
    connections = [open_connection(listener, context) for _ in range(200)]
    specs = [BAD if i % 10 == 0 else GOOD for i in range(200)]
    headers = {"Content-Type": "application/json"}

    def send(connection, spec):
        connection.request("POST", PATH, json.dumps(make_review("CREATE", make_object(spec))), headers)

    def is_allowed(connection):
        return json.loads(connection.getresponse().read())["response"]["allowed"]

    for connection in connections:
        send(connection, GOOD)
        assert is_allowed(connection)
    for connection, spec in zip(connections, specs):
        send(connection, spec)
    assert [is_allowed(connection) for connection in connections] == [spec is GOOD for spec in specs]
    scheduler = authority.context(authority.issue("system:kube-scheduler"))
    figure = 'berth_requests_total{verb="admission",code="200"}'
    wait_until(lambda: metrics(berth, context=scheduler).get(figure) == 400, "all of them to be counted")
    for connection in connections:
        connection.close()
