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
#include "model/node.h"
#include "version.h"
#include "json/fields.h"
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

/* Read with GET requests only. Facts that it may not read are noted as unknown. */
#define INSTALL_SCHEDULERS_MAX 32u
#define INSTALL_CONTROL_PLANES_MAX 32u

typedef struct InstallFacts {
    bool was_read; /* no: nothing below is known */
    Str server, origin;
    Str version; /* "v1.36.4"; empty: not known */
    int minor;   /* of 1.x; -1: not known */

    bool are_nodes_known;
    size_t n_nodes;
    Str control_planes[INSTALL_CONTROL_PLANES_MAX]; /* by their label */
    size_t n_control_planes;
    size_t n_tainted; /* of these: take no ordinary pods */

    bool are_schedulers_known;
    SchedulerPod *schedulers; /* kube-scheduler's pods in kube-system */
    size_t n_schedulers;
    size_t n_static; /* of these: static pods, so files of their nodes */

    bool are_berths_known;
    size_t n_berths; /* pods */
    Str berth_namespace;

    bool is_namespace_known, has_namespace;
    bool is_role_known, has_role; /* ClusterRole berth-decide */
} InstallFacts;

typedef struct FactReader {
    Collector collector;
    InstallFacts *facts;
} FactReader;

/* --- lists ------------------------------------------------------------------------------- */

typedef struct NodeList {
    InstallFacts *facts;
    size_t n, n_remaining; /* of this page, and after it */
} NodeList;

static void read_node(JsonReader *reader, Arena *arena, void *target) {
    static const NodeParts parts = {.taints = true};
    NodeList *list = target;
    bool is_tainted = false;
    Node node;

    node_decode_parts(reader, arena, &parts, &node);
    list->n++;
    if (!list->facts || list->facts->n_control_planes == INSTALL_CONTROL_PLANES_MAX)
        return;
    list->facts->control_planes[list->facts->n_control_planes++] = node.name;
    for (size_t i = 0; i < node.taints.n; i++)
        is_tainted |= node.taints.items[i].effect == TAINT_NO_SCHEDULE ||
                      node.taints.items[i].effect == TAINT_NO_EXECUTE;
    list->facts->n_tainted += is_tainted;
}

/* --- subjects ------------------------------------------------------------------------------ */

/* Counts nodes, and keeps control planes; false: they cannot be read, which is noted. */
static bool list_nodes(FactReader *reader, const char *path, bool is_control_plane, size_t *ret_n) {
    static const JsonField fields[] = {
        {"metadata.remainingItemCount", JSON_FIELD_COUNT, offsetof(NodeList, n_remaining)},
        {"items", JSON_FIELD_ARRAY, .read = read_node},
    };
    NodeList list = {.facts = is_control_plane ? reader->facts : NULL};
    char error[BLOCKING_CLIENT_ERROR_MAX] = "the answer is no list of nodes";
    BlockingReply reply;

    if (!collect_get(&reader->collector, path, &reply, error) ||
        !JSON_READ_DOCUMENT(reply.body, reader->collector.arena, fields, &list)) {
        collect_note(&reader->collector, "cannot read nodes: %s\n", error);
        return false;
    }
    *ret_n = list.n + list.n_remaining;
    return true;
}

/* A page of one node has the number of all (remainingItemCount). Control planes are selected by
 * their label, which was "master" up to 1.23. */
static void find_nodes(FactReader *reader) {
    static const char *const by_label[] = {
        "/api/v1/nodes?labelSelector=node-role.kubernetes.io%2Fcontrol-plane&limit=32",
        "/api/v1/nodes?labelSelector=node-role.kubernetes.io%2Fmaster&limit=32",
    };
    InstallFacts *facts = reader->facts;
    size_t n;
    bool is_known =
        list_nodes(reader, "/api/v1/nodes?limit=1", /* is_control_plane= */ false, &facts->n_nodes);

    for (size_t i = 0; is_known && facts->n_control_planes == 0 && i < ELEMENTS_OF(by_label); i++)
        is_known = list_nodes(reader, by_label[i], /* is_control_plane= */ true, &n);
    facts->are_nodes_known = is_known;
}

static void find_schedulers(FactReader *reader) {
    static const char path[] =
        "/api/v1/namespaces/kube-system/pods?labelSelector=component%3Dkube-scheduler&limit=32";
    InstallFacts *facts = reader->facts;
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;

    if (!collect_get(&reader->collector, path, &reply, error))
        collect_note(&reader->collector, "cannot read kube-scheduler's pods: %s\n", error);
    else if (!scheduler_pods_read(reply.body, INSTALL_SCHEDULERS_MAX, reader->collector.arena,
                 &facts->schedulers, &facts->n_schedulers))
        collect_note(&reader->collector,
            "cannot read kube-scheduler's pods: the answer is no list of pods\n");
    else
        facts->are_schedulers_known = true;
    for (size_t i = 0; facts->are_schedulers_known && i < facts->n_schedulers; i++)
        facts->n_static += facts->schedulers[i].pod.is_static;
}

static void find_berths(FactReader *reader) {
    const InstallationFacts *found = reader->collector.facts;
    InstallFacts *facts = reader->facts;

    collect_pods(&reader->collector);
    facts->are_berths_known = found->are_pods_known;
    facts->n_berths = found->n_pods;
    if (found->n_pods > 0)
        facts->berth_namespace = found->pods[0].namespace;
}

/* Whether there is an object at @path. */
static void find_object(
    FactReader *reader, const char *path, const char *what, bool *ret_is_known, bool *ret_has) {
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;
    bool is_there =
        collect_ask(&reader->collector, &(BlockingRequest){.path = path}, &reply, error);

    *ret_has = is_there && reply.status == 200;
    *ret_is_known = is_there && (reply.status == 200 || reply.status == 404);
    if (*ret_is_known)
        return;
    if (is_there)
        blocking_client_explain(&reply, reader->collector.arena, error);
    collect_note(&reader->collector, "cannot read %s: %s\n", what, error);
}

/* --- all of it --------------------------------------------------------------------------- */

static void find_all(FactReader *reader, const char *namespace) {
    InstallationFacts *facts = reader->collector.facts;

    collect_cluster(&reader->collector);
    if (!str_is_empty(facts->cluster_error))
        return;
    reader->facts->version = facts->cluster_version;
    reader->facts->minor = release_minor(facts->cluster_version);
    find_nodes(reader);
    find_schedulers(reader);
    find_berths(reader);
    find_object(reader,
        arena_printf(reader->collector.arena, "/api/v1/namespaces/%s", namespace).ptr,
        "the namespace", &reader->facts->is_namespace_known, &reader->facts->has_namespace);
    find_object(reader, "/apis/rbac.authorization.k8s.io/v1/clusterroles/berth-decide",
        "ClusterRoles", &reader->facts->is_role_known, &reader->facts->has_role);
}

/* Reads the cluster of @source, if it names one. Facts that cannot be read are added to @notes, a
 * line each. Strings live in @arena. */
static void collect_facts(const ClusterSource *source, const char *namespace, Arena *arena,
    Buf *notes, InstallFacts *ret) {
    _cleanup_(access_freep) Access *access = NULL;
    _cleanup_(client_freep) Client *client = NULL;
    CollectOptions options = {0};
    InstallationFacts facts = {0};
    FactReader reader = {
        .collector = {.options = &options, .arena = arena, .facts = &facts, .notes = notes},
        .facts = ret,
    };

    *ret = (InstallFacts){.minor = -1};
    if (!cluster_source_is_live(source))
        return;
    access = cluster_source_access(source);
    client = terminal_need(client_new(access), "the facts about the cluster");
    reader.collector.client = client;
    ret->was_read = true;
    ret->server = arena_copy(arena, str_from_c(access_server(access)));
    ret->origin = arena_copy(arena, str_from_c(access_origin(access)));
    progress_begin("reading the cluster");
    find_all(&reader, namespace);
    progress_end();
    if (str_is_empty(facts.cluster_error))
        return;
    terminal_warn("%s cannot be reached", access_server(access));
    terminal_fail("%s", arena_copy(arena, facts.cluster_error).ptr);
}

/* A managed control plane: kube-scheduler's pods are not there, though we may list pods. */
static bool are_managed(const InstallFacts *facts) {
    return facts->was_read && facts->are_schedulers_known && facts->n_schedulers == 0;
}

/* --- the plan -------------------------------------------------------------------------------- */

#define WORDS_MAX ((size_t)16 * 1024)
#define VALUES_MAX 32u
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
    const InstallSettings *settings;
    const InstallFacts *facts;
    Arena *arena;
    Buf *out;
    const PlanCondition *conditions;
    size_t n_conditions;
    PlanValue values[VALUES_MAX];
    size_t n_values;
    unsigned n_steps;
} Plan;

/* --- values --------------------------------------------------------------------------------- */

/* Names of nodes and the like come from outside: control characters are escaped. */
static void set_value(Plan *plan, const char *name, Str text) {
    _cleanup_(buf_done) Buf visible = BUF_INIT(WORDS_MAX);

    assert(plan->n_values < VALUES_MAX);
    (void)visible_append(&visible, text);
    plan->values[plan->n_values++] =
        (PlanValue){.name = name, .text = arena_copy(plan->arena, buf_str(&visible))};
}

static void set_number(Plan *plan, const char *name, size_t n) {
    set_value(plan, name, arena_printf(plan->arena, "%zu", n));
}

/* "kubectl --kubeconfig FILE --context NAME". */
static void set_program(Plan *plan, const char *name, const char *program, const char *flag) {
    const ClusterSource *source = &plan->settings->source;
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
    set_value(plan, name, buf_str(&words));
}

/* The file as a word, its name in quotes of YAML, and helm's policies.a\.yaml=a.yaml as a word. */
static void set_policy(Plan *plan) {
    _cleanup_(buf_done) Buf word = BUF_INIT(WORDS_MAX), quoted = BUF_INIT(WORDS_MAX);
    _cleanup_(buf_done) Buf value = BUF_INIT(WORDS_MAX), value_word = BUF_INIT(WORDS_MAX);
    Str file = plan->settings->policy ? str_from_c(plan->settings->policy) : STR("policy.yaml");
    size_t slash = str_find_last(file, '/');
    Str name = slash == SIZE_MAX ? file : str_skip(file, slash + 1);

    shell_word(&word, file);
    json_quote(&quoted, name);
    buf_append(&value, STR("policies."));
    for (size_t i = 0; i < name.len; i++) {
        if (strchr(".,={}[]\\", name.ptr[i])) /* helm takes a dot for a step down */
            buf_append_char(&value, '\\');
        buf_append_char(&value, name.ptr[i]);
    }
    buf_printf(&value, "=%.*s", STR_FMT(file));
    shell_word(&value_word, buf_str(&value));
    set_value(plan, "policy", buf_str(&word));
    set_value(plan, "policy-name", buf_str(&quoted));
    set_value(plan, "policy-value", buf_str(&value_word));
}

static void set_values(Plan *plan) {
    static const Str modes[] = {
        [INSTALL_SECOND_SCHEDULER] = STR("second-scheduler"),
        [INSTALL_DEFAULT_SCHEDULER] = STR("default-scheduler"),
        [INSTALL_STANDALONE] = STR("standalone"),
    };
    _cleanup_(buf_done) Buf names = BUF_INIT(WORDS_MAX);
    const InstallFacts *facts = plan->facts;
    bool is_in_cluster = plan->settings->source.is_in_cluster;

    for (size_t i = 0; i < facts->n_control_planes; i++)
        buf_printf(&names, "%s%.*s", i > 0 ? ", " : "", STR_FMT(facts->control_planes[i]));
    set_program(plan, "kubectl", "kubectl", "--context");
    set_program(plan, "helm", "helm", "--kube-context");
    set_program(plan, "cluster-flags", is_in_cluster ? " --in-cluster" : "", "--context");
    set_policy(plan);
    set_value(plan, "control-planes",
        facts->n_control_planes > 0 ? buf_str(&names) : STR("none to be seen"));
    set_value(plan, "namespace", str_from_c(plan->settings->namespace));
    set_value(plan, "mode", modes[plan->settings->mode]);
    set_value(plan, "tool", plan->settings->is_kustomize ? STR("kustomize") : STR("helm"));
    set_value(plan, "pair", plan->settings->is_kustomize ? STR("client") : STR("tls"));
    set_value(plan, "berth-version", STR(BERTH_VERSION));
    set_value(plan, "server", facts->server);
    set_value(plan, "origin", facts->origin);
    set_value(plan, "version", str_is_empty(facts->version) ? STR("?") : facts->version);
    set_value(plan, "berth-namespace", facts->berth_namespace);
    set_value(plan, "plural-static", facts->n_static == 1 ? STR("") : STR("s"));
    set_number(plan, "n-nodes", facts->n_nodes);
    set_number(plan, "n-schedulers", facts->n_schedulers);
    set_number(plan, "n-static", facts->n_static);
    set_number(plan, "n-berths", facts->n_berths);
}

/* --- lines ---------------------------------------------------------------------------------- */

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
    for (size_t i = 0; i < plan->n_values; i++)
        if (str_is(name, plan->values[i].name))
            return plan->values[i].text;
    assert(!"a value of install-plan.txt that is not known");
    return STR_NULL;
}

/* @line with its values, after @indent. */
static void put_line(Plan *plan, const char *indent, Str line, Str node) {
    buf_append(plan->out, str_from_c(indent));
    for (size_t i = 0; i < line.len; i++) {
        Str rest = str_skip(line, i);
        size_t end = str_find(rest, '}');

        if (!str_has_prefix(rest, STR("%{"))) {
            buf_append_char(plan->out, line.ptr[i]);
            continue;
        }
        if (str_has_prefix(rest, STR("%{node}")))
            (void)visible_append(plan->out, node);
        else
            buf_append(plan->out, find_value(plan, str_skip(str_take(rest, end), 2)));
        i += end;
    }
    buf_append_char(plan->out, '\n');
}

/* One line of a file that printf writes: an indented here-document would not end. */
static void put_argument(Plan *plan, Str line) {
    _cleanup_(buf_done) Buf text = BUF_INIT(WORDS_MAX), word = BUF_INIT(WORDS_MAX);
    Buf *out = plan->out;

    plan->out = &text;
    put_line(plan, "", line, STR_NULL);
    plan->out = out;
    shell_word(&word, str_take(buf_str(&text), text.len - 1)); /* without its end */
    buf_printf(out, "       %.*s \\\n", STR_FMT(buf_str(&word)));
}

static void put(Plan *plan, Str line) {
    static const struct {
        char mark;
        const char *indent;
    } indents[] = {
        {'-', "   "}, {'$', "     "}, {'!', "  ! "}, {'+', "    "}, {':', "  "}, {'>', ""}};
    char mark = line.ptr[0];

    line = str_skip(line, line.len > 1 ? 2 : 1);
    for (size_t i = 0; i < ELEMENTS_OF(indents); i++)
        if (mark == indents[i].mark)
            put_line(plan, indents[i].indent, line, STR_NULL);
    if (mark == '=')
        buf_printf(plan->out, "\n%u. %.*s\n", ++plan->n_steps, STR_FMT(line));
    if (mark == '\'')
        put_argument(plan, line);
    for (size_t i = 0; mark == '*' && i < plan->facts->n_control_planes; i++)
        put_line(plan, "   ", line, plan->facts->control_planes[i]);
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

/* --- conditions ----------------------------------------------------------------------------- */

static bool has_config(const InstallFacts *facts) {
    for (size_t i = 0; i < facts->n_schedulers; i++)
        if (facts->schedulers[i].origin != CONFIG_DEFAULT &&
            facts->schedulers[i].origin != CONFIG_NO_SCHEDULER)
            return true;
    return false;
}

/* @notes are lines about facts that could not be found out. */
static void install_plan_print(
    const InstallSettings *settings, const InstallFacts *facts, Str notes, Arena *arena, Buf *out) {
    bool is_default = settings->mode == INSTALL_DEFAULT_SCHEDULER,
         is_cluster_read = facts->was_read;
    size_t n_open = facts->n_nodes > facts->n_tainted ? facts->n_nodes - facts->n_tainted : 0;
    bool few_nodes = facts->are_nodes_known && n_open <= 1;
    bool is_old = facts->minor >= 0 && facts->minor < FIRST_WITH_V1;
    const PlanCondition conditions[] = {
        {"cluster", is_cluster_read},
        {"helm", !settings->is_kustomize},
        {"kustomize", settings->is_kustomize},
        {"policy", settings->policy != NULL},
        {"second-scheduler", settings->mode == INSTALL_SECOND_SCHEDULER},
        {"default-scheduler", is_default},
        {"standalone", settings->mode == INSTALL_STANDALONE},
        {"nodes-known", facts->are_nodes_known},
        {"schedulers-known", facts->are_schedulers_known},
        {"schedulers", facts->n_schedulers > 0},
        {"all-static", facts->n_static == facts->n_schedulers},
        {"berths-known", facts->are_berths_known},
        {"berths", facts->n_berths > 0},
        {"role", facts->has_role},
        {"namespace-known", facts->is_namespace_known},
        {"has-namespace", facts->has_namespace},
        {"managed", are_managed(facts)},
        {"before-v1", is_old},
        {"before-beta2", is_old && facts->minor < FIRST_WITH_BETA2},
        {"no-open-node", few_nodes && n_open == 0},
        {"one-open-node", few_nodes && n_open == 1},
        {"one-scheduler", facts->n_schedulers == 1},
        {"no-static", facts->n_static == 0},
        {"has-config", has_config(facts)},
        {"other-namespace",
            facts->n_berths > 0 && !str_is(facts->berth_namespace, settings->namespace)},
        {"warnings",
            are_managed(facts) || is_old || (few_nodes && !is_default) || facts->n_berths > 0 ||
                (is_default && facts->n_schedulers > 0 &&
                    (facts->n_schedulers == 1 || facts->n_static == 0 || has_config(facts)))},
    };
    Plan plan = {
        .settings = settings,
        .facts = facts,
        .arena = arena,
        .out = out,
        .conditions = conditions,
        .n_conditions = ELEMENTS_OF(conditions),
    };

    set_values(&plan);
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
    const char *wrong = cluster_source_check_live(&settings->source);

    if (arguments->n != 1 || strcmp(arguments->items[0], "plan") != 0)
        return "expected the argument plan: it prints a plan, and you install";
    if (wrong)
        return wrong;
    if (settings->is_kustomize && strcmp(settings->namespace, NAMESPACE) != 0)
        return "deploy/kustomize is for the namespace " NAMESPACE "; with helm it can be another";
    return NULL;
}

/* --- the command ------------------------------------------------------------------------- */

static int run(void *context, const Arguments *arguments) {
    const InstallSettings *settings = context;
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX), notes = BUF_INIT(NOTES_MAX);
    Arena *arena = arguments->arena;
    InstallFacts facts;

    collect_facts(&settings->source, settings->namespace, arena, &notes, &facts);
    if (settings->mode == INSTALL_DEFAULT_SCHEDULER && are_managed(&facts)) {
        (void)fprintf(stderr,
            "berth install: kube-scheduler does not run in pods here, so the default scheduler "
            "cannot be "
            "edited (a managed control plane?).\nUse a second one: %s install plan --mode "
            "second-scheduler\n",
            program_name);
        return EXIT_FAILED;
    }
    install_plan_print(settings, &facts, buf_str(&notes), arena, &out);
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
