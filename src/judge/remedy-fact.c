/* Facts: state of nodes and pods that a filter reads and that could be changed, found in its graph
 * by the path of fields. Equal parts of the graph are one node, so replacing it changes all places
 * that read the fact. A fact on which other values depend (free and requested amounts, the map of
 * labels as a whole) is not changed, so that only possible states are tried. */

#include <errno.h>

#include "base/error.h"
#include "judge/remedy-internal.h"
#include "policy/kind.h"

size_t remedies_walk(Remedies *remedies, uint32_t root) {
    size_t n = 0;

    remedies->below[n++] = root;
    remedies->marks[root] = 1;
    for (size_t i = 0; i < n; i++) {
        const CelGraphNode *node = cel_graph_node(remedies->graph, remedies->below[i]);

        for (uint32_t k = 0; k < node->n_args; k++)
            if (!remedies->marks[node->args[k]]) {
                remedies->marks[node->args[k]] = 1;
                remedies->below[n++] = node->args[k];
            }
    }
    for (size_t i = 0; i < n; i++)
        remedies->marks[remedies->below[i]] = 0;
    return n;
}

/* --- recognising -------------------------------------------------------------------------- */

const FactInfo fact_infos[_FACT_KIND_MAX] = {
    [FACT_LABEL] = {"node.metadata.labels", 2, true},
    [FACT_ANNOTATION] = {"node.metadata.annotations", 2, true},
    [FACT_READY] = {"node.ready", 2, false},
    [FACT_CORDONED] = {"node.spec.unschedulable", 2, false},
    [FACT_FREE] = {"node.free", 1, true},
    [FACT_REQUESTED] = {"node.requested", 1, true},
    [FACT_ALLOCATABLE] = {"node.allocatable", 6, true},
    [FACT_TAINTS] = {"node.spec.taints", 4, false},
    [FACT_PODS] = {"node.pods.size()", 2, false},
    [FACT_METRIC] = {"metrics", 3, false},
    [FACT_ROOM] = {"room in the pool", 1, false},
    [FACT_NOW] = {"now", 5, false},
    [FACT_POD_LABEL] = {"pod.metadata.labels", 20, true},
    [FACT_POD_ANNOTATION] = {"pod.metadata.annotations", 20, true},
    [FACT_POD_REQUEST] = {"pod.requests", 20, true},
    [FACT_POD_PRIORITY] = {"pod.spec.priority", 20, false},
};

static const CelGraphNode *node_at(const Remedies *remedies, uint32_t number) {
    return cel_graph_node(remedies->graph, number);
}

static bool is_variable(const CelGraphNode *node, Str name) {
    return node->op == OP_VARIABLE && str_eq(cel_str(node->constant), name);
}

/* Whether the node computes a measured value, which is not a property of the node object. */
static bool is_measured(const CelGraphNode *node) {
    return cel_node_is_call(node, "@metrics") || cel_node_is_call(node, "@measured") ||
           cel_node_is_call(node, "@measured-at");
}

static bool is_field_op(uint16_t op) {
    return op == OP_FIELD || op == OP_TEST_FIELD || op == OP_OPT_FIELD;
}

/* Whether node @number reads the path of @kind, or of the map with it. Only the last field of the
 * path may be read as optional or tested. */
static bool is_at_path(const Remedies *remedies, uint32_t number, FactKind kind) {
    const CelGraphNode *node = node_at(remedies, number);
    Str path = str_from_c(fact_infos[kind].path);
    bool is_last = !fact_infos[kind].is_map;

    if (kind == FACT_METRIC) /* the expansion of `metrics` (schema/metrics.c) */
        return is_field_op(node->op) &&
               cel_node_is_call(node_at(remedies, node->args[0]), "@metrics");
    for (size_t dot = path.len; dot-- > 0;) {
        if (path.ptr[dot] != '.')
            continue;
        if ((is_last ? !is_field_op(node->op) : node->op != OP_FIELD) ||
            !str_eq(cel_str(node->constant), str_skip(path, dot + 1)))
            return false;
        node = node_at(remedies, node->args[0]);
        path = str_take(path, dot);
        is_last = false;
    }
    return is_variable(node, path);
}

static ReadMode mode_of(uint16_t op) {
    if (op == OP_TEST_FIELD || op == OP_TEST_SELECT || op == OP_IN_MAP)
        return READ_TEST;
    return op == OP_OPT_FIELD || op == OP_OPT_SELECT ? READ_OPTIONAL : READ_VALUE;
}

/* Whether the node reads a map by a constant key: returns the node of the map, and the key. */
static bool is_entry(
    const Remedies *remedies, const CelGraphNode *node, uint32_t *ret_map, Str *ret_key) {
    CelValue key = node->constant;

    if (node->op == OP_IN_MAP) {
        if (node_at(remedies, node->args[0])->op != OP_CONSTANT)
            return false;
        key = node_at(remedies, node->args[0])->constant;
        *ret_map = node->args[1];
    } else if (node->op == OP_SELECT || node->op == OP_TEST_SELECT || node->op == OP_OPT_SELECT) {
        *ret_map = node->args[0];
    } else {
        return false;
    }
    *ret_key = key.kind == CEL_STRING ? cel_str(key) : STR_NULL;
    return key.kind == CEL_STRING;
}

/* Whether the node is node.pods.size() or node.domain(…).pods.size(), maybe with a filter(). */
static bool is_count(const Remedies *remedies, const CelGraphNode *node, RemedyFact *ret) {
    const CelGraphNode *list, *owner;

    if (!cel_node_is_call(node, "size") || node->n_args != 1)
        return false;
    *ret = (RemedyFact){.kind = FACT_PODS, .object = node->args[0], .counted = node->args[0]};
    list = node_at(remedies, ret->object);
    if (list->op == OP_FILTER) {
        ret->is_matching = true;
        ret->object = list->args[0];
        list = node_at(remedies, ret->object);
    }
    if (list->op != OP_FIELD || !str_is(cel_str(list->constant), "pods"))
        return false;
    owner = node_at(remedies, list->args[0]);
    if (is_variable(owner, STR("node")))
        return true;
    if (!cel_node_is_call(owner, "domain") ||
        !is_variable(node_at(remedies, owner->args[0]), STR("node")) ||
        node_at(remedies, owner->args[1])->op != OP_CONSTANT)
        return false;
    ret->key = cel_str(node_at(remedies, owner->args[1])->constant);
    return true;
}

/* Whether the node is cluster.domains(…).map(…).sum(), the room in a pool. */
static bool is_room(const Remedies *remedies, const CelGraphNode *node, RemedyFact *ret) {
    const CelGraphNode *list;

    if (!cel_node_is_call(node, "sum") || node->n_args != 1)
        return false;
    list = node_at(remedies, node->args[0]);
    *ret = (RemedyFact){.kind = FACT_ROOM, .object = node->args[0]};
    return list->op == OP_MAP_LIST && cel_node_is_call(node_at(remedies, list->args[0]), "domains");
}

static bool recognise(const Remedies *remedies, const RemedyFilter *filter_facts, uint32_t number,
    RemedyFact *ret, ReadMode *ret_how) {
    const CelGraphNode *node = node_at(remedies, number);
    uint32_t at = number;
    Str key = STR_NULL;
    bool is_map;

    *ret_how = READ_VALUE;
    if (is_count(remedies, node, ret) || (filter_facts->is_of_pool && is_room(remedies, node, ret)))
        return true;
    is_map = is_entry(remedies, node, &at, &key);
    for (FactKind kind = 0; kind < _FACT_KIND_MAX; kind++) {
        if (fact_infos[kind].is_map != is_map || !is_at_path(remedies, at, kind))
            continue;
        *ret = (RemedyFact){.kind = kind, .object = at, .key = key};
        if (!is_map && node->n_args > 0) { /* the record, so that all its reads are one fact */
            ret->object = node->args[0];
            ret->key = cel_str(node->constant);
        }
        *ret_how = mode_of(node->op);
        return true;
    }
    return false;
}

/* --- collecting --------------------------------------------------------------------------- */

static uint32_t add_fact(RemedyFilter *filter_facts, const RemedyFact *fact) {
    for (size_t i = 0; i < filter_facts->n_facts; i++)
        if (filter_facts->facts[i].object == fact->object &&
            filter_facts->facts[i].kind == fact->kind && filter_facts->facts[i].kind != FACT_PODS &&
            str_eq(filter_facts->facts[i].key, fact->key))
            return (uint32_t)i;
    if (filter_facts->n_facts == FACTS_MAX)
        return UINT32_MAX;
    filter_facts->facts[filter_facts->n_facts] = *fact;
    return (uint32_t)filter_facts->n_facts++;
}

static void collect(const Remedies *remedies, uint32_t number, RemedyFilter *filter_facts) {
    ReadMode mode;
    RemedyFact fact;
    uint32_t at;

    /* a read of a loop variable differs in each iteration */
    if (node_at(remedies, number)->levels ||
        !recognise(remedies, filter_facts, number, &fact, &mode))
        return;
    at = add_fact(filter_facts, &fact);
    if (at == UINT32_MAX || filter_facts->n_reads == READS_MAX) {
        filter_facts->is_too_much = true;
        return;
    }
    filter_facts->reads[filter_facts->n_reads] = (RemedyRead){
        .node = number,
        .fact = at,
        .mode = mode,
        .slot = remedies->judge->input.program->n_slots + (uint32_t)filter_facts->n_reads,
    };
    filter_facts->n_reads++;
}

const RemedyRead *remedy_filter_read(const RemedyFilter *filter_facts, uint32_t node) {
    for (size_t i = 0; i < filter_facts->n_reads; i++)
        if (filter_facts->reads[i].node == node)
            return &filter_facts->reads[i];
    return NULL;
}

/* --- dependencies ------------------------------------------------------------------------- */

bool fact_is_amount(FactKind kind) {
    return kind == FACT_FREE || kind == FACT_REQUESTED || kind == FACT_ALLOCATABLE ||
           kind == FACT_POD_REQUEST;
}

Str fact_resource(Str key) {
    return str_is(key, AMOUNT_MILLI_CPU) ? STR("cpu") : key;
}

/* Whether changing @a would change @b, too: free = allocatable - requested, pods that come and go
 * change requested, and cpu has two names. */
static bool hangs_together(const RemedyFact *a, const RemedyFact *b) {
    if (a->kind == FACT_ROOM) /* all sums of the filter are about the same nodes */
        return b->kind == FACT_ROOM;
    if (a->kind == FACT_PODS)
        return b->kind == FACT_PODS || b->kind == FACT_FREE || b->kind == FACT_REQUESTED;
    if (!fact_is_amount(a->kind) || !fact_is_amount(b->kind) ||
        (a->kind == FACT_POD_REQUEST) != (b->kind == FACT_POD_REQUEST) ||
        !str_eq(fact_resource(a->key), fact_resource(b->key)))
        return a->kind != FACT_PODS && b->kind == FACT_PODS &&
               (a->kind == FACT_FREE || a->kind == FACT_REQUESTED);
    if (!str_eq(a->key, b->key))
        return true;
    if (a->kind == FACT_ALLOCATABLE)
        return b->kind == FACT_FREE;
    return b->kind != FACT_ALLOCATABLE;
}

static bool is_whole(const RemedyFact *fact, uint32_t number) {
    if (fact->kind == FACT_PODS)
        return number == fact->object || number == fact->counted;
    return fact->kind != FACT_NOW && number == fact->object;
}

/* Fixes the fact if node @number reads the object that the fact is a part of. */
static void find_other_user(
    const Remedies *remedies, const RemedyFilter *filter_facts, uint32_t number, RemedyFact *fact) {
    const CelGraphNode *node = node_at(remedies, number);

    for (uint32_t k = 0; k < node->n_args; k++) {
        const CelGraphNode *arg = node_at(remedies, node->args[k]);
        bool is_record = arg->type->kind == CEL_T_RECORD && !arg->levels;
        bool is_pod = fact->kind >= FACT_POD_LABEL;

        if (is_whole(fact, node->args[k]) && !remedy_filter_read(filter_facts, number) &&
            !is_field_op(node->op) && !(fact->kind == FACT_PODS && number == fact->counted))
            fact->is_fixed = true;
        if (is_record && fact->kind != FACT_PODS && fact->kind != FACT_NOW &&
            fact->kind != FACT_METRIC && !is_field_op(node->op) && !is_measured(node) &&
            (arg->groups & SCHEMA_BIT(is_pod ? SCHEMA_POD : SCHEMA_NODE)))
            fact->is_fixed = true;
    }
    if (fact->kind == FACT_READY && node->op == OP_FIELD &&
        str_is(cel_str(node->constant), "conditions"))
        fact->is_fixed = true;
}

/* @n_below: the number of nodes in remedies->below. */
static void fix_facts(const Remedies *remedies, size_t n_below, RemedyFilter *filter_facts) {
    /* Totals of the cluster include the facts of each node. */
    bool reads_cluster = node_at(remedies, filter_facts->root)->groups & SCHEMA_BIT(SCHEMA_CLUSTER);

    for (size_t i = 0; i < filter_facts->n_facts; i++) {
        RemedyFact *fact = &filter_facts->facts[i];

        fact->is_fixed = reads_cluster && fact->kind < FACT_METRIC;
        for (size_t j = 0; j < filter_facts->n_facts; j++)
            fact->is_fixed |= j != i && hangs_together(fact, &filter_facts->facts[j]);
        for (size_t j = 0; j < n_below; j++)
            find_other_user(remedies, filter_facts, remedies->below[j], fact);
    }
}

/* --- code --------------------------------------------------------------------------------- */

static int make_code(Remedies *remedies, const RemedyFilter *filter_facts, uint32_t node,
    uint32_t local, const CelCode **ret) {
    CelEmitOptions options = {
        .known_slots = remedies->cuts,
        .n_known_slots = cel_graph_size(remedies->graph),
    };
    CelCode *code = NULL;
    int r;

    for (size_t i = 0; filter_facts && i < filter_facts->n_reads; i++)
        remedies->cuts[filter_facts->reads[i].node] = filter_facts->reads[i].slot;
    if (local != CEL_NO_NODE)
        remedies->cuts[local] = remedies->judge->input.program->n_slots + READS_MAX;
    r = cel_emit(remedies->graph, node, &options, remedies->arena, &code);
    for (size_t i = 0; filter_facts && i < filter_facts->n_reads; i++)
        remedies->cuts[filter_facts->reads[i].node] = CEL_NO_SLOT;
    if (local != CEL_NO_NODE)
        remedies->cuts[local] = CEL_NO_SLOT;
    *ret = code;
    return error_fold(r);
}

int remedy_filter_new(Remedies *remedies, const Filter *filter, RemedyFilter **ret) {
    RemedyFilter *filter_facts = ARENA_NEW(remedies->arena, RemedyFilter);
    size_t n_below;
    int r = 0;

    if (!filter_facts)
        return -ENOMEM;
    filter_facts->root = filter->test.node;
    filter_facts->is_of_pool = filter->kind == &kind_pool_headroom;
    n_below = remedies_walk(remedies, filter_facts->root);
    for (size_t i = 0; i < n_below; i++)
        collect(remedies, remedies->below[i], filter_facts);
    fix_facts(remedies, n_below, filter_facts);
    for (size_t i = 0; r == 0 && !filter_facts->is_too_much && i < filter_facts->n_reads; i++)
        r = make_code(
            remedies, NULL, filter_facts->reads[i].node, CEL_NO_NODE, &filter_facts->reads[i].code);
    *ret = filter_facts;
    return r;
}

CelValue attempt_run(RemedyAttempt *attempt, const CelCode *code) {
    CelRun *run = judge_run_new(attempt->remedies->judge, attempt->arena);

    if (run)
        return cel_run(code, run, attempt->values);
    attempt->error = -ENOMEM;
    return cel_absent();
}

static CelValue run_node(RemedyAttempt *attempt, uint32_t node, uint32_t local) {
    RemedyFilter *filter_facts = attempt->filter_facts;
    const CelCode *code = NULL;
    int r;

    for (size_t i = 0; i < filter_facts->n_codes && !code; i++)
        if (filter_facts->codes[i].node == node)
            code = filter_facts->codes[i].code;
    if (!code) {
        r = make_code(attempt->remedies, filter_facts, node, local, &code);
        if (r < 0) {
            attempt->error = r;
            return cel_absent();
        }
        if (filter_facts->n_codes < CODES_MAX)
            filter_facts->codes[filter_facts->n_codes++] = (KnownCode){node, code};
    }
    return attempt_run(attempt, code);
}

CelValue attempt_value(RemedyAttempt *attempt, uint32_t node) {
    const CelGraphNode *what = node_at(attempt->remedies, node);
    const RemedyRead *read = remedy_filter_read(attempt->filter_facts, node);

    if (read)
        return attempt->values[read->slot];
    return what->op == OP_CONSTANT ? what->constant : run_node(attempt, node, CEL_NO_NODE);
}

CelValue attempt_body(RemedyAttempt *attempt, uint32_t body, uint32_t local, CelValue element) {
    attempt->values[attempt->remedies->judge->input.program->n_slots + READS_MAX] = element;
    return run_node(attempt, body, local);
}

/* --- values of facts ---------------------------------------------------------------------- */

CelValue attempt_fact(const RemedyAttempt *attempt, uint32_t fact, bool is_before) {
    const RemedyFilter *filter_facts = attempt->filter_facts;

    for (size_t i = 0; i < filter_facts->n_reads; i++) {
        const RemedyRead *read = &filter_facts->reads[i];
        CelValue v = is_before ? attempt->before[i] : attempt->values[read->slot];

        if (read->fact != fact || read->mode == READ_TEST || v.kind == CEL_ERROR)
            continue;
        if (read->mode == READ_OPTIONAL && v.kind == CEL_OPTIONAL)
            return v.inner ? *v.inner : cel_absent();
        return v;
    }
    return cel_absent();
}

static CelValue as_read(RemedyAttempt *attempt, ReadMode mode, CelValue value) {
    CelRun *run;

    if (mode == READ_TEST)
        return cel_bool(value.kind != CEL_ABSENT);
    if (mode != READ_OPTIONAL)
        return value;
    if (value.kind == CEL_ABSENT)
        return cel_none();
    run = judge_run_new(attempt->remedies->judge, attempt->arena);
    return run ? cel_make_optional(run, value) : cel_none();
}

void attempt_set(RemedyAttempt *attempt, uint32_t fact, CelValue value) {
    const RemedyFilter *filter_facts = attempt->filter_facts;
    /* has() of a resource stays the same when its amount changes. */
    bool skips_tests = fact_is_amount(filter_facts->facts[fact].kind);

    for (size_t i = 0; i < filter_facts->n_reads; i++) {
        const RemedyRead *read = &filter_facts->reads[i];

        if (read->fact == fact && !(skips_tests && read->mode == READ_TEST))
            attempt->values[read->slot] = as_read(attempt, read->mode, value);
    }
}
