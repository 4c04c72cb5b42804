/*
 * berth install plan: prints the steps to install berth in a cluster, and to remove it.
 */

#include <stdio.h>
#include <string.h>

#include "cli/terminal.h"
#include "commands/commands.h"
#include "commands/install-plan.h"

#define WHO "berth install"
#define NAMESPACE "berth-system"
#define BUDGET ((size_t)64 * 1024 * 1024)
#define TEXT_MAX ((size_t)1024 * 1024)
#define NOTES_MAX ((size_t)64 * 1024)

#define AT(member) OPTION_AT(InstallSettings, member)

static const char *set_tool(void *context, const char *value) {
    InstallSettings *settings = context;

    settings->has_helm = strcmp(value, "helm") == 0;
    return settings->has_helm || strcmp(value, "kustomize") == 0 ? NULL
                                                                 : "expected helm or kustomize";
}

/* clang-format off */
static const Option options[] = {
    CLUSTER_SOURCE_LIVE_OPTIONS(InstallSettings, source),
    {"mode", OPTION_CHOICE, .argument = "MODE", .values = "second-scheduler|default-scheduler|standalone",
        AT(mode), .initial = "second-scheduler",
        .help = "second-scheduler: a kube-scheduler of its own for pods that name it; "
                "default-scheduler: an extender of kubeadm's kube-scheduler, for all pods; "
                "standalone: for a scheduler that you configure yourself"},
    {"namespace", OPTION_TEXT, .argument = "NAME", AT(namespace), .check = value_check_namespace,
        .initial = NAMESPACE, .help = "namespace to install into"},
    {"tool", OPTION_CUSTOM, .argument = "helm|kustomize", .set = set_tool, .initial = "helm",
        .help = "tool to install with"},
    {"policy", OPTION_FILE, .argument = "FILE", AT(policy), .check = value_check_given,
        .initial = "policy.yaml", .help = "your policies"},
    {0},
};
/* clang-format on */

static const char *check(void *context, const Arguments *arguments) {
    const InstallSettings *settings = context;
    const char *wrong = cluster_source_check_live(&settings->source);

    if (arguments->n != 1 || strcmp(arguments->items[0], "plan") != 0)
        return "expected the argument plan: it prints a plan, and you install";
    if (wrong)
        return wrong;
    if (!settings->has_helm && strcmp(settings->namespace, NAMESPACE) != 0)
        return "deploy/kustomize is for the namespace " NAMESPACE "; with helm it can be another";
    return NULL;
}

/* --- the command ------------------------------------------------------------------------- */

static int print_plan(const InstallSettings *settings) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX), notes = BUF_INIT(NOTES_MAX);
    InstallFacts facts;
    int r;

    if (!arena)
        return terminal_out_of_memory(WHO);
    r = install_facts_collect(&settings->source, settings->namespace, arena, &notes, &facts);
    if (r != 0)
        return r;
    if (settings->mode == INSTALL_DEFAULT_SCHEDULER && install_facts_are_managed(&facts)) {
        (void)fprintf(stderr,
            WHO ": kube-scheduler does not run in pods here, so the default scheduler cannot be "
                "edited (a managed control plane?).\nUse a second one: %s install plan --mode "
                "second-scheduler\n",
            program_name);
        return EXIT_FAILED;
    }
    if (install_plan_print(settings, &facts, buf_str(&notes), arena, &out) < 0)
        return terminal_out_of_memory(WHO);
    return terminal_print(stdout, buf_str(&out)) ? EXIT_FINE : EXIT_UNREACHABLE;
}

static void init(void *context) {
    InstallSettings *settings = context;

    *settings = (InstallSettings){.namespace = NAMESPACE, .has_helm = true};
}

static int run(void *context, const Arguments *arguments) {
    return print_plan(context);
}

const Command install_command = {
    .name = "install",
    .summary = "print the steps to install it in a cluster",
    .usage = "plan [--kubeconfig FILE [--context NAME] | --in-cluster] [OPTIONS]",
    .about =
        "Inspects a cluster and prints the steps to install berth there: the commands, how to "
        "verify, what to do after a change, and how to remove it. It changes nothing. Without a "
        "cluster it prints the steps for a cluster it knows nothing about.",
    .options = options,
    .notes =
        "Exit code: 0, also when something could not be inspected; 1 when this cluster does not "
        "allow the mode; 3 when it cannot be reached.",
    .values = "plan",
    .max_completed = 1,
    .settings_size = sizeof(InstallSettings),
    .init = init,
    .check = check,
    .run = run,
};
