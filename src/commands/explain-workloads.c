/* Explains every pod template of a file, a row for each. */

#include "commands/explain-internal.h"

#include <stdlib.h>

#include "base/visible.h"
#include "cli/progress.h"
#include "extender/explain.h"
#include "json/write.h"

typedef struct WorkloadReport {
    const View *view;
    const WorkloadList *list;
    int64_t now_nsec;
    Arena *scratch; /* for one explanation */
    Paint paint;
    Buf *out;
} WorkloadReport;

/* A filter, and the nodes that it rejects. */
typedef struct Rejected {
    const Filter *filter;
    size_t n;         /* nodes */
    size_t n_closest; /* of those, the ones closest to eligible */
} Rejected;

typedef VEC(Rejected) Rejections;

static int compare_rejected(const void *a, const void *b) {
    const Rejected *x = a, *y = b;

    if (x->n_closest != y->n_closest)
        return x->n_closest > y->n_closest ? -1 : 1;
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return x->filter->number < y->filter->number ? -1 : 1;
}

/* Sorted: filters that reject nodes closest to eligible come first. The first is the main
 * reason. */
static Rejections find_rejections(const Explanation *explanation, Arena *arena) {
    Rejections found = {0};

    for (size_t i = 0; i < explanation->n_nodes; i++) {
        const NodeExplanation *node = &explanation->nodes[i];
        size_t at = 0;

        if (!node->verdict)
            continue;
        while (at < found.n && found.items[at].filter != node->verdict)
            at++;
        if (at == found.n)
            (void)VEC_ADD(&found, arena, (Rejected){.filter = node->verdict});
        found.items[at].n++;
        found.items[at].n_closest += node->distance == explanation->closest;
    }
    if (found.n > 0)
        qsort(found.items, found.n, sizeof(*found.items), compare_rejected);
    return found;
}

static Rejections explain(WorkloadReport *report, const WorkloadPod *pod, Explanation *ret) {
    arena_reset(report->scratch);
    (void)terminal_check(
        extender_explain(report->view, report->now_nsec, &pod->pod, report->scratch, ret),
        "the explanations", report->scratch);
    return find_rejections(ret, report->scratch);
}

static size_t print_name(const WorkloadObject *workload, Buf *out) {
    _cleanup_(buf_done) Buf name = BUF_INIT(4096);

    buf_printf(&name, "%.*s %.*s/%.*s", STR_FMT(workload->kind), STR_FMT(workload->namespace),
        STR_FMT(workload->name));
    return visible_append(out, visible_take(buf_str(&name), NAME_COLUMNS_MAX));
}

static size_t name_width(const WorkloadList *list) {
    size_t widest = STR("WORKLOAD").len;

    for (size_t i = 0; i < list->n; i++) {
        size_t width = print_name(&list->items[i].workload, /* out= */ NULL);

        widest = width > widest ? width : widest;
    }
    return widest;
}

static void print_row(WorkloadReport *report, const WorkloadPod *pod, size_t width) {
    Explanation explanation;
    Rejections rejections = explain(report, pod, &explanation);
    size_t used = print_name(&pod->workload, report->out);
    const char *pods =
        pod->workload.is_per_node ? "per node" : GROUPED((uint64_t)pod->workload.n_pods);
    const char *passed = GROUPED(explanation.n_passed), *nodes = GROUPED(explanation.n_nodes);
    int room = 15 - (int)(strlen(passed) + strlen(" of ") + strlen(nodes));

    buf_printf(report->out, "%*s %9s%*s%s%s of %s%s", (int)(width - used), "", pods,
        room > 0 ? room : 0, "", explanation.n_passed == 0 ? report->paint.bad : report->paint.good,
        passed, nodes, report->paint.off);
    if (rejections.n > 0) { /* the rule that most of the closest nodes fail */
        const Rejected *main = &rejections.items[0];

        visible_print(report->out, "  {}/{}: {}", main->filter->policy->name, main->filter->name,
            main->filter->reason);
        buf_printf(report->out, " %s(%s node%s)%s", report->paint.dim, GROUPED(main->n),
            PLURAL(main->n), report->paint.off);
    }
    buf_append_char(report->out, '\n');
}

static void print_table(WorkloadReport *report) {
    const WorkloadList *list = report->list;
    size_t width = name_width(list);

    visible_append_padded(report->out, STR("WORKLOAD"), width);
    buf_append(report->out, STR("      PODS ELIGIBLE NODES  MAIN REASON OF REJECTIONS\n"));
    for (size_t i = 0; i < list->n; i++)
        print_row(report, &list->items[i], width);
    buf_append_char(report->out, '\n');
    if (list->n_others > 0)
        buf_printf(report->out, "%zu other object%s skipped: no pods\n", list->n_others,
            PLURAL(list->n_others));
    visible_print(report->out,
        "for the nodes, scores and suggestions of one, add its name: {}/{}\n",
        list->items[0].workload.kind, list->items[0].workload.name);
}

static void write_rejections(const Rejections *rejections, JsonWriter *writer) {
    json_member_array(writer, "rejectedBy");
    for (size_t i = 0; i < rejections->n; i++) {
        const Filter *filter = rejections->items[i].filter;

        json_write(writer, "{policy: %.*s, rule: %.*s, reason: %.*s, nodes: %zu}",
            STR_FMT(filter->policy->name), STR_FMT(filter->name), STR_FMT(filter->reason),
            rejections->items[i].n);
    }
    json_write_end_array(writer);
}

static void write_row(WorkloadReport *report, const WorkloadPod *pod, JsonWriter *writer) {
    const WorkloadObject *workload = &pod->workload;
    Explanation explanation;
    Rejections rejections = explain(report, pod, &explanation);

    json_write(writer, "{kind: %.*s, namespace: %.*s, name: %.*s", STR_FMT(workload->kind),
        STR_FMT(workload->namespace), STR_FMT(workload->name));
    if (workload->is_per_node)
        json_write(writer, "pods: null");
    else
        json_member_int(writer, "pods", workload->n_pods);
    json_write(writer, "nodes: %zu, eligible: %zu", explanation.n_nodes, explanation.n_passed);
    write_rejections(&rejections, writer);
    json_write_end_object(writer);
}

/* {"workloads": [{kind, namespace, name, pods, nodes, eligible, rejectedBy: [{policy, rule, reason,
 * nodes}]}], "otherObjects": 3}: the rules of the nodes that are closest to eligible come first. */
static void print_json(WorkloadReport *report) {
    JsonWriter writer = {.out = report->out, .indent = 2};

    json_write(&writer, "{workloads: [");
    for (size_t i = 0; i < report->list->n; i++)
        write_row(report, &report->list->items[i], &writer);
    json_write(&writer, "], otherObjects: %zu}\n", report->list->n_others);
}

void explain_workloads(
    const View *view, const WorkloadList *list, int64_t now_nsec, OutputForm form) {
    _cleanup_(arena_freep) Arena *scratch = terminal_arena("the explanations", EXPLAIN_BUDGET);
    _cleanup_(buf_done) Buf out = BUF_INIT(EXPLAIN_TEXT_MAX);
    WorkloadReport report = {
        .view = view,
        .list = list,
        .now_nsec = now_nsec,
        .scratch = scratch,
        .paint = paint_for(terminal_has_colour(stdout)),
        .out = &out,
    };

    if (form == OUTPUT_TABLE)
        print_table(&report);
    else
        print_json(&report);
    progress_end();
    terminal_finish_as(&out, form);
}
