/* /api/v1/decisions: kept decisions as a list, or one of them with its nodes. */

#include "api/api-pages.h"

#include <inttypes.h>
#include <stdio.h>

#include "api/page-field.h"
#include "api/query.h"

/* A page ends after this many bytes, even below its limit. */
#define PAGE_SOFT_MAX ((size_t)4 * 1024 * 1024)

static unsigned page_not_kept(Buf *out) {
    return page_write_error(out, 404, "decisions are not kept (--decisions 0)");
}

/* --- selecting decisions, or nodes of one ----------------------------------------------------- */

/* Values of "outcome" other than those of a node. */
enum {
    DECISION_FILTER_ANY = _OUTCOME_MAX,
    DECISION_FILTER_ERROR,
    DECISION_FILTER_NONE_PASSED,
};

typedef struct DecisionFilter {
    Str namespace, name, uid, node; /* ptr NULL: any */
    Str policy, rule;
    int verb;    /* -1: any */
    int outcome; /* an OutcomeKind, or one of the above */
} DecisionFilter;

static bool read_outcome(Str value, int *ret, char *error) {
    *ret = DECISION_FILTER_ANY;
    if (!value.ptr)
        return true;
    for (int i = 0; i < _OUTCOME_MAX; i++)
        if (str_is(value, outcome_names[i]))
            *ret = i;
    if (str_is(value, "error"))
        *ret = DECISION_FILTER_ERROR;
    if (str_is(value, "none-passed"))
        *ret = DECISION_FILTER_NONE_PASSED;
    if (*ret != DECISION_FILTER_ANY)
        return true;
    return query_fail(error,
        "\"outcome\" must be passed, rejected, unknown, narrowed, late, scored, not-asked, "
        "none-passed or error");
}

static bool read_verb(Str value, int *ret, char *error) {
    Verb verb = VERB_FILTER;
    bool is_verb = value.ptr && verb_parse(value, &verb);

    *ret = is_verb ? (int)verb : -1;
    if (is_verb || !value.ptr)
        return true;
    return query_fail(error, "\"verb\" must be filter, prioritize, preempt or bind");
}

/* Reads "FIRST/SECOND", or "SECOND" alone. */
static bool read_pair(
    Str value, Str *first, Str *second, const char *name, const char *filter, char *error) {
    size_t slash = str_find(value, '/');

    *first = *second = STR_NULL;
    if (!value.ptr)
        return true;
    if (slash != SIZE_MAX)
        *first = str_take(value, slash);
    *second = slash == SIZE_MAX ? value : str_skip(value, slash + 1);
    if (!str_is_empty(*second) && !(first->ptr && str_is_empty(*first)) &&
        str_find(*second, '/') == SIZE_MAX)
        return true;
    return query_fail(error, "\"%s\" must be %s", name, filter);
}

static bool read_rule(const Query *query, DecisionFilter *ret, char *error) {
    return read_pair(query_get(query, STR("rule")), &ret->policy, &ret->rule, "rule",
        "POLICY/RULE, or RULE", error);
}

static bool read_filter(const Query *query, DecisionFilter *ret, char *error) {
    *ret = (DecisionFilter){
        .uid = query_get(query, STR("uid")), .node = query_get(query, STR("node"))};
    if (!read_pair(query_get(query, STR("pod")), &ret->namespace, &ret->name, "pod",
            "NAMESPACE/NAME, or NAME", error) ||
        !read_rule(query, ret, error) ||
        !read_outcome(query_get(query, STR("outcome")), &ret->outcome, error) ||
        !read_verb(query_get(query, STR("verb")), &ret->verb, error))
        return false;
    if (ret->outcome == OUTCOME_NOT_ASKED && !ret->node.ptr)
        return query_fail(error, "\"outcome=not-asked\" needs \"node\"");
    return true;
}

/* Like read_filter(), for the nodes of one decision. */
static bool read_node_filter(const Query *query, DecisionFilter *ret, char *error) {
    *ret = (DecisionFilter){.verb = -1, .node = query_get(query, STR("node"))};
    if (!read_rule(query, ret, error) ||
        !read_outcome(query_get(query, STR("outcome")), &ret->outcome, error))
        return false;
    if (ret->outcome <= DECISION_FILTER_ANY && ret->outcome != OUTCOME_NOT_ASKED)
        return true;
    return query_fail(
        error, "\"outcome\" of nodes must be passed, rejected, unknown, narrowed, late or scored");
}

static bool fits(Str filter, Str has) {
    return !filter.ptr || str_eq(filter, has);
}

static bool rule_fits(const DecisionFilter *filter, const RuleName *rule) {
    return fits(filter->policy, rule->policy) && fits(filter->rule, rule->name);
}

/* Whether the summary shows that some node has this outcome, or that the decision has it. */
static bool has_outcome(const PastDecision *past, int outcome) {
    const DecisionSummary *summary = &past->summary;
    bool is_good = str_is_empty(past->error);
    const bool has[] = {
        [OUTCOME_NOT_ASKED] = false,
        [OUTCOME_PASSED] = is_good && past->verb != VERB_PRIORITIZE && summary->n_out > 0,
        [OUTCOME_REJECTED] = summary->n_rejected > 0,
        [OUTCOME_UNKNOWN] = summary->n_unknown > 0,
        [OUTCOME_NARROWED] = summary->n_narrowed > 0,
        [OUTCOME_LATE] = summary->n_late > 0,
        [OUTCOME_SCORED] = is_good && past->verb == VERB_PRIORITIZE,
        [DECISION_FILTER_ANY] = true,
        [DECISION_FILTER_ERROR] = !is_good,
        [DECISION_FILTER_NONE_PASSED] =
            is_good && past->verb == VERB_FILTER && summary->n_in > 0 && summary->n_out == 0,
    };

    return has[outcome];
}

static bool has_rule(const PastDecision *past, const DecisionFilter *filter) {
    bool found = !filter->rule.ptr;

    for (size_t i = 0; !found && i < past->n_rules; i++)
        found = rule_fits(filter, past_rule(past, i));
    return found;
}

/* Whether the summary may match. If the filter is by outcome of a node, node_fits() decides. */
static bool may_fit(const DecisionFilter *filter, const PastDecision *past) {
    bool by_node = filter->node.ptr && filter->outcome < _OUTCOME_MAX;

    return (filter->verb < 0 || (int)past->verb == filter->verb) &&
           fits(filter->namespace, past->pod_namespace) && fits(filter->name, past->pod_name) &&
           fits(filter->uid, past->pod_uid) && has_rule(past, filter) &&
           (by_node || has_outcome(past, filter->outcome));
}

static bool outcome_fits(const DecisionFilter *filter, const PastDecision *past, Outcome outcome) {
    const RuleName *rule = past_rule_of(past, outcome);

    if (filter->outcome < _OUTCOME_MAX ? (int)outcome.kind != filter->outcome
                                       : outcome.kind == OUTCOME_NOT_ASKED)
        return false;
    return !filter->rule.ptr || (rule && rule_fits(filter, rule));
}

/* --- output ----------------------------------------------------------------------------------- */

static void write_rule_names(JsonWriter *writer, const RuleName *rule) {
    json_write(writer, "policy: %.*s, rule: %.*s, reason: %.*s, unresolvable: %i",
        STR_FMT(rule->policy), STR_FMT(rule->name), STR_FMT(rule->reason), rule->is_unresolvable);
}

static void write_counts(JsonWriter *writer, const PastDecision *past) {
    const DecisionSummary *summary = &past->summary;

    json_write(writer, "counts: {known: %zu, asked: %zu, %s: %zu", past->n_known, summary->n_in,
        past->verb == VERB_PRIORITIZE ? "scored" : "passed", summary->n_out);
    if (past->verb == VERB_FILTER)
        json_write(writer, "rejected: %zu, unknown: %zu, narrowed: %zu, late: %zu",
            summary->n_rejected, summary->n_unknown, summary->n_narrowed, summary->n_late);
    if (past->verb == VERB_FILTER || past->verb == VERB_PRIORITIZE)
        json_member_int(writer, "unjudged", summary->n_unjudged);
    json_write_end_object(writer);
}

static void write_rules(JsonWriter *writer, const PastDecision *past) {
    json_member_array(writer, "rules");
    for (size_t i = 0; i < past->n_rules; i++) {
        const RuleCount *count = &past->rules[i];

        json_write_object(writer);
        write_rule_names(writer, past_rule(past, i));
        json_write(writer, "rejected: %u, observed: %u, failed: %u, missing: %u}", count->rejected,
            count->observed, count->failed, count->missing);
    }
    json_write_end_array(writer);
}

/* Writes why nodes can never take the pod: the rule that rejects them, or the missing resource. */
static void write_never(JsonWriter *writer, const PastDecision *past, const MainReason *main) {
    if (main->n_never == 0) {
        json_write(writer, "never: null");
        return;
    }
    json_member_object(writer, "never");
    if (str_is_empty(main->never_resource))
        write_rule_names(writer, &past->rule_names->rules[main->never_filter]);
    else
        json_write_member(writer, STR("resource"), main->never_resource);
    json_write(writer, "nodes: %u}", main->n_never);
}

#define REASON_MAX ((size_t)64 * 1024)

static void write_main_reason(JsonWriter *writer, const PastDecision *past) {
    _cleanup_(buf_done) Buf text = BUF_INIT(REASON_MAX);
    const MainReason *main = past_main(past);

    if (!main)
        return;
    past_print_reason(past, &text);
    json_write(writer, "mainReason: {text: %.*s", STR_FMT(buf_str(&text)));
    write_rule_names(writer, past_main_rule(past));
    json_member_int(writer, "nodes", main->n_nodes);
    write_never(writer, past, main);
    json_write_end_object(writer);
}

/* Starts the object of a decision. */
static void write_summary(JsonWriter *writer, const FoundDecision *found) {
    const PastDecision *past = found->past;

    json_write(writer,
        "{id: %zu, time: %.6td, verb: %s, pod: {namespace: %.*s, name: %.*s, uid: %.*s", past->id,
        past->at_nsec, verb_name(past->verb), STR_FMT(past->pod_namespace), STR_FMT(past->pod_name),
        STR_FMT(past->pod_uid));
    field_digest(writer, "digest", past->pod_digest);
    json_write(writer, "}");
    field_digest(writer, "policyDigest", past->rule_names->digest);
    json_member_int(writer, "generation", past->generation);
    if (past->duration_nsec >= 0)
        json_write(writer, "durationSeconds: %g", page_seconds(past->duration_nsec, true));
    write_counts(writer, past);
    write_rules(writer, past);
    write_main_reason(writer, past);
    json_write(writer, "target?: %.*s, nominated?: %.*s, exempt?: %i, error: %.*s, hasNodes: %i",
        STR_FMT(past->node), STR_FMT(past->nominated), past->is_exempt, STR_FMT(past->error),
        found->outcomes != NULL);
}

static void write_node(JsonWriter *writer, const PastDecision *past, Str name, Outcome outcome) {
    const RuleName *rule = past_rule_of(past, outcome);

    json_write(writer, "{node: %.*s, outcome: %s", STR_FMT(name), outcome_names[outcome.kind]);
    if (rule)
        write_rule_names(writer, rule);
    if (outcome.has_score)
        json_member_int(writer, "score", outcome.score);
    json_write(writer, "rank?: %u}", outcome.rank);
}

/* Writes the start of the next page; null: none. */
static void write_next(JsonWriter *writer, uint64_t next) {
    if (next > 0)
        json_member_int(writer, "next", (int64_t)next);
    else
        json_write(writer, "next: null");
}

/* --- the list ------------------------------------------------------------------------ */

typedef struct Listing {
    DecisionsWalk walk;
    DecisionFilter filter;
    JsonWriter *writer;
    size_t n, limit;
    size_t n_untold; /* may match, but their outcomes are no longer kept */
} Listing;

/* Whether the decision matches the filter's node and outcome; *ret: that node's outcome. */
static bool node_fits(Listing *listing, const FoundDecision *found, Outcome *ret) {
    const DecisionFilter *filter = &listing->filter;
    const PastDecision *past = found->past;

    if (past->verb == VERB_BIND) /* its summary names the node */
        return !filter->rule.ptr && str_eq(past->node, filter->node) &&
               (filter->outcome >= _OUTCOME_MAX || has_outcome(past, filter->outcome));
    if (!found->outcomes) {
        listing->n_untold += str_is_empty(past->error) && past->verb != VERB_PREEMPT;
        return false;
    }
    *ret = decisions_walk_outcome(&listing->walk, found->outcomes, filter->node);
    return outcome_fits(filter, past, *ret);
}

static void list_one(Listing *listing, const FoundDecision *found) {
    const DecisionFilter *filter = &listing->filter;
    Outcome outcome = {.kind = OUTCOME_NOT_ASKED};

    if (!may_fit(filter, found->past) || (filter->node.ptr && !node_fits(listing, found, &outcome)))
        return;
    write_summary(listing->writer, found);
    if (filter->node.ptr && found->past->verb != VERB_BIND) {
        json_member_array(listing->writer, "nodes");
        write_node(listing->writer, found->past, filter->node, outcome);
        json_write_end_array(listing->writer);
    }
    json_write_end_object(listing->writer);
    listing->n++;
}

/* Returns the id of the last decision on the page; 0: there are no more. */
static uint64_t list_all(Listing *listing) {
    FoundDecision found;

    while (decisions_next(&listing->walk, &found)) {
        list_one(listing, &found);
        found_done(&found);
        if (listing->n == listing->limit || listing->writer->out->len > PAGE_SOFT_MAX)
            return listing->walk.below;
    }
    return 0;
}

/* Writes the nomination of the selected pod, if berth has nominated a node for it. */
static void write_nomination(
    JsonWriter *writer, NominationLog *log, const DecisionFilter *filter, Arena *arena) {
    NominationRecord record;

    if (!filter->name.ptr ||
        !nomination_log_find(log, filter->namespace, filter->name, filter->uid, arena, &record))
        return;
    json_write(writer,
        "nomination: {uid: %.*s, node: %.*s, time: %.6td, outcome: %s, text: %s, "
        "feasible: %zu, best: %zu}",
        STR_FMT(record.uid), STR_FMT(record.node), record.at_nsec,
        nomination_outcomes[record.outcome].name, nomination_outcomes[record.outcome].text,
        record.n_feasible, record.n_best);
}

unsigned decisions_list_page(
    Decisions *decisions, NominationLog *nominated, Str query, Arena *arena, Buf *out) {
    static const Str names[] = {STR("pod"), STR("uid"), STR("node"), STR("rule"), STR("outcome"),
        STR("verb"), STR("limit"), STR("after")};
    char error[QUERY_ERROR_MAX];
    JsonWriter writer = JSON_WRITER(out);
    Listing listing = {.walk = {.decisions = decisions}, .writer = &writer};
    int64_t limit, after;
    uint64_t last;
    Query asked;

    if (!decisions)
        return page_not_kept(out);
    if (!query_parse(query, names, ELEMENTS_OF(names), arena, &asked, error) ||
        !read_filter(&asked, &listing.filter, error) ||
        !query_number(
            &asked, STR("limit"), 1, DECISIONS_LIMIT_MAX, DECISIONS_LIMIT_DEFAULT, &limit, error) ||
        !query_number(&asked, STR("after"), 1, INT64_MAX, 0, &after, error))
        return page_write_error(out, 400, error);
    listing.limit = (size_t)limit;
    listing.walk.below = (uint64_t)after;
    json_write(&writer, "{decisions: [");
    last = list_all(&listing);
    decisions_walk_done(&listing.walk);
    json_write_end_array(&writer);
    write_next(&writer, last != 1 ? last : 0); /* none is older than the first */
    json_member_int(&writer, "untold", listing.n_untold);
    write_nomination(&writer, nominated, &listing.filter, arena);
    json_write(&writer, "}\n");
    return 200;
}

/* --- one decision -------------------------------------------------------------------- */

typedef struct NodePage {
    DecisionFilter filter;
    int64_t limit, after;
} NodePage;

static bool read_node_page(Str query, Arena *arena, NodePage *ret, char *error) {
    static const Str names[] = {
        STR("node"), STR("rule"), STR("outcome"), STR("limit"), STR("after")};
    Query asked;

    return query_parse(query, names, ELEMENTS_OF(names), arena, &asked, error) &&
           read_node_filter(&asked, &ret->filter, error) &&
           query_number(&asked, STR("limit"), 1, DECISION_NODES_MAX, DECISION_NODES_DEFAULT,
               &ret->limit, error) &&
           query_number(&asked, STR("after"), 1, INT64_MAX, 0, &ret->after, error);
}

/* Writes nodes from @page->after on. Returns the start of the next page, or 0. */
static size_t write_nodes(JsonWriter *writer, const FoundDecision *found, const Str *names,
    const uint32_t *ranks, const NodePage *page) {
    size_t size = outcomes_size(found->outcomes);
    int64_t n = 0;

    for (size_t i = (size_t)page->after; i < size; i++) {
        uint32_t number;
        Outcome outcome = outcomes_at(found->outcomes, i, &number);

        if (!outcome_fits(&page->filter, found->past, outcome))
            continue;
        if (n == page->limit || (n > 0 && writer->out->len > PAGE_SOFT_MAX))
            return i; /* a page has at least one node */
        outcome.rank = ranks ? ranks[i] : 0;
        write_node(writer, found->past, names[number - 1], outcome);
        n++;
    }
    return 0;
}

/* Writes the selected node, even if it was no candidate. */
static void write_one_node(
    JsonWriter *writer, Decisions *decisions, const FoundDecision *found, const NodePage *page) {
    Outcome outcome = outcomes_find(
        found->outcomes, decisions_number(decisions, found->outcomes, page->filter.node));

    if ((page->filter.outcome == DECISION_FILTER_ANY && !page->filter.rule.ptr) ||
        outcome_fits(&page->filter, found->past, outcome))
        write_node(writer, found->past, page->filter.node, outcome);
}

static unsigned write_found(Decisions *decisions, const FoundDecision *found, const NodePage *page,
    Arena *arena, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);
    const uint32_t *ranks = NULL;
    const Str *names = NULL;
    size_t next = 0;

    if (found->outcomes && !page->filter.node.ptr) {
        names = decisions_names(decisions, found->outcomes, arena);
        if (!names || outcomes_ranks(found->outcomes, arena, &ranks) < 0)
            return page_write_no_memory(out, "the nodes of the decision", arena);
    }
    write_summary(&writer, found);
    json_member_array(&writer, "nodes");
    if (names)
        next = write_nodes(&writer, found, names, ranks, page);
    else if (found->outcomes)
        write_one_node(&writer, decisions, found, page);
    json_write_end_array(&writer);
    write_next(&writer, next);
    json_write(&writer, "}\n");
    return 200;
}

static unsigned page_missing(Decisions *decisions, int64_t id, Buf *out) {
    DecisionsFigures figures;
    char text[160];

    decisions_figures(decisions, &figures);
    (void)snprintf(text, sizeof(text),
        "decision %" PRId64 " is not kept: those from %" PRIu64 " to %" PRIu64 " are", id,
        figures.oldest, figures.newest);
    return page_write_error(out, 404, figures.n > 0 ? text : "no decisions yet");
}

unsigned decisions_one_page(Decisions *decisions, Str id, Str query, Arena *arena, Buf *out) {
    char error[QUERY_ERROR_MAX];
    FoundDecision found = {0};
    NodePage page = {0};
    int64_t number;
    unsigned status;

    if (!decisions)
        return page_not_kept(out);
    if (!str_to_int64(id, &number) || number < 1)
        return page_write_error(out, 404, "the id of a decision is a whole number over 0");
    if (!read_node_page(query, arena, &page, error))
        return page_write_error(out, 400, error);
    if (!decisions_find(decisions, (uint64_t)number, &found))
        return page_missing(decisions, number, out);
    status = write_found(decisions, &found, &page, arena, out);
    found_done(&found);
    return status;
}
