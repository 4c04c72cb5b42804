/*
 * berth install plan: the steps to bring berth into the cluster that it sees, and out of it again.
 *
 * It reads and prints; whoever runs the steps is a person, or a pipeline that a person made.
 */

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "cli/values.h"
#include "commands/install-plan.h"

#define WHO "berth install"
#define NAMESPACE "berth-system"
#define BUDGET ((size_t)64 * 1024 * 1024)
#define TEXT_MAX ((size_t)1024 * 1024)
#define NOTES_MAX ((size_t)64 * 1024)

enum { OPT_MODE = 256, OPT_NAMESPACE, OPT_TOOL, OPT_POLICY };

static void print_help(FILE *out) {
    (void)fprintf(out,
        "usage: %s install plan [--kubeconfig FILE [--context NAME] | --in-cluster] [OPTIONS]\n"
        "\n"
        "Looks at a cluster and prints the steps to install berth there: the commands, how to\n"
        "check, what to do after a change, and how to get back to a clean state. It changes\n"
        "nothing. Without a cluster it prints the steps for one it knows nothing of.\n"
        "\n" CLUSTER_SOURCE_LIVE_HELP
        "  --mode MODE           second-scheduler: a kube-scheduler of its own, which pods name;\n"
        "                        default-scheduler: beside that of kubeadm, for all pods;\n"
        "                        standalone: for a scheduler that you wire by hand\n"
        "                        [second-scheduler]\n"
        "  --namespace NAME      where it is installed                     [" NAMESPACE "]\n"
        "  --tool helm|kustomize  with what                                        [helm]\n"
        "  --policy FILE         your policies                              [policy.yaml]\n"
        "\n"
        "Exit code: 0, also when something could not be seen; 1 when this cluster does not allow\n"
        "the mode; 3 when it cannot be reached.\n",
        program_name);
}

static int misused(const char *what) {
    return usage_error("install", what, print_help);
}

/* --- options --------------------------------------------------------------------------------- */

static int set_mode(InstallSettings *settings, const char *value) {
    for (int i = 0; i < _INSTALL_MODES; i++)
        if (strcmp(value, install_mode_name((InstallMode)i)) == 0) {
            settings->mode = (InstallMode)i;
            return 0;
        }
    return value_error(
        "install", "mode", value, "expected second-scheduler, default-scheduler or standalone");
}

static int set_tool(InstallSettings *settings, const char *value) {
    unsigned choice = 0;
    int r = value_choice("install", "tool", value, "helm|kustomize", &choice);

    settings->has_helm = choice == 0;
    return r;
}

/* It stands in commands as it is. */
static int set_namespace(InstallSettings *settings, const char *value) {
    settings->namespace = value;
    return value_namespace("install", value);
}

static int set_option(InstallSettings *settings, int option, const char *value) {
    switch (option) {
    case OPT_MODE:
        return set_mode(settings, value);
    case OPT_NAMESPACE:
        return set_namespace(settings, value);
    case OPT_TOOL:
        return set_tool(settings, value);
    case OPT_POLICY:
        settings->policy = value;
        return value[0] ? 0 : misused("--policy takes a file");
    default:
        if (cluster_source_set(&settings->source, option, value))
            return 0;
        return misused(NULL);
    }
}

static const char *check_settings(const InstallSettings *settings) {
    const char *wrong = cluster_source_check_live(&settings->source);

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

int cmd_install(int argc, char *argv[]) {
    static const struct option options[] = {
        CLUSTER_SOURCE_LIVE_OPTIONS,
        {"mode", required_argument, NULL, OPT_MODE},
        {"namespace", required_argument, NULL, OPT_NAMESPACE},
        {"tool", required_argument, NULL, OPT_TOOL},
        {"policy", required_argument, NULL, OPT_POLICY},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    InstallSettings settings = {.namespace = NAMESPACE, .has_helm = true};
    const char *wrong;
    int option, r;

    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            print_help(stdout);
            return EXIT_FINE;
        }
        r = set_option(&settings, option, optarg);
        if (r != 0)
            return r;
    }
    if (optind + 1 != argc || strcmp(argv[optind], "plan") != 0)
        return misused("it takes the word plan: it plans, and you install");
    wrong = check_settings(&settings);
    return wrong ? misused(wrong) : print_plan(&settings);
}
