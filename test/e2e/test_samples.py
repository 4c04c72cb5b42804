"""kube-scheduler accepts the configuration files in the documentation.

From 1.25 on a real one reads them. No kube-scheduler here reads policy files, which 1.22 was the last
to support: the rules of the strictest version are implemented below.
"""

import copy
import json
import pathlib
import re

import pytest
from client import metrics
from nodemode import Live
from objects import AVOID

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
POLICY = """
filters:
  - {name: pool, nodeLabels: {pool: blue}, reason: node is not in the pool}
"""

SAMPLES = {
    "examples": (
        (ROOT / "examples" / "scheduler-policy.json").read_text(),
        (ROOT / "examples" / "kube-scheduler-config.yaml").read_text(),
    ),
}
LEGACY = {name: json.loads(texts[0]) for name, texts in SAMPLES.items()}
CURRENT = {name: texts[1] for name, texts in SAMPLES.items()}

# --- what policy files of 1.16 to 1.22 may say ---

FIELDS = {"kind": str, "apiVersion": str, "predicates": list, "priorities": list, "extenders": list}
EXTENDER_FIELDS = {
    "urlPrefix": str, "filterVerb": str, "prioritizeVerb": str, "preemptVerb": str,
    "bindVerb": str, "weight": int, "enableHttps": bool, "tlsConfig": dict, "httpTimeout": int,
    "nodeCacheCapable": bool, "managedResources": list, "ignorable": bool,
}  # fmt: skip
TLS_FIELDS = {
    "insecure": bool, "serverName": str, "certFile": str, "keyFile": str, "caFile": str,
    "certData": str, "keyData": str, "caData": str,
}  # fmt: skip
RESOURCE_FIELDS = {"name": str, "ignoredByScheduler": bool}
EXTENDED_RESOURCE = re.compile(r"(?!([^/]*\.)?kubernetes\.io/)[a-z0-9.-]+\.[a-z]+/[A-Za-z0-9._-]+")
MILLISECOND, MINUTE = 10**6, 60 * 10**9  # in the unit of httpTimeout


def find_wrong_fields(obj, fields):
    for name, value in obj.items():
        if name not in fields:
            yield f"unknown field {name}"
        elif type(value) is not fields[name]:
            yield f"{name} is no {fields[name].__name__}"


def find_tls_faults(extender):
    tls = extender.get("tlsConfig", {})
    yield from find_wrong_fields(tls, TLS_FIELDS)
    has_authority = "caFile" in tls or "caData" in tls
    if has_authority and tls.get("insecure"):
        yield "insecure and a CA exclude each other"
    if (extender.get("enableHttps") or tls) and not has_authority:
        yield "without a CA nothing is verified"
    if extender.get("enableHttps") and not extender["urlPrefix"].startswith("https://"):
        yield "enableHttps does not change the scheme"


def find_extender_faults(extender):
    yield from find_wrong_fields(extender, EXTENDER_FIELDS)
    if "urlPrefix" not in extender:
        yield "no urlPrefix"
        return
    if "prioritizeVerb" in extender and not extender.get("weight", 0) > 0:
        yield "prioritizeVerb without weight"
    timeout = extender.get("httpTimeout")
    if type(timeout) is int and not MILLISECOND <= timeout <= MINUTE:
        yield "httpTimeout is in nanoseconds"
    yield from find_tls_faults(extender)
    for resource in extender.get("managedResources", []):
        yield from find_wrong_fields(resource, RESOURCE_FIELDS)
        if not EXTENDED_RESOURCE.fullmatch(resource.get("name", "")):
            yield "managedResources must be extended resources"


def find_faults(policy):
    faults = list(find_wrong_fields(policy, FIELDS))
    if policy.get("kind") != "Policy" or policy.get("apiVersion") != "v1":
        faults.append("1.16 knows kind Policy of v1 only")
    faults += [f"an empty list of {key} means none" for key in FIELDS if policy.get(key) == []]
    extenders = policy.get("extenders", [])
    for extender in extenders:
        faults += find_extender_faults(extender)
    if sum("bindVerb" in extender for extender in extenders) > 1:
        faults.append("two bindVerbs")
    names = [each.get("name") for one in extenders for each in one.get("managedResources", [])]
    if len(names) != len(set(names)):
        faults.append("a managed resource twice")
    return faults


def in_extender(**fields):
    """Changes the first extender; None removes a field."""

    def change(policy):
        extender = {**policy["extenders"][0], **fields}
        policy["extenders"][0] = {k: v for k, v in extender.items() if v is not None}

    return change


def managing(*resources):
    return in_extender(managedResources=list(resources))


def add_second_binder(policy):
    in_extender(bindVerb="bind")(policy)
    policy["extenders"] *= 2


HTTPS = {"urlPrefix": "https://127.0.0.1:8443", "enableHttps": True}
CERTIFIED = {"caFile": "ca.crt", "certFile": "client.crt", "keyFile": "client.key"}
SLOT = {"name": "example.com/slot", "ignoredByScheduler": True}

GOOD = {
    "https": in_extender(**HTTPS, tlsConfig=CERTIFIED),
    "binder": in_extender(bindVerb="bind"),
    "resource": managing(SLOT),
    "no-timeout": in_extender(httpTimeout=None),
    "filter-only": in_extender(prioritizeVerb=None, weight=None),
}
BAD = {
    # name: (change, fault)
    "kind": (lambda policy: policy.update(kind="KubeSchedulerConfiguration"), "kind Policy"),
    "version": (
        lambda policy: policy.update(apiVersion="kubescheduler.config.k8s.io/v1"), "kind Policy"
    ),
    "empty-predicates": (lambda policy: policy.update(predicates=[]), "predicates means none"),
    "profiles": (lambda policy: policy.update(profiles=[]), "unknown field profiles"),
    "new-spelling": (in_extender(enableHTTPS=True), "unknown field enableHTTPS"),
    "capitals": (in_extender(FilterVerb="filter"), "unknown field FilterVerb"),
    "duration": (in_extender(httpTimeout="1s"), "httpTimeout is no int"),
    "seconds": (in_extender(httpTimeout=1), "nanoseconds"),
    "no-weight": (in_extender(weight=None), "without weight"),
    "negative-weight": (in_extender(weight=-1), "without weight"),
    "no-url": (in_extender(urlPrefix=None), "no urlPrefix"),
    "unverified": (in_extender(**HTTPS), "nothing is verified"),
    "unverified-tls": (in_extender(**HTTPS, tlsConfig={"serverName": "a"}), "nothing is verified"),
    "insecure-ca": (in_extender(**HTTPS, tlsConfig={**CERTIFIED, "insecure": True}), "exclude"),
    "tls-spelling": (in_extender(**HTTPS, tlsConfig={"ca": "a"}), "unknown field ca"),
    "https-over-http": (in_extender(enableHttps=True, tlsConfig=CERTIFIED), "the scheme"),
    "two-binders": (add_second_binder, "two bindVerbs"),
    "plain-resource": (managing({"name": "cpu"}), "extended resources"),
    "own-resource": (managing({"name": "kubernetes.io/slot"}), "extended resources"),
    "twice": (managing(SLOT, SLOT), "resource twice"),
    "resource-spelling": (managing({**SLOT, "ignored": True}), "unknown field ignored"),
}  # fmt: skip


@pytest.fixture(params=LEGACY.values(), ids=LEGACY.keys())
def legacy(request):
    return copy.deepcopy(request.param)


def test_policy_files_keep_the_oldest_rules(legacy):
    assert find_faults(legacy) == []
    assert legacy["extenders"]


@pytest.mark.parametrize("change", GOOD.values(), ids=GOOD.keys())
def test_accepts_valid_samples(legacy, change):
    change(legacy)
    assert find_faults(legacy) == []


@pytest.mark.parametrize("change, fault", BAD.values(), ids=BAD.keys())
def test_finds_faults_in_samples(legacy, change, fault):
    change(legacy)
    assert any(fault in found for found in find_faults(legacy)), find_faults(legacy)


# --- in force ---


def modernise(extender):
    """Converts an extender of a policy file to the spelling of newer schedulers, which reject unknown
    fields."""
    renamed = {"enableHttps": "enableHTTPS"}
    new = {renamed.get(name, name): value for name, value in extender.items()}
    return {**new, "httpTimeout": f"{extender['httpTimeout']}ns"}


@pytest.fixture
def berth(cluster):
    cluster.add_node("red", {"pool": "red"})
    cluster.add_node("blue", {"pool": "blue"}, taints=[AVOID])
    return cluster.start_berth(
        *Live().flags(cluster), "--policy", cluster.write_policy(POLICY), "--bind"
    )


def assert_berth_decides(cluster):
    cluster.add_pod("goes")
    assert cluster.wait_bound("goes") == "blue"


def test_policy_files_are_complete(cluster, berth, legacy):
    extenders = [modernise(each) | {"urlPrefix": berth.url} for each in legacy["extenders"]]
    cluster.start_scheduler(*extenders)
    assert_berth_decides(cluster)


def run_scheduler(cluster, berth, text):
    """Runs kube-scheduler with a file of the documentation, with the paths and addresses of this machine."""
    kubeconfig = str(cluster.plane.scheduler_kubeconfig)
    assert text.count("http://127.0.0.1:8080") == 1
    text = text.replace("http://127.0.0.1:8080", berth.url)
    if "clientConnection" in text:
        text = text.replace("/etc/kubernetes/scheduler.conf", kubeconfig)
    else:
        text += f"clientConnection: {{kubeconfig: {kubeconfig}}}\n"
    # Otherwise it would wait for the lease of an earlier scenario.
    cluster.run_scheduler(text + "leaderElection: {leaderElect: false}\n")


@pytest.mark.parametrize("text", CURRENT.values(), ids=CURRENT.keys())
def test_configuration_files_work(cluster, berth, text):
    run_scheduler(cluster, berth, text)
    assert_berth_decides(cluster)
    assert metrics(berth)["berth_binds_total"] == 0


def test_the_example_shows_how_to_bind(cluster, berth):
    text = CURRENT["examples"]
    assert text.count("# bindVerb: bind") == 1
    run_scheduler(cluster, berth, text.replace("# bindVerb: bind", "bindVerb: bind"))
    assert_berth_decides(cluster)
    cluster.wait_figure(berth, "berth_binds_total", 1)
