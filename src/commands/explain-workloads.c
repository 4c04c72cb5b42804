/* Explains every pod template of a file, a row for each. */

#include "commands/explain-internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/visible.h"
#include "extender/explain.h"
#include "json/write.h"

#define NAME_COLUMNS_MAX 60u

/* Nodes whose verdict is one filter. */
typedef struct Rejected {
    const Filter *filter;
    size_t n;         /* nodes */
    size_t n_closest; /* of those, the ones that are as close to eligible as any */
} Rejected;

typedef struct Rejections {
    Rejected *items;
    size_t n;
} Rejections;

static int compare_rejected(const void *a, const void *b) {
    const Rejected *x = a, *y = b;

    if (x->n_closest != y->n_closest)
        return x->n_closest > y->n_closest ? -1 : 1;
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return x->filter->number < y->filter->number ? -1 : 1;
}

/* Those of the nodes that are closest to eligible first: their rule is the main reason. */
static int find_rejections(const Explanation *explanation, Arena *arena, Rejections *ret) {
    size_t n = 0;
    Rejected *items = ARENA_ARRAY(arena, Rejected, PROGRAM_FILTERS_MAX);

    if (!items)
        return -ENOMEM;
    for (size_t i = 0; i < explanation->n_nodes; i++) {
        const NodeExplanation *node = &explanation->nodes[i];
        size_t at = 0;

        if (!node->verdict)
            continue;
        while (at < n && items[at].filter != node->verdict)
            at++;
        if (at == n)
            items[n++] = (Rejected){.filter = node->verdict};
        items[at].n++;
        items[at].n_closest += node->distance == explanation->closest;
    }
    if (n > 0)
        qsort(items, n, sizeof(*items), compare_rejected);
    *ret = (Rejections){.items = items, .n = n};
    return 0;
}

static int explain(
    WorkloadReport *report, const WorkloadPod *pod, Explanation *ret, Rejections *ret_rejections) {
    int r;

    arena_reset(report->scratch);
    r = extender_explain(report->view, report->now_nsec, &pod->pod, report->scratch, ret);
    return r < 0 ? r : find_rejections(ret, report->scratch, ret_rejections);
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
        _cleanup_(buf_done) Buf name = BUF_INIT(8192);
        size_t width = print_name(&list->items[i].workload, &name);

        widest = width > widest ? width : widest;
    }
    return widest;
}

static int print_row(WorkloadReport *report, const WorkloadPod *pod, size_t width) {
    Explanation explanation;
    Rejections rejections;
    int r = explain(report, pod, &explanation, &rejections), room;
    const char *pods, *passed, *nodes;
    size_t used;

    if (r < 0)
        return r;
    used = print_name(&pod->workload, report->out);
    pods = pod->workload.is_per_node ? "per node" : GROUPED((uint64_t)pod->workload.n_pods);
    passed = GROUPED(explanation.n_passed);
    nodes = GROUPED(explanation.n_nodes);
    room = 15 - (int)(strlen(passed) + strlen(" of ") + strlen(nodes));
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
    return 0;
}

int workloads_print_table(WorkloadReport *report) {
    const WorkloadList *list = report->list;
    size_t width = name_width(list);
    int r = 0;

    visible_append_padded(report->out, STR("WORKLOAD"), width);
    buf_append(report->out, STR("      PODS ELIGIBLE NODES  MAIN REASON OF REJECTIONS\n"));
    for (size_t i = 0; r == 0 && i < list->n; i++)
        r = print_row(report, &list->items[i], width);
    buf_append_char(report->out, '\n');
    if (list->n_others > 0)
        buf_printf(report->out, "%zu other object%s skipped: no pods\n", list->n_others,
            PLURAL(list->n_others));
    visible_print(report->out,
        "for the nodes, scores and suggestions of one, add its name: {}/{}\n",
        list->items[0].workload.kind, list->items[0].workload.name);
    return r;
}

static void write_rejections(const Rejections *rejections, JsonWriter *writer) {
    json_member_array(writer, "rejectedBy");
    for (size_t i = 0; i < rejections->n; i++) {
        const Filter *filter = rejections->items[i].filter;

        json_write_object(writer);
        json_write_member(writer, STR("policy"), filter->policy->name);
        json_write_member(writer, STR("rule"), filter->name);
        json_write_member(writer, STR("reason"), filter->reason);
        json_member_int(writer, "nodes", (int64_t)rejections->items[i].n);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static int write_row(WorkloadReport *report, const WorkloadPod *pod, JsonWriter *writer) {
    const WorkloadObject *workload = &pod->workload;
    Explanation explanation;
    Rejections rejections;
    int r = explain(report, pod, &explanation, &rejections);

    if (r < 0)
        return r;
    json_write_object(writer);
    json_write_member(writer, STR("kind"), workload->kind);
    json_write_member(writer, STR("namespace"), workload->namespace);
    json_write_member(writer, STR("name"), workload->name);
    if (workload->is_per_node)
        json_member_null(writer, "pods");
    else
        json_member_int(writer, "pods", workload->n_pods);
    json_member_int(writer, "nodes", (int64_t)explanation.n_nodes);
    json_member_int(writer, "eligible", (int64_t)explanation.n_passed);
    write_rejections(&rejections, writer);
    json_write_end_object(writer);
    return 0;
}

int workloads_print_json(WorkloadReport *report) {
    JsonWriter writer = {.out = report->out, .indent = 2};
    int r = 0;

    json_write_object(&writer);
    json_member_array(&writer, "workloads");
    for (size_t i = 0; r == 0 && i < report->list->n; i++)
        r = write_row(report, &report->list->items[i], &writer);
    json_write_end_array(&writer);
    json_member_int(&writer, "otherObjects", (int64_t)report->list->n_others);
    json_write_end_object(&writer);
    buf_append_char(report->out, '\n');
    return r;
}
