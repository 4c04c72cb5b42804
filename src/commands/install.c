/* berth install plan: prints the steps to install berth in a cluster, and to remove it. */

#include <assert.h>
#include <stdio.h>

#include "base/shell.h"
#include "base/visible.h"
#include "checkup/verdict.h"
#include "cli/cluster-source.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "collect/collect.h"
#include "collect/scheduler-pod.h"
#include "commands/commands.h"
#include "version.h"
#include "json/write.h"

typedef enum InstallMode {
    INSTALL_SECOND_SCHEDULER,
    INSTALL_DEFAULT_SCHEDULER,
    INSTALL_STANDALONE,
} InstallMode;

typedef struct InstallSettings {
    ClusterSource source;
    InstallMode mode;
    const char *namespace;
    bool is_kustomize;  /* else helm */
    const char *policy; /* a file; NULL: not given */
} InstallSettings;

/* --- facts about the cluster ----------------------------------------------------------------- */

/* Read with GET requests only. Facts that we may not read are unknown. */
typedef struct InstallFacts {
    bool was_read; /* false: nothing below is known */
    Str server, origin;
    InstallationFacts found; /* the version, and berth's pods */

    bool are_schedulers_known;
    SchedulerPod *schedulers; /* kube-scheduler's pods in kube-system */
    size_t n_schedulers;
    size_t n_static; /* of these: static pods, so files of their nodes */
} InstallFacts;

static void find_schedulers(Collector *collector, InstallFacts *facts) {
    static const char path[] =
        "/api/v1/namespaces/kube-system/pods?labelSelector=component%3Dkube-scheduler&limit=32";
    char error[BLOCKING_CLIENT_ERROR_MAX] = "the answer is no list of pods";
    BlockingReply reply;

    facts->are_schedulers_known =
        collect_get(collector, path, &reply, error) &&
        scheduler_pods_read(reply.body, collector->arena, &facts->schedulers, &facts->n_schedulers);
    if (!facts->are_schedulers_known)
        collect_note(collector, "cannot read kube-scheduler's pods: %s\n", error);
    for (size_t i = 0; facts->are_schedulers_known && i < facts->n_schedulers; i++)
        facts->n_static += facts->schedulers[i].pod.is_static;
}

/* Reads the cluster of @source, if it names one. Facts that cannot be read are added to @notes, a
 * line each. Strings live in @arena. */
static void collect_facts(
    const ClusterSource *source, Arena *arena, Buf *notes, InstallFacts *ret) {
    _cleanup_(access_freep) Access *access = NULL;
    _cleanup_(client_freep) Client *client = NULL;
    Collector collector = {.arena = arena, .facts = &ret->found, .notes = notes};

    *ret = (InstallFacts){.was_read = cluster_source_is_live(source)};
    if (!ret->was_read)
        return;
    access = cluster_source_access(source);
    client = terminal_need(client_new(access), "the facts about the cluster");
    collector.client = client;
    ret->server = arena_copy(arena, str_from_c(access_server(access)));
    ret->origin = arena_copy(arena, str_from_c(access_origin(access)));
    progress_begin("reading the cluster");
    collect_cluster(&collector);
    if (!str_is_empty(ret->found.cluster_error)) {
        terminal_warn("%s cannot be reached", access_server(access));
        terminal_fail("%s", arena_copy(arena, ret->found.cluster_error).ptr);
    }
    find_schedulers(&collector, ret);
    collect_pods(&collector);
    progress_end();
}

/* A managed control plane: kube-scheduler's pods are not there, though we may list pods. */
static bool are_managed(const InstallFacts *facts) {
    return facts->was_read && facts->are_schedulers_known && facts->n_schedulers == 0;
}

#define WORDS_MAX ((size_t)16 * 1024)
#define VALUES_MAX 19u
#define FIRST_WITH_V1 25    /* kube-scheduler 1.x reads kubescheduler.config.k8s.io/v1 */
#define FIRST_WITH_BETA2 23 /* ... and v1beta2 and not Policy */

static const char plan_text[] =
#include "commands/install-plan.inc"
    ;

typedef struct PlanCondition {
    const char *name;
    bool holds;
} PlanCondition;

typedef struct PlanValue {
    const char *name;
    Str text;
} PlanValue;

typedef struct Plan {
    const InstallFacts *facts;
    Buf *out;
    const PlanCondition *conditions;
    size_t n_conditions;
    PlanValue values[VALUES_MAX];
    unsigned n_steps;
} Plan;

static Str word_of(Str text, Arena *arena) {
    _cleanup_(buf_done) Buf word = BUF_INIT(WORDS_MAX);

    shell_word(&word, text);
    return arena_copy(arena, buf_str(&word));
}

/* "kubectl --kubeconfig FILE --context NAME". */
static Str program_words(
    const ClusterSource *source, const char *program, const char *flag, Arena *arena) {
    _cleanup_(buf_done) Buf words = BUF_INIT(WORDS_MAX);

    buf_append(&words, str_from_c(program));
    if (source->kubeconfig) {
        buf_append(&words, STR(" --kubeconfig "));
        shell_word(&words, str_from_c(source->kubeconfig));
    }
    if (source->context) {
        buf_printf(&words, " %s ", flag);
        shell_word(&words, str_from_c(source->context));
    }
    return arena_copy(arena, buf_str(&words));
}

/* @name as a quoted YAML string. */
static Str quoted_name(Str name, Arena *arena) {
    _cleanup_(buf_done) Buf quoted = BUF_INIT(WORDS_MAX);

    json_quote(&quoted, name);
    return arena_copy(arena, buf_str(&quoted));
}

/* helm's policies.a\.yaml=a.yaml, quoted for a shell. */
static Str helm_value(Str file, Str name, Arena *arena) {
    _cleanup_(buf_done) Buf value = BUF_INIT(WORDS_MAX);

    buf_append(&value, STR("policies."));
    for (size_t i = 0; i < name.len; i++) {
        if (strchr(".,={}[]\\", name.ptr[i])) /* helm separates keys by dots */
            buf_append_char(&value, '\\');
        buf_append_char(&value, name.ptr[i]);
    }
    buf_printf(&value, "=%.*s", STR_FMT(file));
    return word_of(buf_str(&value), arena);
}

static bool holds(const Plan *plan, Str name) {
    bool is_negated = str_has_prefix(name, STR("!"));

    name = is_negated ? str_skip(name, 1) : name;
    for (size_t i = 0; i < plan->n_conditions; i++)
        if (str_is(name, plan->conditions[i].name))
            return plan->conditions[i].holds != is_negated;
    assert(!"a condition of install-plan.txt that is not known");
    return false;
}

static Str find_value(const Plan *plan, Str name) {
    for (size_t i = 0; i < VALUES_MAX; i++)
        if (str_is(name, plan->values[i].name))
            return plan->values[i].text;
    assert(!"a value of install-plan.txt that is not known");
    return STR_NULL;
}

/* Writes @line with its %{values}. Names of nodes and the like are untrusted: control characters
 * are escaped. */
static void put_line(const Plan *plan, Str line, Str node, Buf *out) {
    for (size_t i = 0; i < line.len; i++) {
        Str rest = str_skip(line, i);
        size_t end = str_find(rest, '}');

        if (!str_has_prefix(rest, STR("%{"))) {
            buf_append_char(out, line.ptr[i]);
            continue;
        }
        (void)visible_append(out, str_has_prefix(rest, STR("%{node}"))
                                      ? node
                                      : find_value(plan, str_skip(str_take(rest, end), 2)));
        i += end;
    }
    buf_append_char(out, '\n');
}

/* Writes a line of a file as an argument of printf: an indented here-document would not end. */
static void put_argument(const Plan *plan, Str line) {
    _cleanup_(buf_done) Buf text = BUF_INIT(WORDS_MAX), word = BUF_INIT(WORDS_MAX);

    put_line(plan, line, STR_NULL, &text);
    shell_word(&word, str_take(buf_str(&text), text.len - 1)); /* without the newline */
    buf_printf(plan->out, "       %.*s \\\n", STR_FMT(buf_str(&word)));
}

static void put(Plan *plan, Str line) {
    Str rest = str_skip(line, line.len > 1 ? 2 : 1);

    switch (line.ptr[0]) {
    case '=':
        buf_printf(plan->out, "\n%u. %.*s\n", ++plan->n_steps, STR_FMT(rest));
        break;
    case '\'':
        put_argument(plan, rest);
        break;
    case '*':
        for (size_t i = 0; i < plan->facts->n_schedulers; i++)
            if (plan->facts->schedulers[i].pod.is_static)
                put_line(plan, rest, plan->facts->schedulers[i].pod.node, plan->out);
        break;
    default:
        put_line(plan, line.ptr[0] == '>' ? rest : line, STR_NULL, plan->out);
    }
}

static void put_all(Plan *plan, Str notes) {
    Str rest = str_from_c(plan_text), line, note, names, name;
    bool is_active = true;

    while (str_split(&rest, '\n', &line)) {
        if (str_is_empty(line) || line.ptr[0] == '#')
            continue;
        if (str_is(line, "@notes"))
            while (!str_is_empty(notes) && str_split(&notes, '\n', &note))
                visible_print(plan->out, "  {}\n", note);
        else if (line.ptr[0] == '[')
            for (names = str_skip(str_take(line, line.len - 1), 1), is_active = true;
                 !str_is_empty(names) && str_split(&names, ' ', &name);)
                is_active &= holds(plan, name);
        else if (is_active)
            put(plan, line);
    }
}

static bool has_config(const InstallFacts *facts) {
    for (size_t i = 0; i < facts->n_schedulers; i++)
        if (facts->schedulers[i].origin != CONFIG_DEFAULT &&
            facts->schedulers[i].origin != CONFIG_NO_SCHEDULER)
            return true;
    return false;
}

static void set_values(const InstallSettings *settings, const InstallFacts *facts, Arena *arena,
    PlanValue ret[static VALUES_MAX]) {
    static const Str modes[] = {
        [INSTALL_SECOND_SCHEDULER] = STR("second-scheduler"),
        [INSTALL_DEFAULT_SCHEDULER] = STR("default-scheduler"),
        [INSTALL_STANDALONE] = STR("standalone"),
    };
    const InstallationFacts *found = &facts->found;
    const ClusterSource *source = &settings->source;
    const char *in_cluster = source->is_in_cluster ? " --in-cluster" : "";
    Str file = settings->policy ? str_from_c(settings->policy) : STR("policy.yaml");
    Str name = str_file_name(file);
    const PlanValue values[] = {
        {"kubectl", program_words(source, "kubectl", "--context", arena)},
        {"helm", program_words(source, "helm", "--kube-context", arena)},
        {"cluster-flags", program_words(source, in_cluster, "--context", arena)},
        {"policy", word_of(file, arena)},
        {"policy-name", quoted_name(name, arena)},
        {"policy-value", helm_value(file, name, arena)},
        {"namespace", str_from_c(settings->namespace)},
        {"mode", modes[settings->mode]},
        {"tool", settings->is_kustomize ? STR("kustomize") : STR("helm")},
        {"pair", settings->is_kustomize ? STR("client") : STR("tls")},
        {"berth-version", STR(BERTH_VERSION)},
        {"server", facts->server},
        {"origin", facts->origin},
        {"version", found->cluster_version},
        {"berth-namespace", found->n_pods > 0 ? found->pods[0].namespace : STR_NULL},
        {"plural-static", str_from_c(PLURAL(facts->n_static))},
        {"n-schedulers", arena_printf(arena, "%zu", facts->n_schedulers)},
        {"n-static", arena_printf(arena, "%zu", facts->n_static)},
        {"n-berths", arena_printf(arena, "%zu", found->n_pods)},
    };

    static_assert(ELEMENTS_OF(values) == VALUES_MAX, "all of them");
    memcpy(ret, values, sizeof(values));
}

/* @notes: lines about facts that could not be read. */
static void print_plan(
    const InstallSettings *settings, const InstallFacts *facts, Str notes, Arena *arena, Buf *out) {
    const InstallationFacts *found = &facts->found;
    bool is_default = settings->mode == INSTALL_DEFAULT_SCHEDULER;
    int minor = facts->was_read ? release_minor(found->cluster_version) : -1;
    bool is_old = minor >= 0 && minor < FIRST_WITH_V1;
    const PlanCondition conditions[] = {
        {"cluster", facts->was_read},
        {"helm", !settings->is_kustomize},
        {"kustomize", settings->is_kustomize},
        {"policy", settings->policy != NULL},
        {"second-scheduler", settings->mode == INSTALL_SECOND_SCHEDULER},
        {"default-scheduler", is_default},
        {"standalone", settings->mode == INSTALL_STANDALONE},
        {"schedulers-known", facts->are_schedulers_known},
        {"schedulers", facts->n_schedulers > 0},
        {"all-static", facts->n_static == facts->n_schedulers},
        {"berths-known", found->are_pods_known},
        {"berths", found->n_pods > 0},
        {"managed", are_managed(facts)},
        {"before-v1", is_old},
        {"before-beta2", is_old && minor < FIRST_WITH_BETA2},
        {"one-scheduler", facts->n_schedulers == 1},
        {"no-static", facts->n_static == 0},
        {"has-config", has_config(facts)},
        {"other-namespace",
            found->n_pods > 0 && !str_is(found->pods[0].namespace, settings->namespace)},
        {"warnings",
            are_managed(facts) || is_old || found->n_pods > 0 ||
                (is_default && facts->n_schedulers > 0 &&
                    (facts->n_schedulers == 1 || facts->n_static == 0 || has_config(facts)))},
    };
    Plan plan = {
        .facts = facts,
        .out = out,
        .conditions = conditions,
        .n_conditions = ELEMENTS_OF(conditions),
    };

    set_values(settings, facts, arena, plan.values);
    put_all(&plan, notes);
    if (buf_error(out) < 0)
        terminal_out_of_memory("the plan", arena);
}

#define NAMESPACE "berth-system"
#define TEXT_MAX ((size_t)1024 * 1024)
#define NOTES_MAX ((size_t)64 * 1024)

#define AT(member) OPTION_AT(InstallSettings, member)

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
    {"tool", OPTION_CHOICE, .argument = "helm|kustomize", AT(is_kustomize), .initial = "helm",
        .help = "tool to install with"},
    {"policy", OPTION_FILE, .argument = "FILE", AT(policy), .check = value_check_given,
        .initial = "policy.yaml", .help = "your policies"},
    {0},
};
/* clang-format on */

static const char *check(void *context, const Arguments *arguments) {
    const InstallSettings *settings = context;
    const char *wrong = cluster_source_check(&settings->source);

    if (arguments->n != 1 || strcmp(arguments->items[0], "plan") != 0)
        return "expected the argument plan: it prints a plan, and you install";
    if (wrong)
        return wrong;
    if (settings->is_kustomize && strcmp(settings->namespace, NAMESPACE) != 0)
        return "deploy/kustomize is for the namespace " NAMESPACE "; with helm it can be another";
    return NULL;
}

static int run(void *context, const Arguments *arguments) {
    const InstallSettings *settings = context;
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX), notes = BUF_INIT(NOTES_MAX);
    Arena *arena = arguments->arena;
    InstallFacts facts;

    collect_facts(&settings->source, arena, &notes, &facts);
    if (settings->mode == INSTALL_DEFAULT_SCHEDULER && are_managed(&facts)) {
        (void)fprintf(stderr,
            "berth install: kube-scheduler does not run in pods here, so the default scheduler "
            "cannot be "
            "edited (a managed control plane?).\nUse a second one: %s install plan --mode "
            "second-scheduler\n",
            program_name);
        return EXIT_FAILED;
    }
    print_plan(settings, &facts, buf_str(&notes), arena, &out);
    terminal_output(buf_str(&out));
    return EXIT_FINE;
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
    .budget = (size_t)64 * 1024 * 1024,
    .memory_for = "the facts about the cluster",
    .settings_size = sizeof(InstallSettings),
    .defaults = &(const InstallSettings){.namespace = NAMESPACE},
    .check = check,
    .run = run,
};
