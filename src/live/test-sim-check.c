/* Checks the rules of a seed, and records the reports to each replica. */

#include "live/test-sim-check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cluster/table.h"
#include "live/test-sim-unbound.h"
#include "live/test-sim.h"

#define NEWS_MAX 256u
#define BINDING_MAX (60 * SIM_SEC) /* a Binding ends by then, halts included */
/* Expired pods are removed once a second. */
#define ASSUMED_MAX ((WATCHER_EXPECT_SEC + 1) * SIM_SEC + PUBLISHED_WITHIN)
#define PUBLISHED_WITHIN (20 * SIM_MSEC) /* one turn of the loop */

/* By UID of a pod. */
typedef struct PodRecord {
    unsigned n_bindings, node; /* number of bindings, and the last node */
    bool has_passed[SIM_NODES_MAX];
} PodRecord;

/* A report to a replica, and its time. */
typedef struct Report {
    int64_t at;
    SimNews news;
} Report;

/* The current knowledge of a replica. */
typedef struct Known {
    size_t n_seen;                       /* changes of pods that a view must show */
    unsigned placed[SIM_UIDS_MAX];       /* by these changes; SIM_NO_NODE: none */
    size_t bound_by[SIM_UIDS_MAX];       /* by an answer: the index of this change + 1; 0: none */
    unsigned posted[SIM_PODS_MAX];       /* by name: UID of the last Binding sent */
    int64_t posted_at[SIM_PODS_MAX];     /* ... its time; 0: never */
    int64_t unclear_until[SIM_PODS_MAX]; /* ... Bindings of two UIDs may be under way until then */
    Report reports[NEWS_MAX];            /* not applied yet */
    size_t n_reports;
} Known;

static PodRecord records[SIM_UIDS_MAX];
static bool is_foreign[SIM_NODES_MAX];
static Known knowns[SIM_BERTHS_MAX];

void sim_check_begin(void) {
    memset(records, 0, sizeof(records));
    memset(is_foreign, 0, sizeof(is_foreign));
}

void sim_check_start(const SimBerth *berth) {
    Known *known = &knowns[berth->index];

    memset(known, 0, sizeof(*known));
    for (size_t i = 0; i < SIM_UIDS_MAX; i++)
        known->placed[i] = SIM_NO_NODE;
}

void sim_check_foreign(const SimObject *pod) {
    is_foreign[pod->node] = true;
    records[pod->uid] = (PodRecord){.n_bindings = 1, .node = pod->node};
}

/* --- Bindings ------------------------------------------------------------------------------- */

void sim_check_passed(unsigned uid, unsigned node) {
    records[uid].has_passed[node] = true;
}

static void check_over(const SimObject *pod) {
    unsigned n_over = 0;

    for (unsigned i = 0; i < SIM_NODES_MAX; i++)
        if (sim_pods_on(i) > SIM_UNBOUND_PER_NODE)
            n_over += sim_pods_on(i) - SIM_UNBOUND_PER_NODE;
    if (n_over > SIM_OVER_MAX)
        sim_fail("few over", "%u pods are over the limit, after p%u uid %u on n%u", n_over,
            pod->name, pod->uid, pod->node);
}

void sim_check_binding(const SimObject *pod) {
    PodRecord *record = &records[pod->uid];
    const SimObject *node = &sim_server.nodes[pod->node];

    if (record->n_bindings++ > 0)
        sim_fail("once", "p%u uid %u was bound to n%u, then to n%u", pod->name, pod->uid,
            record->node, pod->node);
    record->node = pod->node;
    if (!record->has_passed[pod->node])
        sim_fail("once", "n%u did not pass for p%u uid %u", pod->node, pod->name, pod->uid);
    if (sim_is_unbound)
        check_over(pod);
    if (is_foreign[pod->node] || sim_is_unbound)
        return;
    if (sim_pods_on(pod->node) > SIM_PODS_PER_NODE || sim_cpu_used(pod->node) + 1 > node->cpu)
        sim_fail("room", "n%u has %u pods with %um cpu of %um, after p%u uid %u", pod->node,
            sim_pods_on(pod->node), sim_cpu_used(pod->node), node->cpu, pod->name, pod->uid);
}

void sim_check_reported(unsigned uid, unsigned node) {
    if (records[uid].n_bindings == 0 || records[uid].node != node)
        sim_fail("honest", "uid %u was reported as bound to n%u", uid, node);
}

/* --- views ---------------------------------------------------------------------------------- */

static void apply(Known *known, const SimNews *news) {
    if (news->type == SIM_NEWS_BOUND) {
        const SimObject *pod = &sim_server.log[news->index].object;

        known->bound_by[pod->uid] = news->index + 1;
        return;
    }
    for (; known->n_seen < news->index; known->n_seen++) {
        const SimChange *change = &sim_server.log[known->n_seen];

        if (change->kind == SIM_POD)
            known->placed[change->object.uid] =
                change->type == EVENT_DELETED || change->object.has_ended ? SIM_NO_NODE
                                                                          : change->object.node;
    }
}

/* Applies reports of up to @before. */
static void apply_reports(Known *known, int64_t before) {
    size_t n = 0;

    while (n < known->n_reports && known->reports[n].at <= before)
        apply(known, &known->reports[n++].news);
    known->n_reports -= n;
    memmove(known->reports, known->reports + n, known->n_reports * sizeof(known->reports[0]));
}

void sim_check_posted(const SimBerth *berth, unsigned name, unsigned uid) {
    Known *known = &knowns[berth->index];

    if (known->posted_at[name] != 0 && known->posted[name] != uid)
        known->unclear_until[name] = known->posted_at[name] + BINDING_MAX;
    known->posted[name] = uid;
    known->posted_at[name] = sim.now;
}

/* A pod that is read may be another one with that name, which the replica did not read. */
static bool is_about_own(const Known *known, const SimNews *news) {
    const SimObject *pod = &sim_server.log[news->index].object;

    return known->posted_at[pod->name] != 0 && known->posted[pod->name] == pod->uid &&
           sim.now >= known->unclear_until[pod->name];
}

void sim_check_news(const SimBerth *berth, const SimNews *news) {
    Known *known = &knowns[berth->index];

    if (news->type == SIM_NEWS_NONE || (news->type == SIM_NEWS_SEEN && news->kind != SIM_POD))
        return;
    if (news->type == SIM_NEWS_BOUND && !is_about_own(known, news))
        return;
    if (known->n_reports == NEWS_MAX)
        apply_reports(known, sim.now - PUBLISHED_WITHIN);
    if (known->n_reports == NEWS_MAX) /* a burst: forget a report, which only checks less */
        known->n_reports--;
    known->reports[known->n_reports++] = (Report){.at = sim.now, .news = *news};
}

static unsigned known_node(const Known *known, unsigned uid) {
    size_t by = known->bound_by[uid];
    const SimObject *pod;

    if (by <= known->n_seen) /* the watch has shown it, or a later change */
        return known->placed[uid];
    pod = &sim_server.log[by - 1].object;
    return pod->has_ended ? SIM_NO_NODE : pod->node;
}

/* Whether a report that a view need not show yet removes the pod from its node. */
static bool is_moving(const Known *known, unsigned uid) {
    size_t end = known->n_seen;

    for (size_t i = 0; i < known->n_reports; i++) {
        const SimNews *news = &known->reports[i].news;

        if (news->type == SIM_NEWS_SEEN && news->index > end)
            end = news->index;
    }
    for (size_t i = known->n_seen; i < end; i++)
        if (sim_server.log[i].kind == SIM_POD && sim_server.log[i].object.uid == uid &&
            (sim_server.log[i].type == EVENT_DELETED || sim_server.log[i].object.has_ended))
            return true;
    return false;
}

/* The number behind @prefix; UINT32_MAX: there is none. */
static unsigned number_of(Str text, size_t prefix) {
    unsigned number = 0;

    if (text.len <= prefix)
        return UINT32_MAX;
    for (size_t i = prefix; i < text.len; i++)
        number = number * 10 + (unsigned)(text.ptr[i] - '0');
    return number;
}

static bool view_has(const View *view, unsigned node, unsigned uid, bool *ret_has_node) {
    char name[16];
    uint32_t row;
    const PodList *pods;

    (void)snprintf(name, sizeof(name), "n%u", node);
    row = table_find(view->table, str_from_c(name));
    *ret_has_node = row < view->table->n_rows;
    pods = table_chunk(view->table, row)->pods[table_slot(row)];
    for (size_t i = 0; pods && i < pods->n; i++)
        if (number_of(pods->items[i]->uid, 2) == uid)
            return true;
    return false;
}

static void check_twice(const SimBerth *berth, const View *view) {
    bool is_counted[SIM_UIDS_MAX] = {false};

    for (uint32_t row = 0; row < view->table->n_rows; row++) {
        const PodList *pods = table_chunk(view->table, row)->pods[table_slot(row)];

        for (size_t i = 0; pods && i < pods->n; i++) {
            unsigned uid = number_of(pods->items[i]->uid, 2);

            if (is_counted[uid])
                sim_fail("known", "berth %u counts uid %u twice", berth->index, uid);
            is_counted[uid] = true;
        }
    }
}

static void check_assumed(const View *view) {
    for (size_t i = 0; sim_is_unbound && i < view->table->n_assumed; i++) {
        unsigned uid = number_of(view->table->assumed[i]->uid, 2);

        if (sim.now - sim_unbound_asked_at(uid) > ASSUMED_MAX)
            sim_fail("not for long", "uid %u is still assumed", uid);
    }
}

void sim_check_view(const SimBerth *berth, const View *view) {
    Known *known = &knowns[berth->index];

    check_twice(berth, view);
    check_assumed(view);
    if (sim.now < berth->halted_until + PUBLISHED_WITHIN && berth->halted_until > 0)
        return;
    apply_reports(known, sim.now - PUBLISHED_WITHIN);
    for (unsigned uid = 0; uid < sim_server.n_uids; uid++) {
        unsigned node = known_node(known, uid);
        bool has_node;

        if (node != SIM_NO_NODE && !view_has(view, node, uid, &has_node) && has_node &&
            !is_moving(known, uid))
            sim_fail("known", "berth %u filters without uid %u on n%u, which it was told of",
                berth->index, uid, node);
    }
}

/* --- the end -------------------------------------------------------------------------------- */

static void check_node(const SimBerth *berth, const View *view, unsigned name) {
    const SimObject *node = &sim_server.nodes[name];
    char text[16];
    uint32_t row;
    const NodeChunk *chunk;

    (void)snprintf(text, sizeof(text), "n%u", name);
    row = table_find(view->table, str_from_c(text));
    if (node->exists != (row < view->table->n_rows)) {
        sim_fail("equal", "berth %u: n%u is %s", berth->index, name,
            node->exists ? "missing" : "there, and deleted");
        return;
    }
    if (!node->exists)
        return;
    chunk = table_chunk(view->table, row);
    if (number_of(table_node(view->table, row)->uid, 2) != node->uid)
        sim_fail("equal", "berth %u: n%u has an old UID", berth->index, name);
    if (table_amount(view->table, row, TABLE_CPU, AMOUNT_ALLOCATABLE) != node->cpu)
        sim_fail("equal", "berth %u: n%u offers %" PRId64 ", not %um", berth->index, name,
            table_amount(view->table, row, TABLE_CPU, AMOUNT_ALLOCATABLE), node->cpu);
    if (chunk->n_pods[table_slot(row)] != sim_pods_on(name) ||
        table_amount(view->table, row, TABLE_CPU, AMOUNT_REQUESTED) != sim_cpu_used(name))
        sim_fail("equal", "berth %u: n%u has %u pods with %" PRId64 "m, not %u with %um",
            berth->index, name, chunk->n_pods[table_slot(row)],
            table_amount(view->table, row, TABLE_CPU, AMOUNT_REQUESTED), sim_pods_on(name),
            sim_cpu_used(name));
}

static void check_berth(SimBerth *berth) {
    _cleanup_(view_unrefp) View *view = current_view(&berth->current);

    if (!view->snapshot) {
        sim_fail("equal", "berth %u has no cluster", berth->index);
        return;
    }
    for (unsigned i = 0; i < SIM_NODES_MAX; i++)
        check_node(berth, view, i);
    for (size_t i = 0; i < SIM_PODS_MAX; i++) {
        const SimObject *pod = &sim_server.pods[i];
        bool has_node;

        if (pod->exists && !pod->has_ended && pod->node != SIM_NO_NODE &&
            !view_has(view, pod->node, pod->uid, &has_node) && has_node)
            sim_fail("equal", "berth %u: p%u uid %u is not on n%u", berth->index, pod->name,
                pod->uid, pod->node);
    }
    if (view->table->n_assumed > 0)
        sim_fail("equal", "berth %u still assumes %zu pods", berth->index, view->table->n_assumed);
}

static void check_pending(const SimObject *pod) {
    unsigned limit = sim_is_unbound ? SIM_UNBOUND_PER_NODE : SIM_PODS_PER_NODE;

    if (!pod->exists || pod->has_ended || pod->node != SIM_NO_NODE)
        return;
    for (unsigned i = 0; i < SIM_NODES_MAX; i++) {
        const SimObject *node = &sim_server.nodes[i];

        if (node->exists && sim_pods_on(i) < limit && sim_cpu_used(i) + pod->cpu + 1 <= node->cpu)
            sim_fail("complete", "p%u uid %u is pending, and n%u has room", pod->name, pod->uid, i);
    }
}

void sim_check_end(void) {
    for (size_t i = 0; i < sim_n_berths; i++)
        check_berth(&sim_berths[i]);
    for (size_t i = 0; i < SIM_PODS_MAX; i++)
        check_pending(&sim_server.pods[i]);
}
