/* Describes a change for users ("500m more cpu free on the node"), and as a term of the
 * expression. */

#include <math.h>

#include "base/nsec.h"
#include "cel/time.h"
#include "judge/remedy-internal.h"

#define TEXT_MAX ((size_t)16 * 1024)
#define VALUES_SHOWN 8u /* shown elements of a list */

/* A change to describe. */
typedef struct Description {
    const RemedyAttempt *attempt;
    const RemedyChange *change;
    const RemedyFact *fact;
    CelValue before;
} Description;

static Str take(const RemedyAttempt *attempt, Buf *text) {
    Str copy = buf_error(text) == 0 ? arena_copy(attempt->arena, buf_str(text)) : STR_NULL;

    buf_done(text);
    return copy;
}

static Str describe_subject(const RemedyAttempt *attempt, const RemedyFact *fact) {
    Arena *arena = attempt->arena;
    const char *path = fact_infos[fact->kind].path;
    const char *filter = fact->is_matching ? ".filter(…)" : "";

    if (fact_infos[fact->kind].is_map)
        return arena_printf(arena, "%s['%.*s']", path, STR_FMT(fact->key));
    if (fact->kind == FACT_METRIC)
        return arena_printf(arena, "%s.%.*s", path, STR_FMT(fact->key));
    if (fact->kind == FACT_PODS && !str_is_empty(fact->key))
        return arena_printf(arena, "node.domain('%.*s').pods%s.size()", STR_FMT(fact->key), filter);
    if (fact->kind == FACT_PODS)
        return arena_printf(arena, "node.pods%s.size()", filter);
    return str_from_c(path);
}

static void print_values(CelValue list, Buf *out) {
    for (uint32_t i = 0; i < list.list->n && i < VALUES_SHOWN; i++) {
        buf_append(out, i ? STR(", ") : STR_NULL);
        cel_value_print(list.list->items[i], NULL, 0, out);
    }
    if (list.list->n > VALUES_SHOWN)
        buf_append(out, STR(", …"));
}

/* "label pool=a on the node", "no label pool on the pod". */
static void print_condition(
    const RemedyFact *fact, const RemedyChange *change, const char *noun, Buf *out) {
    Str relation = str_from_c(change->relation);

    buf_printf(out, "%s%s %.*s", str_is(relation, "absent") ? "no " : "", noun, STR_FMT(fact->key));
    if (str_is(relation, "==")) {
        buf_printf(out, "=%.*s", STR_FMT(cel_str(change->bound)));
    } else if (str_is(relation, "!=")) {
        buf_append(out, STR(" other than "));
        cel_value_print(change->bound, NULL, 0, out);
    } else if (str_is(relation, "in") || str_is(relation, "not in")) {
        buf_append(out, str_is(relation, "in") ? STR(" one of ") : STR(" none of "));
        print_values(change->bound, out);
    } else if (!str_is(relation, "present") && !str_is(relation, "absent")) {
        buf_printf(out, " of %.*s or %s", STR_FMT(cel_str(change->bound)),
            relation.ptr[0] == '<' ? "less" : "more");
    }
    buf_append(out, fact->kind >= FACT_POD_LABEL ? STR(" on the pod") : STR(" on the node"));
}

/* The value in the units of NodeTable. */
static int64_t units_of(const RemedyFact *fact, CelValue v) {
    AmountKey key = amount_key(fact->key);
    double units = v.kind == CEL_DOUBLE ? round(v.d * key.scale) : 0;

    return fabs(units) < 9e18 ? (int64_t)units : 0;
}

/* Prints "about" if the text is rounded. */
static void print_amount(Str resource, int64_t amount, Buf *out) {
    Buf text = BUF_INIT(64);
    int64_t back = 0;

    resource_amount_print(resource, amount, &text);
    if (!resource_amount_parse(resource, buf_str(&text), &back) || back != amount)
        buf_append(out, STR("about "));
    buf_append(out, buf_str(&text));
    buf_done(&text);
}

/* Adds what the node has in total if evictions cannot free enough. */
static void print_whole(const Description *of, Buf *out) {
    const Node *node = table_node(of->attempt->remedies->judge->input.table, of->attempt->row);
    Str resource = fact_resource(of->fact->key);
    int64_t whole = node ? resources_get(&node->allocatable, resource) : 0;

    if (of->fact->kind != FACT_FREE || units_of(of->fact, of->change->value) <= whole)
        return;
    if (whole == 0) {
        buf_append(out, STR(" (the node has none)"));
        return;
    }
    buf_append(out, STR(" (the node has "));
    resource_amount_print(resource, whole, out);
    buf_append(out, STR(" in total)"));
}

static void print_change_of_amount(const Description *of, Buf *out) {
    FactKind kind = of->fact->kind;
    Str resource = fact_resource(of->fact->key);
    int64_t now = units_of(of->fact, of->change->value), difference;
    bool is_more;

    if (__builtin_sub_overflow(now, units_of(of->fact, of->before), &difference))
        difference = 0;
    is_more = kind == FACT_REQUESTED ? difference < 0 : difference > 0;
    print_amount(resource, difference < 0 ? -difference : difference, out);
    buf_printf(out, " %s %.*s %s", is_more ? "more" : "less", STR_FMT(resource),
        kind == FACT_POD_REQUEST   ? "requested by the pod"
        : kind == FACT_ALLOCATABLE ? "allocatable on the node"
                                   : "free on the node");
    print_whole(of, out);
}

static void print_taint(const Taint *taint, Buf *out) {
    buf_append(out, taint->key);
    if (!str_is_empty(taint->value))
        buf_printf(out, "=%.*s", STR_FMT(taint->value));
    buf_printf(out, ":%.*s", STR_FMT(taint_effect_word(taint->effect)));
}

/* Prints the taints of the node that the change removes. */
static void print_removed(const Description *of, Buf *out) {
    const Node *node = table_node(of->attempt->remedies->judge->input.table, of->attempt->row);
    const CelList *left = of->change->value.list;
    CelRun run = CEL_RUN(of->attempt->arena);
    uint32_t at = 0;
    bool is_first = true;

    for (uint32_t i = 0; node && i < node->taints.n && i < of->before.list->n; i++) {
        CelValue taint = cel_list_at(of->before.list, i, &run);

        if (at < left->n && cel_equal(left->items[at], taint, &run)) {
            at++;
            continue;
        }
        buf_append(out, is_first ? STR("no taint ") : STR(", "));
        print_taint(&node->taints.items[i], out);
        is_first = false;
    }
    buf_append(out, STR(" on the node"));
}

static void print_pods(const Description *of, Buf *out) {
    bool are_ints = of->before.kind == CEL_INT && of->change->value.kind == CEL_INT;
    int64_t difference = are_ints ? of->change->value.i - of->before.i : 0;
    int64_t n = difference < 0 ? -difference : difference;

    buf_printf(out, "%lld %s%spod%s ", (long long)n, difference < 0 ? "fewer " : "more ",
        of->fact->is_matching ? "matching " : "", PLURAL(n));
    if (str_is_empty(of->fact->key))
        buf_append(out, STR("on the node"));
    else
        buf_printf(out, "in the node's %.*s", STR_FMT(of->fact->key));
}

static void print_room(const Description *of, Buf *out) {
    double more = of->change->value.d - of->before.d;

    buf_printf(out, "room for %.0f more such pod%s in the pool", more, PLURAL(more));
}

static void print_wait(const Description *of, Buf *out) {
    int64_t ns;

    if (__builtin_mul_overflow(of->change->value.i - of->before.i, NSEC_PER_SEC, &ns))
        return;
    cel_duration_print(ns, out);
    buf_append(out, STR(" more time"));
}

static void print_fact(const Description *of, Buf *out) {
    switch (of->fact->kind) {
    case FACT_LABEL:
    case FACT_POD_LABEL:
        print_condition(of->fact, of->change, "label", out);
        break;
    case FACT_ANNOTATION:
    case FACT_POD_ANNOTATION:
        print_condition(of->fact, of->change, "annotation", out);
        break;
    case FACT_READY:
    case FACT_CORDONED:
        buf_printf(out, "the node %sto be %s", cel_is_true(of->change->value) ? "" : "not ",
            of->fact->kind == FACT_READY ? "Ready" : "cordoned");
        break;
    case FACT_TAINTS:
        print_removed(of, out);
        break;
    case FACT_PODS:
        print_pods(of, out);
        break;
    case FACT_ROOM:
        print_room(of, out);
        break;
    case FACT_NOW:
        print_wait(of, out);
        break;
    case FACT_METRIC:
    case FACT_POD_PRIORITY:
        buf_append(out, describe_subject(of->attempt, of->fact));
        buf_printf(out, " %s ", of->change->relation);
        cel_value_print(of->change->bound, NULL, 0, out);
        break;
    default:
        print_change_of_amount(of, out);
    }
}

static Remedy describe_toleration(const RemedyAttempt *attempt, const RemedyChange *change) {
    Buf out = BUF_INIT(TEXT_MAX);
    Str taint;

    print_taint(change->taint, &out);
    taint = take(attempt, &out);
    return (Remedy){
        .subject = STR("pod.spec.tolerations"),
        .value = cel_string(taint),
        .has = cel_absent(),
        .text = arena_printf(attempt->arena, "a toleration of %.*s on the pod", STR_FMT(taint)),
    };
}

Remedy remedy_describe(const RemedyAttempt *attempt, const RemedyChange *change) {
    Buf text = BUF_INIT(TEXT_MAX);
    Description of = {.attempt = attempt, .change = change};
    Remedy remedy;

    if (change->taint) {
        remedy = describe_toleration(attempt, change);
    } else {
        of.fact = &attempt->filter_facts->facts[change->fact];
        of.before = attempt_fact(attempt, change->fact, /* is_before= */ true);
        print_fact(&of, &text);
        remedy = (Remedy){
            .subject = describe_subject(attempt, of.fact),
            .value = change->bound,
            .has = of.before,
            .text = take(attempt, &text),
        };
    }
    remedy.relation = str_from_c(change->relation);
    return remedy;
}
