/*
 * berth check --nodes: whether policies fit the budget of a load (serve's --load-time and
 * --load-memory) on that many nodes. Some nodes are evaluated, and their cost multiplied. Work is
 * counted, not time, so the answer is the same on every machine.
 */

#include <math.h>

#include "base/visible.h"
#include "cli/command.h"
#include "cluster/store.h"
#include "commands/check-internal.h"
#include "extender/view.h"
#include "input/zones.h"
#include "json/read.h"

#define TEXT_MAX ((size_t)1024 * 1024)
#define ARENA_BUDGET ((size_t)16 * 1024 * 1024)
#define MADE_UP "the nodes to estimate from"

/* Pods of a made-up node: Kubernetes supports 150,000 on 5,000 nodes. */
#define PODS_PER_NODE 30u

/* Evaluating the sample stops when the prediction exceeds the budget by this factor. */
#define ENOUGH 4

static const char node_text[] =
    "{\"metadata\": {\"name\": \"node-%05u\", \"labels\": {"
    "\"kubernetes.io/hostname\": \"node-%05u\", \"kubernetes.io/os\": \"linux\", "
    "\"kubernetes.io/arch\": \"amd64\", \"node.kubernetes.io/instance-type\": \"m6i.4xlarge\", "
    "\"topology.kubernetes.io/region\": \"region-1\", "
    "\"topology.kubernetes.io/zone\": \"zone-%u\"}}, "
    "\"status\": {\"allocatable\": {\"cpu\": \"16\", \"memory\": \"64Gi\", \"pods\": \"110\"}, "
    "\"conditions\": [{\"type\": \"Ready\", \"status\": \"True\"}]}}";
static const char pod_text[] =
    "{\"metadata\": {\"name\": \"app-%u-%05u\", \"namespace\": \"team-%u\", "
    "\"uid\": \"%u-%u\", \"labels\": {\"app\": \"app-%u\", \"pod-template-hash\": \"7c9f\"}}, "
    "\"spec\": {\"nodeName\": \"node-%05u\", \"containers\": [{\"name\": \"app\", \"resources\": "
    "{\"requests\": {\"cpu\": \"250m\", \"memory\": \"512Mi\"}}}]}, "
    "\"status\": {\"phase\": \"Running\"}}";

/* Adds the node, or the pod, that @text describes. */
static void add_object(Store *store, Str text, bool is_node, Arena *arena) {
    JsonReader reader;
    Node node;
    Pod pod;

    json_reader_init(&reader, text);
    if (is_node)
        node_decode(&reader, arena, &node);
    else
        pod_decode(&reader, arena, &pod);
    (void)terminal_check(
        is_node ? store_apply_node(store, &node) : store_apply_pod(store, &pod), MADE_UP, NULL);
}

/* Makes at most one chunk of the table: each further one would cost as much. */
static Snapshot *make_nodes(size_t n_nodes) {
    _cleanup_(store_freep) Store *store = terminal_need(store_new(), MADE_UP);
    _cleanup_(arena_freep) Arena *arena = terminal_arena(MADE_UP, ARENA_BUDGET);
    unsigned n = n_nodes < CHUNK_ROWS ? (unsigned)n_nodes : CHUNK_ROWS;
    Snapshot *snapshot = NULL;

    for (unsigned i = 0; i < n; i++) {
        add_object(store, arena_printf(arena, node_text, i, i, i % 3), true, arena);
        for (unsigned k = 0; k < PODS_PER_NODE; k++)
            add_object(store, arena_printf(arena, pod_text, k, i, k % 5, i, k, k, i), false, arena);
        arena_reset(arena);
    }
    (void)terminal_check(store_publish(store, &snapshot), MADE_UP, NULL);
    return snapshot;
}

typedef struct Prediction {
    const LoadCheck *check;
    FactsBudget budget; /* for the sample */
    size_t n_sampled;
    double factor; /* from the sample to all nodes */
    double work_max, work, bytes;
    bool is_made_up;
} Prediction;

static void evaluate(Program *program, Snapshot *snapshot, Prediction *ret) {
    _cleanup_(zones_freep) Zones *zones = terminal_need(zones_new(), "the results of the rules");
    _cleanup_(view_unrefp) View *view = NULL;
    const ViewParts parts = {
        .snapshot = snapshot,
        .program = program,
        .zones = zones_finder(zones),
        .budget = &ret->budget,
    };
    double factor = ret->factor / ENOUGH, room = (double)ret->check->bytes / factor;

    ret->work_max = (double)ret->check->cpu_nsec / NSEC_PER_SEC * (double)FACTS_WORK_PER_SEC;
    ret->budget = (FactsBudget){
        .work_max = (uint64_t)(ret->work_max / factor),
        .bytes_max = room < (double)FACTS_BYTES_MAX ? (size_t)room : FACTS_BYTES_MAX,
        .is_ranked = true,
    };
    (void)terminal_check(
        view_new(&parts, /* before= */ NULL, &view), "the results of the rules", NULL);
    ret->work = (double)ret->budget.cost.work * ret->factor;
    ret->bytes = (double)ret->budget.cost.bytes * ret->factor;
}

static bool is_exceeded(const Prediction *p) {
    return p->budget.limit != FACTS_WITHIN || p->work > p->work_max ||
           p->bytes > (double)p->check->bytes;
}

static void print_totals(const Prediction *p, Buf *out) {
    const char *at_least = p->budget.limit != FACTS_WITHIN ? "at least " : "";

    buf_printf(out,
        "loading for %zu nodes: %s%.1f of %.1f million units of work (--load-time %gs), %s%.0f of "
        "%zu MiB (--load-memory)\n",
        p->check->n_nodes, at_least, p->work / 1e6, p->work_max / 1e6,
        (double)p->check->cpu_nsec / NSEC_PER_SEC, at_least, ceil(p->bytes / (1 << 20)),
        p->check->bytes >> 20);
    if (p->is_made_up)
        buf_printf(out,
            "estimated from %zu made-up nodes with %u pods each; --cluster or --kubeconfig "
            "estimates from yours\n",
            p->n_sampled, PODS_PER_NODE);
    else
        buf_printf(out, "estimated from the %zu nodes of the cluster\n", p->n_sampled);
}

static void print_worst(const Prediction *p, Buf *out) {
    const FactsBudget *budget = &p->budget;

    for (size_t i = 0; i < budget->n_worst; i++) {
        const RuleCost *rule = &budget->worst[i];

        if (rule->cost.work == 0)
            continue;
        buf_printf(out, "%5.1f %%  ", 100.0 * (double)rule->cost.work / (double)budget->cost.work);
        visible_print(out, "{} {}/{} ({}", str_from_c(rule->type), rule->policy->name, rule->name,
            rule->place.file);
        buf_printf(out, ":%zu): %.0f units and %.0f bytes a node\n", rule->place.line,
            (double)rule->cost.work / (double)p->n_sampled,
            (double)rule->cost.bytes / (double)p->n_sampled);
    }
}

/* Prints the error at the place of the most expensive rule. */
static void print_error(const Prediction *p, Buf *out) {
    _cleanup_(arena_freep) Arena *arena = terminal_arena("the error", ARENA_BUDGET);
    DiagList diags = DIAG_LIST_IN(arena);
    const FactsBudget *budget = &p->budget;
    bool is_memory = p->work <= p->work_max && budget->limit != FACTS_OVER_WORK;
    Place place = budget->n_worst > 0 ? budget->worst[0].place : (Place){0};

    diag_add(&diags, DIAG_ERROR, place, STR_NULL,
        arena_printf(arena,
            "policies take too much %s for %zu nodes: `berth serve` would reject them. This rule "
            "takes most",
            is_memory ? "memory" : "work", p->check->n_nodes),
        is_memory ? STR("simplify it, or raise --load-memory of `berth serve`")
                  : STR("simplify it, or raise --load-time of `berth serve`"));
    diag_list_print(&diags, terminal_has_colour(stdout), out);
}

int load_check_run(const LoadCheck *check, const ClusterSource *cluster, Program *program) {
    bool is_given = cluster_source_is_given(cluster);
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    _cleanup_(snapshot_unrefp) Snapshot *snapshot =
        is_given ? cluster_source_load(cluster, program->related) : make_nodes(check->n_nodes);
    Prediction prediction = {.check = check, .is_made_up = !is_given};

    prediction.n_sampled = snapshot_table(snapshot)->names->n_nodes;
    if (prediction.n_sampled == 0)
        terminal_exit(EXIT_FAILED, "the cluster has no nodes to estimate from");
    prediction.factor = (double)check->n_nodes / (double)prediction.n_sampled;
    evaluate(program, snapshot, &prediction);
    print_totals(&prediction, &out);
    print_worst(&prediction, &out);
    if (is_exceeded(&prediction))
        print_error(&prediction, &out);
    terminal_output(buf_str(&out));
    return is_exceeded(&prediction) ? EXIT_FAILED : EXIT_FINE;
}
