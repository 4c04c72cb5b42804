/* Makes views, which share facts and loads with the previous view, and adjusts them to one pod. */

#include "extender/view.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "json/write.h"

#define REASON_TEXT_MAX ((size_t)4 * 1024)
#define JUDGED_ROWS_MAX 8u

View *view_unref(View *view) {
    if (view && ref_drop(&view->ref)) {
        facts_release(&view->facts);
        loads_release(&view->loads);
        measurements_unref(view->measurements);
        snapshot_unref(view->snapshot);
        program_unref(view->program);
        arena_free(view->arena);
        free(view);
    }
    return NULL;
}

static int build_reasons(View *view) {
    size_t n = view->program->n_filters;

    view->reasons = ARENA_ARRAY(view->arena, Str, n);
    if (!view->reasons)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        _cleanup_(buf_done) Buf quoted = BUF_INIT(REASON_TEXT_MAX);
        char *text;

        buf_append_char(&quoted, ':');
        json_quote(&quoted, view->program->filters[i]->reason);
        buf_append_char(&quoted, ',');
        text = arena_zalloc(view->arena, 1, buf_str(&quoted).len + BYTES_BLOCK);
        if (buf_error(&quoted) || !text)
            return -ENOMEM;
        memcpy(text, buf_str(&quoted).ptr, buf_str(&quoted).len);
        view->reasons[i] = str_of(text, buf_str(&quoted).len);
    }
    return 0;
}

typedef struct ViewZones {
    LoadZones loads; /* must be first: local_to_utc() casts */
    const CelZones *zones;
} ViewZones;

static bool local_to_utc(const LoadZones *loads, Str name, int64_t local_sec, int64_t *ret_sec) {
    const ViewZones *zones = (const ViewZones *)(const void *)loads;
    const CelZone *zone = zones->zones->find(zones->zones, name);

    if (!zone)
        return false;
    *ret_sec = local_sec - cel_zone_offset(zone, local_sec);
    /* Near a change to or from summer time the first guess may be on the wrong side of it. */
    *ret_sec = local_sec - cel_zone_offset(zone, *ret_sec);
    return true;
}

/* Makes no loads if the program has no gauges: without loads all metrics are absent. */
static int find_loads(View *view, const ViewParts *parts, const View *before) {
    const Program *program = view->program;
    ViewZones *zones = ARENA_NEW(view->arena, ViewZones);
    bool may_share = before && before->program == program;
    KnownLoads known;
    int r;

    if (!zones)
        return -ENOMEM;
    *zones = (ViewZones){.loads.to_utc = local_to_utc, .zones = view->zones};
    view->loads.until_nsec = INT64_MAX;
    view->measured = (LoadsInput){
        .gauges = program->gauges,
        .n_gauges = program->n_gauges,
        .measurements = view->measurements,
        .now_nsec = parts->now_nsec,
        .uptime_nsec = parts->uptime_nsec,
        .zones = view->zones ? &zones->loads : NULL,
        .is_counted = true,
    };
    if (program->n_gauges == 0)
        return 0;
    if (may_share)
        known = (KnownLoads){.table = before->table, .loads = &before->loads};
    r = loads_build(
        &view->measured, view->table, may_share ? &known : NULL, view->arena, &view->loads);
    view->with_loads.loads = &view->loads;
    return r;
}

static int find_facts(View *view, const View *before, const ViewParts *parts) {
    bool may_share = before && before->program == view->program && !before->facts.is_late;
    NodeSet known;
    FactsOptions options = {.zones = view->zones,
        .known = may_share ? &known : NULL,
        .clock = parts->clock,
        .budget = parts->budget,
        .is_counted = true};

    if (may_share)
        known = (NodeSet){.table = before->table, .facts = &before->facts};
    return facts_build(view->program, view->table, &options, view->arena, &view->facts);
}

int view_new(const ViewParts *parts, const View *before, View **ret) {
    _cleanup_(view_unrefp) View *view = calloc(1, sizeof(*view));
    int r = 0;

    if (!view)
        return -ENOMEM;
    view->ref = REF_ONE;
    view->program = program_ref(parts->program);
    view->zones = parts->zones;
    view->exemptions = parts->exemptions;
    view->snapshot = parts->snapshot ? snapshot_ref(parts->snapshot) : NULL;
    view->measurements = parts->measurements ? measurements_ref(parts->measurements) : NULL;
    view->arena = arena_new(VIEW_BUDGET);
    if (!view->arena)
        return -ENOMEM;
    view->table = &view->with_loads;
    if (view->snapshot)
        view->with_loads = *snapshot_table(view->snapshot);
    else
        r = table_build(NULL, 0, view->arena, &view->with_loads);
    if (r == 0)
        r = find_loads(view, parts, before);
    if (r == 0)
        r = find_facts(view, before, parts);
    if (r == 0)
        r = build_reasons(view);
    if (r < 0)
        return r;
    view->hints = view->table->names->hints;
    if (!view->hints) /* no cluster: only the unknown node's hint, which never matches */
        view->hints = ARENA_ARRAY(view->arena, NameHint, view->table->n_rows + 1);
    if (!view->hints)
        return -ENOMEM;
    *ret = TAKE_PTR(view);
    return 0;
}

/* The node on which @pod already counts: it runs there, is expected there, or berth bound it there
 * and kube-scheduler, which missed the reply, retries. Empty: none. */
static Str find_home(const NodeTable *table, const Pod *pod) {
    const Pod *assumed;

    if (str_is_empty(pod->uid))
        return STR_NULL;
    assumed = table_find_assumed(table, pod->uid);
    return assumed ? assumed->node_name : pod->node_name;
}

/* Whether the row of @node is in @rows (NULL: all rows). */
static bool is_judged(const NodeTable *table, const uint32_t *rows, size_t n, Str node) {
    for (size_t i = 0; i < n; i++) /* n_rows is an unknown node */
        if (rows[i] < table->n_rows && str_eq(table_node(table, rows[i])->name, node))
            return true;
    return !rows;
}

static int measure(const View *view, const RequestTime *time, const NodeTable *before, Arena *arena,
    NodeTable *table) {
    KnownLoads known = {.table = before, .loads = before ? before->loads : NULL};
    LoadsInput input = view->measured;
    Loads *loads;
    int r;

    if (view->measured.n_gauges == 0)
        return 0;
    loads = ARENA_NEW(arena, Loads);
    if (!loads)
        return -ENOMEM;
    input.is_counted = false;
    if (time && !view->snapshot) /* no new view is made when annotations expire */
        input.now_nsec = time->now_nsec;
    r = loads_build(&input, table, &known, arena, loads);
    table->loads = loads;
    return r;
}

int view_complete(const View *view, const RequestTime *time, const NodeSet *known, Arena *arena,
    NodeTable *table, NodeSet *ret) {
    FactsOptions options = {.zones = view->zones, .known = known};
    NodeFacts *facts = ARENA_NEW(arena, NodeFacts);
    int r = facts ? measure(view, time, known ? known->table : NULL, arena, table) : -ENOMEM;

    if (time)
        options.clock = (PlanDeadline){.is_over = time->is_over, .context = time->context};
    if (r == 0)
        r = facts_build(view->program, table, &options, arena, facts);
    if (r == 0)
        *ret = (NodeSet){.table = table, .facts = facts};
    return r;
}

int view_change(const View *view, const RequestTime *time, const PodChange *changes, size_t n,
    Arena *arena, NodeSet *node_set) {
    NodeTable *table = ARENA_NEW(arena, NodeTable);
    int r = table ? table_change(node_set->table, changes, n, arena, table) : -ENOMEM;

    return r < 0 ? r : view_complete(view, time, node_set, arena, table, node_set);
}

int view_adjust(const View *view, const RequestTime *time, const Pod *pod, const uint32_t *rows,
    size_t n, Arena *arena, NodeSet *node_set) {
    const NodeTable *table = node_set->table;
    bool reads_others = (view->program->groups & SCHEMA_BIT(SCHEMA_CLUSTER)) ||
                        node_set->facts->whole || n > JUDGED_ROWS_MAX || n == 0;
    Str home = find_home(table, pod);
    PodChange *changes;
    size_t n_changes = 0;

    if (node_set->facts->is_late || (table->n_nominated == 0 && str_is_empty(home)))
        return 0;
    changes = ARENA_RAW(arena, PodChange, 1 + table->n_nominated);
    if (!changes)
        return -ENOMEM;
    if (!str_is_empty(home))
        changes[n_changes++] = (PodChange){.row = table_find(table, home), .remove = pod->uid};
    for (size_t i = 0; i < table->n_nominated; i++) {
        const Pod *nominated = table->nominated[i];
        Str node = nominated->nominated_node_name;

        if (nominated->priority >= pod->priority && !str_eq(nominated->uid, pod->uid) &&
            is_judged(table, reads_others ? NULL : rows, reads_others ? 0 : n, node))
            changes[n_changes++] = (PodChange){.row = table_find(table, node), .add = nominated};
    }
    return n_changes > 0 ? view_change(view, time, changes, n_changes, arena, node_set) : 0;
}

JudgeInput view_judge_input(const View *view, const RequestTime *time, const NodeSet *node_set,
    const Pod *pod, const uint32_t *rows, size_t n, Arena *arena) {
    static const RequestTime no_deadline;

    if (!time)
        time = &no_deadline;
    return (JudgeInput){
        .program = view->program,
        .table = node_set->table,
        .facts = node_set->facts,
        .pod = pod,
        .related = view->snapshot ? snapshot_related(view->snapshot) : NULL,
        .is_exempt = exemptions_cover(view->exemptions, pod),
        .rows = rows,
        .n = n,
        .now_nsec = time->now_nsec,
        .zones = view->zones,
        .is_over = time->is_over,
        .context = time->context,
        .arena = arena,
        .scratch = time->scratch,
    };
}
