/*
 * What was seen of a cluster, in words, and what of it a person should know before the first step.
 */

#include "base/visible.h"
#include "commands/install-plan.h"

#define FIRST_WITH_V1 25    /* kube-scheduler 1.x reads kubescheduler.config.k8s.io/v1 */
#define FIRST_WITH_BETA2 23 /* ... and v1beta2 and not Policy */

/* --- seen -------------------------------------------------------------------------------- */

static void row(InstallPlan *plan, const char *what) {
    buf_printf(plan->out, "  %-15s ", what);
}

static void print_server(InstallPlan *plan) {
    const InstallSight *sight = plan->sight;

    row(plan, "API server");
    (void)visible_append(plan->out, sight->server);
    buf_append(plan->out, STR(" ("));
    (void)visible_append(plan->out, sight->origin);
    buf_append(plan->out, STR("), Kubernetes "));
    (void)visible_append(plan->out, str_is_empty(sight->version) ? STR("?") : sight->version);
    buf_append_char(plan->out, '\n');
}

static void print_nodes(InstallPlan *plan) {
    const InstallSight *sight = plan->sight;

    row(plan, "nodes");
    if (!sight->are_nodes_known) {
        buf_append(plan->out, STR("not known\n"));
        return;
    }
    buf_printf(plan->out, "%zu; control plane:", sight->n_nodes);
    for (size_t i = 0; i < sight->n_control_planes; i++) {
        buf_append(plan->out, i > 0 ? STR(", ") : STR(" "));
        (void)visible_append(plan->out, sight->control_planes[i]);
    }
    buf_append(plan->out, sight->n_control_planes == 0 ? STR(" none to be seen\n") : STR("\n"));
}

static void print_schedulers(InstallPlan *plan) {
    const InstallSight *sight = plan->sight;

    row(plan, "kube-scheduler");
    if (!sight->are_schedulers_known)
        buf_append(plan->out, STR("not known\n"));
    else if (sight->n_schedulers == 0)
        buf_append(plan->out,
            STR("none to be seen: the control plane is managed, or does not run in pods\n"));
    else if (sight->n_static == sight->n_schedulers)
        buf_printf(plan->out,
            "%zu static pod%s, as kubeadm makes them\n",
            sight->n_static,
            sight->n_static == 1 ? "" : "s");
    else
        buf_printf(
            plan->out, "%zu pods, %zu of them static\n", sight->n_schedulers, sight->n_static);
}

static void print_berth(InstallPlan *plan) {
    const InstallSight *sight = plan->sight;

    row(plan, "berth");
    if (!sight->are_berths_known) {
        buf_append(plan->out, STR("not known\n"));
    } else if (sight->n_berths == 0) {
        buf_append(plan->out, STR("does not run here"));
        if (sight->has_role)
            buf_append(plan->out, STR("; the ClusterRole berth-decide is there"));
        buf_append_char(plan->out, '\n');
    } else {
        buf_printf(plan->out, "runs already: %zu pods, in namespace ", sight->n_berths);
        (void)visible_append(plan->out, sight->berth_namespace);
        buf_append_char(plan->out, '\n');
    }
    row(plan, "namespace");
    buf_printf(plan->out,
        "%s %s\n",
        plan->namespace,
        !sight->is_namespace_known ? "(not known whether it is there)"
        : sight->has_namespace     ? "is there"
                                   : "will be made");
}

void plan_print_sight(InstallPlan *plan, Str notes) {
    if (!plan->sight->was_asked) {
        buf_append(plan->out,
            STR("No cluster was named (--kubeconfig FILE or --in-cluster): this is the plan for "
                "one "
                "that nobody has looked at.\n"));
        return;
    }
    buf_append(plan->out, STR("What is there\n"));
    print_server(plan);
    print_nodes(plan);
    print_schedulers(plan);
    print_berth(plan);
    for (Str line; !str_is_empty(notes) && str_split(&notes, '\n', &line);) {
        buf_append(plan->out, STR("  "));
        (void)visible_append(plan->out, line);
        buf_append_char(plan->out, '\n');
    }
}

/* --- what follows ------------------------------------------------------------------------ */

static void warn(InstallPlan *plan, const char *first, const char *second) {
    buf_printf(plan->out, "  ! %s\n", first);
    if (second)
        buf_printf(plan->out, "    %s\n", second);
}

static void warn_of_version(InstallPlan *plan) {
    int minor = plan->sight->minor;

    if (minor < 0 || minor >= FIRST_WITH_V1)
        return;
    if (minor >= FIRST_WITH_BETA2)
        warn(plan,
            "kube-scheduler reads kubescheduler.config.k8s.io/v1 from 1.25 on, and the chart is "
            "for these: use",
            "--tool kustomize, and put v1beta2 in the place of v1; the fields are the same.");
    else
        warn(plan,
            "Before 1.23 kube-scheduler reads a Policy, for its --policy-config-file: make it with "
            "`berth config",
            "--format policy`. The chart is for 1.25 and later.");
}

/* Nodes that take ordinary pods. */
static void warn_of_nodes(InstallPlan *plan) {
    const InstallSight *sight = plan->sight;
    size_t n_open =
        sight->n_nodes - (sight->n_tainted < sight->n_nodes ? sight->n_tainted : sight->n_nodes);

    if (!sight->are_nodes_known || plan->settings->mode == INSTALL_DEFAULT_SCHEDULER)
        return;
    if (n_open == 0)
        warn(plan,
            "Every node is tainted: berth's pods need tolerations (values: tolerations, "
            "scheduler.tolerations).",
            NULL);
    else if (n_open == 1)
        warn(plan,
            "One node takes pods, and replicas want different ones, so the second of each would "
            "wait for ever:",
            "--set replicas=1 --set scheduler.replicas=1 --set podDisruptionBudget.enabled=false.");
}

static bool has_config(const SchedulerPod *pod) {
    return pod->origin != CONFIG_DEFAULT && pod->origin != CONFIG_NO_SCHEDULER;
}

static void warn_of_scheduler(InstallPlan *plan) {
    const InstallSight *sight = plan->sight;

    if (plan->settings->mode != INSTALL_DEFAULT_SCHEDULER)
        return;
    if (sight->n_schedulers == 1)
        warn(plan,
            "There is one kube-scheduler: while it restarts, for some seconds, no pod is placed.",
            NULL);
    if (sight->n_schedulers > 0 && sight->n_static == 0)
        warn(plan,
            "These are no static pods of kubeadm: bring the same changes into whatever makes them.",
            NULL);
    for (size_t i = 0; i < sight->n_schedulers; i++) {
        if (!has_config(&sight->schedulers[i]))
            continue;
        warn(plan,
            "kube-scheduler has a configuration already: keep its profiles and plugins, and add "
            "the list of",
            "extenders to it. `berth check --offline FILE` says whether it then is good.");
        break;
    }
}

static void warn_of_berth(InstallPlan *plan) {
    const InstallSight *sight = plan->sight;

    if (sight->n_berths > 0 && !str_is(sight->berth_namespace, plan->namespace))
        warn(plan,
            "berth runs in another namespace: two of them would decide about the same pods.",
            "Go on with that one (--namespace), or remove it first (last step).");
    else if (sight->n_berths > 0)
        warn(plan, "berth is there: the commands below bring it up to date.", NULL);
}

void plan_print_warnings(InstallPlan *plan) {
    size_t before, heading = plan->out->len;

    if (!plan->sight->was_asked)
        return;
    buf_append(plan->out, STR("\nWhat to know\n"));
    before = plan->out->len;
    if (install_sight_is_managed(plan->sight))
        warn(plan,
            "The default scheduler cannot be edited here: use a second one, which is what --mode "
            "second-scheduler makes.",
            NULL);
    warn_of_version(plan);
    warn_of_nodes(plan);
    warn_of_scheduler(plan);
    warn_of_berth(plan);
    if (plan->out->len == before)
        plan->out->len = heading;
}
