/*
 * The steps of each mode. Commands are whole, to be pasted; what stands in CAPITALS is the
 * reader's.
 */

#include <stdarg.h>
#include <stdio.h>

#include "base/shell.h"
#include "commands/install-plan.h"
#include "version.h"

#define FOLDER "/etc/kubernetes/berth"
#define LINE_MAX_LEN ((size_t)4096)

/* --- install ------------------------------------------------------------------------------ */

static void step_check_policies(InstallPlan *plan) {
    plan_step(plan, "See what the policies say, before anybody asks them");
    plan_command(plan, "berth check %.*s", STR_FMT(plan->policy));
    if (plan->sight->was_asked)
        plan_command(plan,
            "berth explain%.*s --policy %.*s NAMESPACE/POD",
            STR_FMT(plan->cluster_flags),
            STR_FMT(plan->policy));
    plan_say(plan, "To watch first and act later, put mode: Observe into their spec.");
}

static void step_image(InstallPlan *plan) {
    plan_step(plan, "Bring the image to where the nodes can pull it");
    plan_command(plan, "make image    # then push it as REGISTRY/berth:" BERTH_VERSION);
}

/* The line that installs, and that brings everything up to date. */
static void command_helm(InstallPlan *plan) {
    plan_command(plan,
        "%.*s upgrade --install berth deploy/chart --namespace %s --create-namespace \\",
        STR_FMT(plan->helm),
        plan->namespace);
    plan_command(plan,
        "  --set mode=%s --set image.repository=REGISTRY/berth \\",
        install_mode_name(plan->settings->mode));
    plan_command(plan, "  --set-file %.*s", STR_FMT(plan->policy_value));
}

/* One line of a file that printf writes: an indented here-document would not end. */
__attribute__((format(printf, 2, 3))) static void command_line(
    InstallPlan *plan, const char *format, ...) {
    _cleanup_(buf_done) Buf word = BUF_INIT(4 * LINE_MAX_LEN);
    char line[LINE_MAX_LEN];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    shell_word(&word, str_from_c(line));
    plan_command(plan, "  %.*s \\", STR_FMT(buf_str(&word)));
}

static void command_apply(InstallPlan *plan) {
    plan_command(plan,
        "cp %.*s my-berth/ && %.*s apply -k my-berth",
        STR_FMT(plan->policy),
        STR_FMT(plan->kubectl));
}

/* An overlay of one's own: applied again, it does not put back what deploy/ has for policies. */
static void command_overlay(InstallPlan *plan) {
    plan_command(plan, "mkdir -p my-berth && printf '%%s\\n' \\");
    command_line(plan,
        "resources: [../deploy/kustomize/overlays/%s]",
        install_mode_name(plan->settings->mode));
    command_line(plan, "images: [{name: localhost/berth, newName: REGISTRY/berth}]");
    command_line(plan, "configMapGenerator:");
    command_line(plan,
        "  - {name: berth-policies, namespace: %s, behavior: replace, files: [%.*s]}",
        plan->namespace,
        STR_FMT(plan->policy_name));
    command_line(plan, "generatorOptions: {disableNameSuffixHash: true}");
    plan_command(plan, "  >my-berth/kustomization.yaml");
    command_apply(plan);
}

static void step_certificates(InstallPlan *plan) {
    plan_step(plan, "Make certificates, and the namespace that keeps them");
    plan_command(plan,
        "%.*s create namespace %s --dry-run=client -o yaml | %.*s apply -f -",
        STR_FMT(plan->kubectl),
        plan->namespace,
        STR_FMT(plan->kubectl));
    plan_command(plan, "berth certs berth-certs");
    plan_command(plan,
        "berth certs -o kubernetes --namespace %s berth-certs | %.*s apply -f -",
        plan->namespace,
        STR_FMT(plan->kubectl));
}

static void command_install(InstallPlan *plan) {
    if (plan->settings->has_helm)
        command_helm(plan);
    else
        command_overlay(plan);
}

static void step_install(InstallPlan *plan) {
    if (!plan->settings->has_helm)
        step_certificates(plan);
    plan_step(plan, "Install");
    command_install(plan);
}

/* --- look ------------------------------------------------------------------------------------ */

static void command_rollout(InstallPlan *plan, const char *deployment) {
    plan_command(plan,
        "%.*s -n %s rollout status deployment/%s --timeout=120s",
        STR_FMT(plan->kubectl),
        plan->namespace,
        deployment);
}

/* How a shell outside of the cluster can ask berth: a port, and kube-scheduler's certificate. */
static void step_reach(InstallPlan *plan) {
    plan_step(plan, "Wait until it runs, and open a way to it");
    command_rollout(plan, "berth");
    if (plan->settings->mode == INSTALL_SECOND_SCHEDULER)
        command_rollout(plan, "berth-scheduler");
    plan_command(plan,
        "%.*s -n %s port-forward svc/berth 8443:8443 &",
        STR_FMT(plan->kubectl),
        plan->namespace);
    if (!plan->settings->has_helm)
        return;
    plan_command(plan, "mkdir -m 700 berth-certs && for key in ca.crt tls.crt tls.key; do");
    plan_command(
        plan, "  %.*s -n %s get secret berth-client \\", STR_FMT(plan->kubectl), plan->namespace);
    plan_command(plan, "    -o go-template=\"{{index .data \\\"$key\\\" | base64decode}}\" \\");
    plan_command(plan, "    >berth-certs/$key; done");
}

static const char *pair_of(const InstallPlan *plan) {
    return plan->settings->has_helm ? "tls" : "client";
}

/* The options of whoever asks through it. */
static void command_pair(InstallPlan *plan, const char *end) {
    plan_command(plan,
        "  --ca berth-certs/ca.crt --cert berth-certs/%s.crt --key berth-certs/%s.key%s",
        pair_of(plan),
        pair_of(plan),
        end);
}

/* @more: options, with a space in front. */
static void step_check(InstallPlan *plan, const char *more) {
    plan_step(plan, "Check");
    if (plan->settings->has_helm)
        plan_command(
            plan, "%.*s test berth --namespace %s --logs", STR_FMT(plan->helm), plan->namespace);
    plan_command(plan,
        "berth check --live%.*s --server https://localhost:8443 \\",
        STR_FMT(plan->cluster_flags));
    command_pair(plan, " \\");
    plan_command(plan, "  --url https://berth.%s.svc:8443%s", plan->namespace, more);
}

/* --- change and revert ------------------------------------------------------------------- */

static void step_change(InstallPlan *plan) {
    plan_step(plan, "After a change of a policy or a setting");
    plan_command(plan, "berth check %.*s", STR_FMT(plan->policy));
    if (plan->settings->has_helm)
        command_helm(plan);
    else
        command_apply(plan);
    plan_say(plan, "Policies count within a minute or two, without a restart; a broken one is");
    plan_say(plan, "refused, and the last good one stays.");
}

static void command_remove(InstallPlan *plan) {
    if (plan->settings->has_helm)
        plan_command(
            plan, "%.*s uninstall berth --namespace %s", STR_FMT(plan->helm), plan->namespace);
    else
        plan_command(plan, "%.*s delete -k my-berth", STR_FMT(plan->kubectl));
    plan_command(plan,
        "%.*s delete namespace %s --ignore-not-found",
        STR_FMT(plan->kubectl),
        plan->namespace);
    plan_say(plan, "Is anything left?");
    plan_command(plan,
        "%.*s get clusterroles,clusterrolebindings -l app.kubernetes.io/name=berth",
        STR_FMT(plan->kubectl));
}

/* --- a second scheduler ------------------------------------------------------------------ */

void plan_second_scheduler(InstallPlan *plan) {
    step_check_policies(plan);
    step_image(plan);
    step_install(plan);
    step_reach(plan);
    step_check(plan, "");

    plan_step(plan, "Let one workload use it, and look");
    plan_command(plan, "%.*s -n NAMESPACE patch deployment NAME \\", STR_FMT(plan->kubectl));
    plan_command(plan, "  -p '{\"spec\":{\"template\":{\"spec\":{\"schedulerName\":\"berth\"}}}}'");
    plan_command(plan, "berth explain --last NAMESPACE/POD --server https://localhost:8443 \\");
    command_pair(plan, "");

    step_change(plan);
    plan_say(
        plan, "kube-scheduler reads its configuration once, and is restarted when it changed.");

    plan_step(plan, "Back to a clean state");
    plan_say(
        plan, "Pods that run stay where they are. Those that name the scheduler berth wait for");
    plan_say(plan, "ever once it is gone: first find them, and give their owners another one.");
    plan_command(
        plan, "%.*s get pods -A --field-selector spec.schedulerName=berth", STR_FMT(plan->kubectl));
    command_remove(plan);
}

/* --- the default scheduler --------------------------------------------------------------- */

static void step_files(InstallPlan *plan) {
    const InstallSight *sight = plan->sight;

    plan_step(plan, "On each control-plane node, one after the other, as root");
    for (size_t i = 0; i < sight->n_control_planes; i++)
        plan_say(plan, "- %.*s", STR_FMT(sight->control_planes[i]));
    plan_say(
        plan, "A backup, outside of the manifests' folder: the kubelet starts all that is in it.");
    plan_command(plan, "mkdir -p /root/berth-backup");
    plan_command(plan, "cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/berth-backup/");
    plan_say(plan, "The files, and a kubeconfig for user berth:");
    plan_command(plan, "install -d -m 755 " FOLDER " " FOLDER "/policies " FOLDER "/patches");
    plan_command(plan, "install -m 644 %.*s " FOLDER "/policies/", STR_FMT(plan->policy));
    plan_command(
        plan, "(umask 077 && kubeadm kubeconfig user --client-name berth >" FOLDER "/kubeconfig)");
    plan_command(plan, "chown root:65532 " FOLDER "/kubeconfig && chmod 640 " FOLDER "/kubeconfig");
    plan_command(plan, "berth config --policy " FOLDER "/policies --leader-elect \\");
    plan_command(plan, "  --scheduler-kubeconfig /etc/kubernetes/scheduler.conf \\");
    plan_command(plan, "  >" FOLDER "/scheduler-config.yaml");
    plan_command(plan, "berth check " FOLDER "/policies");
    plan_command(plan, "berth check --offline " FOLDER "/scheduler-config.yaml");
}

static void say_manifest(InstallPlan *plan) {
    plan_say(plan, "kube-scheduler's manifest with berth in it; the kubelet then starts both:");
    plan_command(plan, "kubectl --kubeconfig /etc/kubernetes/admin.conf -n %s \\", plan->namespace);
    plan_command(plan, "  get configmap berth-static-pod \\");
    plan_command(plan, "  -o go-template='{{index .data \"kube-scheduler.patch.yaml\"}}' \\");
    plan_command(plan, "  >" FOLDER "/patches/kube-scheduler0+strategic.yaml");
    plan_command(plan, "kubeadm init phase control-plane scheduler --patches " FOLDER "/patches");
    plan_say(plan, "And check, before the next node:");
    plan_command(plan, "berth check --live --kubeconfig " FOLDER "/kubeconfig \\");
    plan_command(plan, "  --server http://127.0.0.1:8080 \\");
    plan_command(plan, "  --scheduler-config " FOLDER "/scheduler-config.yaml");
}

static void step_change_on_nodes(InstallPlan *plan) {
    plan_step(plan, "After a change of a policy");
    plan_say(plan, "On each control-plane node; berth notices within a second or two:");
    plan_command(plan, "berth check %.*s", STR_FMT(plan->policy));
    plan_command(plan, "install -m 644 %.*s " FOLDER "/policies/", STR_FMT(plan->policy));
    plan_say(plan,
        "When the first score came, or the last one went, make scheduler-config.yaml anew as");
    plan_say(
        plan, "above and restart kube-scheduler, which reads it once: move its manifest out of");
    plan_say(plan, "/etc/kubernetes/manifests, wait until the pod is gone, and move it back.");
    plan_say(plan, "Upgrades of Kubernetes: kubeadm upgrade apply and kubeadm upgrade node need");
    plan_say(plan, "--patches " FOLDER "/patches as well, or berth is gone afterwards.");
}

void plan_default_scheduler(InstallPlan *plan) {
    step_check_policies(plan);
    step_image(plan);
    plan_step(plan, "Give user berth its rights; nothing runs yet");
    command_install(plan);
    step_files(plan);
    say_manifest(plan);
    step_change_on_nodes(plan);

    plan_step(plan, "Back to a clean state");
    plan_say(plan, "On each control-plane node, as root:");
    plan_command(plan, "cp -p /root/berth-backup/kube-scheduler.yaml /etc/kubernetes/manifests/");
    plan_command(plan, "rm -r " FOLDER);
    plan_say(plan, "Then, once:");
    command_remove(plan);
}

/* --- berth alone ------------------------------------------------------------------------- */

static void step_tell_scheduler(InstallPlan *plan) {
    plan_step(plan, "Tell your kube-scheduler");
    plan_command(plan, "berth config --server https://localhost:8443 \\");
    command_pair(plan, " \\");
    plan_command(
        plan, "  --url https://berth.%s.svc:8443 --tls-ca berth-certs/ca.crt \\", plan->namespace);
    plan_command(plan, "  --client-cert /etc/kubernetes/berth-tls/tls.crt \\");
    plan_command(plan, "  --client-key /etc/kubernetes/berth-tls/tls.key >scheduler-config.yaml");
    plan_say(plan,
        "It is for kube-scheduler --config. The two paths are where that runs; the files are");
    plan_say(plan,
        "%s.crt and %s.key of berth-certs. On the host network it cannot resolve the name of",
        pair_of(plan),
        pair_of(plan));
    plan_say(
        plan, "a Service: use its ClusterIP, and --tls-server-name berth.%s.svc.", plan->namespace);
}

void plan_standalone(InstallPlan *plan) {
    step_check_policies(plan);
    step_image(plan);
    step_install(plan);
    step_reach(plan);
    step_tell_scheduler(plan);
    step_check(plan, " --scheduler-config scheduler-config.yaml");
    step_change(plan);
    plan_step(plan, "Back to a clean state");
    plan_say(plan,
        "First take the entry out of your kube-scheduler's configuration and restart it: pods");
    plan_say(plan, "wait for a berth that is gone, unless the entry is ignorable.");
    command_remove(plan);
}
