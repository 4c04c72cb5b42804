"""Tests kube-scheduler's configuration for berth in the chart, the overlays and the static pod's files."""

import copy
import re
import subprocess

import pytest
import yaml
from rendering import (
    DEPLOY, HERE, NAMESPACE, OVERLAYS, berth_containers, containers, find, pods, run, scheduler_configs, static_pods,
)  # fmt: skip

STATIC = DEPLOY / "static-pod"


def check(berth_path, tmp_path, text):
    path = tmp_path / "scheduler-config.yaml"
    path.write_text(text)
    return subprocess.run([berth_path, "check", "--offline", path], capture_output=True, text=True)


@pytest.fixture
def configs(chart, values):
    return list(scheduler_configs(chart.render(values)))


def test_chart_passes_its_own_check(configs, berth_path, tmp_path, values):
    for text in configs:
        done = check(berth_path, tmp_path, text)
        assert done.returncode == 0, done.stdout + done.stderr


def test_https_has_a_ca(configs):
    for text in configs:
        for extender in yaml.safe_load(text)["extenders"]:
            tls = extender.get("tlsConfig", {})
            assert extender["urlPrefix"].startswith("https://") == bool(tls)
            assert bool(tls) == extender.get("enableHTTPS", False)
            if tls:
                assert tls["caFile"] and tls["certFile"] and tls["keyFile"] and not tls.get("insecure")
            assert tls or extender["urlPrefix"].startswith("http://127.0.0.1:")


def test_check_fails_without_the_ca(chart, berth_path, tmp_path):
    (text,) = scheduler_configs(chart.render())
    cut = "\n".join(line for line in text.splitlines() if "caFile" not in line)
    done = check(berth_path, tmp_path, cut)
    assert done.returncode == 1 and "B105" in done.stdout


def test_scheduler_finds_its_files(chart, values):
    """The files of a configuration are mounted in kube-scheduler's container."""
    objects = chart.render(values)
    for text in scheduler_configs(objects):
        config = yaml.safe_load(text)
        pod = [spec for _, _, spec in pods(objects + list(static_pods(objects)))
               if spec["containers"][0]["name"] == "kube-scheduler"]  # fmt: skip
        (container,) = [spec["containers"][0] for spec in pod]
        folders = [mount["mountPath"] for mount in container["volumeMounts"]]
        names = [*config["extenders"][0].get("tlsConfig", {}).values()]
        names += [word.split("=", 1)[1] for word in container["command"] if word.startswith("--config=")]
        names += [config["clientConnection"]["kubeconfig"]] if "clientConnection" in config else []
        for name in names:
            assert any(name == folder or name.startswith(folder + "/") for folder in folders), name


def verbs_port(container):
    (listen,) = [word.split("=")[1] for word in container["args"] if word.startswith("--listen=")]
    return listen.rsplit(":", 1)[1]


def test_chart_and_scheduler_config_agree(chart, values):
    """Compares port, binding, timeouts and managed resources."""
    objects = chart.render(values)
    (container,) = berth_containers(objects)
    for text in scheduler_configs(objects):
        (extender,) = yaml.safe_load(text)["extenders"]
        args = container["args"]
        assert extender["nodeCacheCapable"] is True
        assert ("--bind" in args) == ("bindVerb" in extender)
        assert ("--bind" in args) == any(word.startswith("--lease=") for word in args)
        if "127.0.0.1" in extender["urlPrefix"]:
            assert extender["urlPrefix"].endswith(":" + verbs_port(container))
            assert ("--tls-cert=/etc/berth/tls/tls.crt" in args) == extender["urlPrefix"].startswith("https")
        managed = {each["name"] for each in extender.get("managedResources", [])}
        assert managed == {word.split("=")[1] for word in args if word.startswith("--managed-resource=")}


def test_bind_sticks_to_one_berth(chart):
    objects = chart.render(HERE / "values" / "bind.yaml")
    assert find(objects, "Service")["spec"]["sessionAffinity"] == "ClientIP"
    assert "sessionAffinity" not in find(chart.render(), "Service")["spec"]


# --- kustomize and the chart are equal ---

TWINS = {
    "second-scheduler": "defaults.yaml", "standalone": "standalone.yaml", "bind": "bind.yaml",
    "default-scheduler": "default-scheduler.yaml", "observe-only": "defaults.yaml",
}  # fmt: skip


def is_for_test(labels):
    return labels.get("app.kubernetes.io/component") == "test"


def plain(objects):
    """{(kind, name): object} without expected differences: labels of the tool, the name and checksum of the scheduler's
    configuration, the default Kubernetes version, the order of flags, and objects of `helm test`."""
    found = {}
    for each in copy.deepcopy(objects):
        metadata = each.pop("metadata")
        if "helm.sh/hook" in metadata.get("annotations", {}) or is_for_test(metadata.get("labels", {})):
            continue
        if each["kind"] == "NetworkPolicy":
            for rule in each["spec"]["ingress"]:
                if "from" in rule:
                    rule["from"] = [peer for peer in rule["from"] if not is_for_test(peer["podSelector"]["matchLabels"])]
        name = "scheduler-config" if any("extenders:" in text for text in each.get("data", {}).values()) else metadata["name"]
        if each["kind"] == "Deployment":
            template = each["spec"]["template"]
            template["metadata"].pop("annotations", None)
            template["metadata"]["labels"].pop("app.kubernetes.io/version", None)
            for volume in template["spec"]["volumes"]:
                if volume["name"] == "config":
                    volume["configMap"]["name"] = "scheduler-config"
        for _, container in containers([{**each, "metadata": metadata}]):
            container["args"] = sorted(container.get("args", []))
            if container["name"] == "kube-scheduler":
                container["image"] = container["image"].partition(":")[0]
        found[each["kind"], name] = each
    return found


def plain_static_pod(pod):
    """Only berth's part: kubeadm's kube-scheduler sets its port and has another version."""
    scheduler, berth = pod["spec"]["containers"]
    fields = [scheduler.get(field) for field in ("name", "command", "env", "resources", "securityContext")]
    lists = scheduler["volumeMounts"], pod["spec"]["volumes"]
    return fields, [sorted(each, key=lambda item: item["name"]) for each in lists], berth


@pytest.mark.parametrize("name", OVERLAYS)
def test_overlay_is_like_the_chart(kustomize, chart, name):
    overlay, objects = kustomize.overlay(name), chart.render(HERE / "values" / TWINS[name])
    ours, theirs = plain(overlay), plain(objects)
    # Helm makes the namespace itself; the overlays' certificates are berth certs' or cert-manager's.
    assert ours.keys() - {("Namespace", NAMESPACE)} == {key for key in theirs if key[0] != "Secret"}
    for key in ours.keys() & theirs.keys():
        if key[0] != "ConfigMap":
            assert ours[key] == theirs[key], key
    ours, theirs = [[yaml.safe_load(text) for text in scheduler_configs(each)] for each in (overlay, objects)]
    assert ours == theirs
    ours, theirs = [[plain_static_pod(pod) for pod in static_pods(each)] for each in (overlay, objects)]
    assert ours == theirs


def test_namespaces_are_the_same():
    base = DEPLOY / "kustomize/base/namespace.yaml"
    assert base.read_text() == (DEPLOY / "kustomize/overlays/default-scheduler/namespace.yaml").read_text()


@pytest.mark.parametrize("name", OVERLAYS)
def test_overlay_passes_its_own_check(kustomize, name, berth_path, tmp_path):
    for text in scheduler_configs(kustomize.overlay(name)):
        done = check(berth_path, tmp_path, text)
        assert done.returncode == 0, done.stdout


def test_overlay_policies_are_good(kustomize, berth_path):
    for path in (DEPLOY / "kustomize").rglob("*.yaml"):
        if re.search("^kind: PlacementPolicy$", path.read_text(), re.MULTILINE):
            run([berth_path, "check", path])


def test_cert_manager_is_like_the_chart(chart):
    ours = {each["metadata"]["name"]: each["spec"]
            for path in ("issuers.yaml", "certificates.yaml")
            for each in yaml.safe_load_all((DEPLOY / "cert-manager" / path).read_text())
            if each["kind"] == "Certificate"}  # fmt: skip
    objects = chart.render(HERE / "values" / "cert-manager.yaml")
    theirs = {each["metadata"]["name"]: each["spec"] for each in objects if each["kind"] == "Certificate"}
    assert ours == theirs


def test_rules_are_the_same():
    rules = yaml.safe_load((DEPLOY / "monitoring" / "berth-rules.yaml").read_text())
    ours = yaml.safe_load((DEPLOY / "kustomize/components/monitoring/rules.yaml").read_text())
    assert ours["spec"] == rules, "run tools/check-deploy --refresh"


# --- the static pod ---


def test_after_is_before_with_the_patch(tool):
    text = run([
        tool("kubectl"), "patch", "--local", "-f", STATIC / "kube-scheduler.before.yaml", "-o", "yaml",
        "--type", "strategic", "--patch-file", STATIC / "patches" / "kube-scheduler0+strategic.yaml",
    ])  # fmt: skip
    after = yaml.safe_load((STATIC / "kube-scheduler.after.yaml").read_text())
    assert yaml.safe_load(text) == after, "run tools/check-deploy --refresh"


def test_chart_has_the_same_patch(chart):
    objects = chart.render(HERE / "values" / "default-scheduler.yaml")
    data = find(objects, "ConfigMap", "berth-static-pod")["data"]
    ours = yaml.safe_load((STATIC / "patches" / "kube-scheduler0+strategic.yaml").read_text())
    assert yaml.safe_load(data["kube-scheduler.patch.yaml"]) == ours
    config = yaml.safe_load((STATIC / "scheduler-config.yaml").read_text())
    assert yaml.safe_load(data["scheduler-config.yaml"]) == config


def test_static_config_passes_the_check(berth_path):
    run([berth_path, "check", "--offline", STATIC / "scheduler-config.yaml"])
    run([berth_path, "check", STATIC / "everything-passes.yaml"])
