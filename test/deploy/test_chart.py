"""The chart renders with every file of values/, rejects every file of refused/, and prints the next steps."""

import json
import os
import re
import subprocess

import pytest
import yaml
from rendering import DEPLOY, HERE, NAMESPACE, Refused, berth_containers, find, of_kind, run

LABELS = ["name", "instance", "component", "part-of", "managed-by", "version"]
ROOT = HERE.parent.parent
CLUSTER_WIDE = (
    "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingPolicy",
    "NodeOverlay", "ValidatingWebhookConfiguration")  # fmt: skip


def test_lints(chart):
    output = run([chart.helm, "lint", "--strict", chart.source])
    assert "0 chart(s) failed" in output


def test_renders(chart, values):
    objects = chart.render(values)
    assert objects
    names = [(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"])
             for each in objects]  # fmt: skip
    assert len(set(names)) == len(names)
    for each in objects:
        is_wide = each["kind"] in CLUSTER_WIDE
        assert is_wide == ("namespace" not in each["metadata"]), each["metadata"]
        for label in LABELS:
            assert each["metadata"]["labels"][f"app.kubernetes.io/{label}"], each["metadata"]
        assert each["metadata"]["labels"]["app.kubernetes.io/name"] == "berth"


def test_has_no_blanks_at_ends_of_lines(chart, values):
    for line in chart.text(values).splitlines():
        assert line == line.rstrip(), repr(line)


def test_refuses(chart, refused):
    expected = re.match(r"# refused: (.*)\n", refused.read_text())[1]
    with pytest.raises(Refused) as caught:
        chart.text(refused)
    assert expected in str(caught.value)


def test_refuses_at_least_thirty():
    assert len(list((HERE / "refused").glob("*.yaml"))) >= 30


def find_open_objects(schema, path="#"):
    if isinstance(schema, dict):
        if schema.get("type") == "object" and "additionalProperties" not in schema:
            yield path
        for key, each in schema.items():
            yield from find_open_objects(each, f"{path}/{key}")
    elif isinstance(schema, list):
        for i, each in enumerate(schema):
            yield from find_open_objects(each, f"{path}/{i}")


# Kubernetes' own objects, or berth's, which others check
OPEN = {"global", "nodeAffinity", "podAffinity", "podAntiAffinity", "plugins", "items", "spec", "labels", "annotations"}


def test_schema_is_strict():
    schema = json.loads((DEPLOY / "chart" / "values.schema.json").read_text())
    for path in find_open_objects(schema):
        assert path.rsplit("/", 1)[1] in OPEN, path


def find_undescribed(schema, values, path=""):
    for key, value in values.items():
        if key not in schema.get("properties", {}):
            yield path + key
        elif isinstance(value, dict):
            yield from find_undescribed(schema["properties"][key], value, f"{path}{key}.")


def test_schema_and_values_have_the_same_keys():
    schema = json.loads((DEPLOY / "chart" / "values.schema.json").read_text())
    values = yaml.safe_load((DEPLOY / "chart" / "values.yaml").read_text())
    maps = ("nodeSelector", "labels", "grafanaDashboard.labels.grafana_dashboard")
    missing = [key for key in find_undescribed(schema, values) if not key.startswith(maps)]
    assert missing == []
    assert set(schema["properties"]) - {"global"} == set(values)


def test_is_of_this_version():
    chart = yaml.safe_load((DEPLOY / "chart" / "Chart.yaml").read_text())
    version = re.search(r"version: '([^']*)'", (ROOT / "meson.build").read_text())[1]
    assert chart["appVersion"] == version


def test_old_cluster_is_refused(chart):
    with pytest.raises(Refused, match="kubeVersion"):
        run([chart.helm, "template", "berth", chart.source, "--kube-version", "1.24.17"])


@pytest.mark.parametrize("version, image, path", [
    ("v1.25.16", "v1.25.16", "/healthz"),
    ("v1.30.4-gke.1348000", "v1.30.4", "/healthz"),
    ("v1.31.2+k3s1", "v1.31.2", "/livez"),
    ("v1.36.4", "v1.36.4", "/livez"),
])  # fmt: skip
def test_scheduler_is_of_the_clusters_version(chart, version, image, path):
    text = run([chart.helm, "template", "berth", chart.source, "--kube-version", version])
    deployment = find(list(yaml.safe_load_all(text)), "Deployment", "berth-scheduler")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"registry.k8s.io/kube-scheduler:{image}"
    assert container["livenessProbe"]["httpGet"]["path"] == path


def test_certificates_of_one_rendering_match(chart, tmp_path):
    """All templates use the same CA."""
    import base64

    objects = chart.render(HERE / "values" / "standalone.yaml")
    authority = base64.b64decode(find(objects, "Secret", "berth-ca")["data"]["tls.crt"])
    (tmp_path / "ca.crt").write_bytes(authority)
    for use, name in ("server", "sslserver"), ("client", "sslclient"):
        data = find(objects, "Secret", f"berth-{use}")["data"]
        assert base64.b64decode(data["ca.crt"]) == authority
        (tmp_path / use).write_bytes(base64.b64decode(data["tls.crt"]))
        subprocess.run(
            ["openssl", "verify", "-purpose", name, "-CAfile", tmp_path / "ca.crt", tmp_path / use],
            check=True, capture_output=True,
        )  # fmt: skip
    output = run(["openssl", "x509", "-in", tmp_path / "server", "-noout", "-ext", "subjectAltName"])
    assert f"DNS:berth.{NAMESPACE}.svc," in output and "IP Address:127.0.0.1" in output
    output = run(["openssl", "x509", "-in", tmp_path / "client", "-noout", "-subject"])
    assert "system:kube-scheduler" in output


def test_crl_is_mounted_where_the_flag_says(chart):
    objects = chart.render(HERE / "values" / "existing-secrets.yaml")
    (berth,) = berth_containers(objects)
    assert "--client-crl=/etc/berth/crl/ca.crl" in berth["args"]
    assert {"name": "crl", "mountPath": "/etc/berth/crl", "readOnly": True} in berth["volumeMounts"]
    volumes = find(objects, "Deployment", "berth")["spec"]["template"]["spec"]["volumes"]
    assert {"name": "crl", "configMap": {"name": "my-crl"}} in volumes


def test_observe_rewrites_policies(chart):
    objects = chart.render(HERE / "values" / "observe.yaml")
    policy = yaml.safe_load(find(objects, "ConfigMap", "berth-policies")["data"]["pool.yaml"])
    assert policy["spec"]["mode"] == "Observe"


def test_policies_are_good(chart, values, berth_path, tmp_path):
    for each in of_kind(chart.render(values), "ConfigMap"):
        if each["metadata"]["name"].endswith("-policies"):
            for name, text in each["data"].items():
                (tmp_path / name).write_text(text)
            run([berth_path, "check", tmp_path])


@pytest.mark.parametrize("flags", [["--admission"], ["--admission", "--kyverno"], ["--node-overlay", "default"]], ids=" ".join)
def test_objects_of_published_filters(chart, berth_path, tmp_path, flags):
    """They equal berth's output plus the chart's labels."""
    printed = run([berth_path, "config", *flags, "--policy", ROOT / "examples/managed.yaml"])
    (tmp_path / "objects.yaml").write_text(printed)
    (tmp_path / "values.yaml").write_text("publish: {enabled: true, labels: true}\n")
    text = run([chart.helm, "template", "berth", chart.source, "-f", tmp_path / "values.yaml",
                "--set-file", f"publish.objects={tmp_path / 'objects.yaml'}"])  # fmt: skip
    expected = list(yaml.safe_load_all(printed))
    rendered = [each for each in yaml.safe_load_all(text) if each["kind"] in {one["kind"] for one in expected}]
    for each in rendered:
        labels = each["metadata"].pop("labels")
        assert all(labels[f"app.kubernetes.io/{label}"] for label in LABELS)
    for each in expected:
        assert each["metadata"].pop("labels", {}) in ({}, {"app.kubernetes.io/name": "berth"})
    def order(each):
        return each["kind"], each["metadata"]["name"]

    assert sorted(rendered, key=order) == sorted(expected, key=order) and rendered


def test_opt_in(chart, berth_path):
    """It equals berth's output for the scheduler's name, plus the chart's labels."""
    kinds = ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
    rendered = [each for each in chart.render(HERE / "values" / "everything.yaml") if each["kind"] in kinds]
    printed = list(yaml.safe_load_all(run([berth_path, "config", "--admission", "--scheduler-name", "careful"])))
    for each in (*rendered, *printed):
        del each["metadata"]["labels"]
    assert sorted(rendered, key=lambda each: each["kind"]) == printed
    assert not [each for each in chart.render(HERE / "values" / "defaults.yaml") if each["kind"] in kinds]


def test_monitoring_is_the_same_as_in_its_folder():
    for name in ("berth-rules.yaml", "berth-dashboard.json"):
        ours = (DEPLOY / "chart" / "files" / name).read_text()
        assert ours == (DEPLOY / "monitoring" / name).read_text(), "run tools/check-deploy --refresh"


# --- NOTES ---


def find_snippet(notes):
    """The extenders in NOTES."""
    return yaml.safe_load(re.search(r"^extenders:\n(?:  .*\n)+", notes, re.MULTILINE)[0])


@pytest.mark.parametrize("name", ["defaults", "standalone", "sidecar", "sidecar-read", "everything"])
def test_notes_show_the_extender(chart, name):
    notes = chart.notes(HERE / "values" / f"{name}.yaml")
    (extender,) = find_snippet(notes)["extenders"]
    is_plain = extender["urlPrefix"].startswith("http://127.0.0.1:")
    assert is_plain or extender["tlsConfig"].keys() & {"caFile", "caData"}
    assert "berth explain " in notes
    assert (name == "sidecar") == is_plain


def test_notes_of_the_static_pod(chart):
    notes = chart.notes(HERE / "values" / "default-scheduler-everything.yaml")
    for part in ("/root/berth-backup", "check --offline", "--patches", "check --live", "to revert"):
        assert part in notes
    assert "<no value>" not in notes


def test_notes_of_the_static_pod_take_policies_from_where_they_are(chart):
    notes = chart.notes(HERE / "values" / "default-scheduler-existing.yaml")
    assert "everything-passes" not in notes
    assert "get configmap my-policies" in notes and 'get my-policies "$file" >' in notes


def test_notes_have_no_gaps(chart, values):
    notes = chart.notes(values)
    assert "<no value>" not in notes and "%!" not in notes
    assert "PRIVATE KEY" not in notes


# --- the validating webhook ---

SHIPPED = DEPLOY / "kustomize" / "components" / "admission"


def find_webhook(objects):
    (configuration,) = of_kind(objects, "ValidatingWebhookConfiguration")
    (webhook,) = configuration["webhooks"]
    return configuration["metadata"], webhook


@pytest.mark.parametrize("name", ["admission", "admission-cert-manager", "admission-existing", "admission-sidecar"])
def test_webhook_leads_to_berth(chart, name):
    """Its Service, port, network policy and flags match, and the API server has the CA."""
    objects = chart.render(HERE / "values" / f"{name}.yaml")
    metadata, webhook = find_webhook(objects)
    at = webhook["clientConfig"]["service"]
    (port,) = [each for each in find(objects, "Service", at["name"])["spec"]["ports"] if each["port"] == at["port"]]
    (berth,) = berth_containers(objects)
    (inside,) = [each["containerPort"] for each in berth["ports"] if each["name"] == port["targetPort"]]
    assert f"--admission-listen=0.0.0.0:{inside}" in berth["args"]
    assert any(word.startswith("--tls-cert=") for word in berth["args"]) and "--policies-from-cluster" in berth["args"]
    allowed = [each for policy in of_kind(objects, "NetworkPolicy") for rule in policy["spec"].get("ingress", []) for each in rule["ports"]]
    assert {"port": inside, "protocol": "TCP"} in allowed
    has_ca = "cert-manager.io/inject-ca-from" in metadata.get("annotations", {})
    assert has_ca != ("caBundle" in webhook["clientConfig"])


def test_webhook_of_the_chart_is_that_of_the_component(chart):
    _, rendered = find_webhook(chart.render(HERE / "values" / "admission.yaml"))
    _, shipped = find_webhook(list(yaml.safe_load_all((SHIPPED / "webhook.yaml").read_text())))
    del rendered["clientConfig"]["caBundle"]
    assert rendered == shipped


def test_webhook_on_kubernetes_without_match_conditions(chart):
    values = HERE / "values" / "admission.yaml"
    text = run([chart.helm, "template", "berth", chart.source, "--kube-version", "1.27.3", "-f", values])
    assert "matchConditions" not in find_webhook([each for each in yaml.safe_load_all(text) if each])[1]


def test_component_of_the_webhook(kustomize, tmp_path):
    """With an overlay as in deploy/kustomize/README.md."""
    components = [SHIPPED.parent / "policies-from-cluster", SHIPPED]
    overlay = SHIPPED.parent.parent / "overlays" / "standalone"
    folder = tmp_path / "own"
    folder.mkdir()
    relative = [os.path.relpath(path, folder) for path in (overlay, *components)]
    (folder / "kustomization.yaml").write_text(json.dumps({"resources": relative[:1], "components": relative[1:]}))
    objects = list(yaml.safe_load_all(run([kustomize.kubectl, "kustomize", "--load-restrictor=LoadRestrictionsNone", folder])))
    _, webhook = find_webhook(objects)
    at = webhook["clientConfig"]["service"]
    assert at["port"] in [each["port"] for each in find(objects, "Service", at["name"])["spec"]["ports"]]
    (berth,) = berth_containers(objects)
    assert f"--admission-listen=0.0.0.0:{at['port']}" in berth["args"]
