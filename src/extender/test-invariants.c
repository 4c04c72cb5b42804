/*
 * Invariants of every answer, checked on random clusters, policies and requests from a fixed seed,
 * so that a failure repeats. A failing round prints its number and its scene.
 *
 *   - The reply is a subset of the request, in that order; nothing is null.
 *   - Scores are whole numbers in 0..10.
 *   - Reasons are those of the policies, or one of berth's own two.
 *   - The same view and the same request give the same bytes.
 *   - Both node modes agree.
 *   - Each node is in the reply once, or narrowing left it out.
 *   - The reason is that of the first filter, by number, that rejects when evaluated alone.
 *   - An explanation agrees with filter and prioritize about each node.
 *   - After the deadline all of this holds too, and no node is left out.
 *
 * Scenes have metrics, some of them absent, and pods that were placed a moment ago.
 */

#include <stdio.h>

#include "base/test-assert.h"
#include "extender/explain.h"
#include "extender/test-reply.h"
#include "extender/test-round.h"
#include "extender/verbs.h"

#define SEED UINT64_C(0x5eed0fbe27)
#define ROUNDS 250u

/* --- filter --------------------------------------------------------------------------- */

/* Consumes the next entry of @list if it is node @number with this reason (ptr NULL: any). */
static bool take_node(const ReplyNodes *list, size_t *at, unsigned number, Str reason) {
    if (*at >= list->n || !round_is_node(list->items[*at].name, number) ||
        (reason.ptr && !str_eq(list->items[*at].reason, reason)))
        return false;
    ++*at;
    return true;
}

/* Walks request and reply together: each node is in exactly one of passed and failed, in order,
 * with the right reason; or in neither when narrowing left it out. */
static bool check_answers(const Round *round, const FilterReply *reply, bool with_unknown) {
    ExpectedNode expected[EXPECTED_MAX];
    size_t passed = 0, failed = 0, unresolvable = 0;
    size_t n = round_expected(round, with_unknown, expected);

    for (size_t i = 0; i < n; i++) {
        const ExpectedNode *node = &expected[i];
        Str reason = node->filter ? node->filter->reason : STR("node is not known to berth");

        if (node->is_left_out)
            continue;
        if (!(node->fails ? take_node(&reply->failed, &failed, node->number, reason)
                          : take_node(&reply->passed, &passed, node->number, STR_NULL)))
            return false;
        if (node->filter && node->filter->is_unresolvable &&
            !take_node(&reply->unresolvable, &unresolvable, node->number, reason))
            return false;
    }
    return passed == reply->passed.n && failed == reply->failed.n &&
           unresolvable == reply->unresolvable.n && str_is_empty(reply->error);
}

static Str ask(const Round *round, const View *view, Verb verb, Str body) {
    Answer answer;

    reply_ask(view, verb, body, /* bind_error= */ STR_NULL, round->arena, &answer);
    assert_int_equal(answer.status, 200);
    return reply_text(&answer.body, round->arena);
}

/* Sends a request with the kept pod of the last one: first of another round, then of this one. */
static Str ask_kept(const Round *round, Verb verb, Str body) {
    static KeptPods pods;
    KeptPod *kept = kept_pods_take(&pods);
    RequestTime time = {.kept_pod = kept};
    Answer answer;
    Str text;

    if (verb == VERB_FILTER)
        extender_filter(round->view, &time, body, round->arena, &answer);
    else if (verb == VERB_PRIORITIZE)
        extender_prioritize(round->view, &time, body, round->arena, &answer);
    else
        extender_preempt(round->view, &time, body, round->arena, &answer);
    text = reply_text(&answer.body, round->arena);
    kept_pods_give(&pods, kept);
    return text;
}

/* Sends a request twice to a view, which learns the order of names from the first; once to a new
 * view; and twice with a kept pod. */
static bool is_repeatable(const Round *round, Verb verb, Str body) {
    Str first = ask(round, round->view, verb, body);
    Str second = ask(round, round->view, verb, body);
    View *fresh = round_view(round);
    Str third;

    third = ask(round, fresh, verb, body);
    view_unref(fresh);
    return str_eq(first, second) && str_eq(first, third) &&
           str_eq(first, ask_kept(round, verb, body)) && str_eq(first, ask_kept(round, verb, body));
}

static bool check_filter(const Round *round) {
    Str by_name = round_names_body(round), by_node = round_nodes_body(round);
    FilterReply names, nodes;

    if (!is_repeatable(round, VERB_FILTER, by_name) || !is_repeatable(round, VERB_FILTER, by_node))
        return false;
    return reply_filter(ask(round, round->view, VERB_FILTER, by_name), round->arena, &names) &&
           check_answers(round, &names, round->with_unknown) &&
           reply_filter(ask(round, round->view, VERB_FILTER, by_node), round->arena, &nodes) &&
           check_answers(round, &nodes, /* with_unknown= */ false);
}

/* --- after the deadline ------------------------------------------------------------------ */

/* The deadline passes at the @left-th check. */
static bool is_over(void *context) {
    unsigned *left = context;

    if (*left > 0)
        --*left;
    return *left == 0;
}

/* Each node is counted under one outcome, also after the deadline. */
static void check_summary(const Round *round, const Decision *decision) {
    const DecisionSummary *summary = &decision->summary;
    size_t n_rejected = 0;

    for (size_t i = 0; decision->rejected && i < round->scene.program->n_filters; i++)
        n_rejected += decision->rejected[i];
    assert_int_equal(summary->n_rejected, n_rejected);
    assert_int_equal(summary->n_in,
        summary->n_out + n_rejected + summary->n_unknown + summary->n_narrowed + summary->n_late);
    assert_true(summary->n_late <= summary->n_unjudged);
}

/* The reply of a filter whose deadline passes at check @n_checks, and the number of late nodes. */
static Str filter_with_deadline(
    const Round *round, Str body, unsigned n_checks, size_t *ret_n_late) {
    RequestTime time = {.is_over = is_over, .context = &n_checks};
    Answer answer;

    extender_filter(round->view, &time, body, round->arena, &answer);
    assert_int_equal(answer.status, 200);
    check_summary(round, &answer.decision);
    *ret_n_late = answer.decision.summary.n_unjudged;
    return reply_text(&answer.body, round->arena);
}

/* Whether a policy that applies rejects nodes it could not judge in time. */
static bool may_reject_late(const Round *round) {
    const Program *program = round->scene.program;

    for (size_t i = 0; i < program->n_policies; i++)
        if (round_applies(round, &program->policies[i]) && program->policies[i].n_filters > 0 &&
            program->policies[i].on_timeout == FALLBACK_REJECT)
            return true;
    return false;
}

/* Whether @reason is the deadline's, or of a rule that rejects the node also without a deadline. */
static bool is_late_reason(const Round *round, const ExpectedNode *node, Str reason) {
    const Program *program = round->scene.program;

    if (str_is(reason, "berth ran out of time to judge the node"))
        return may_reject_late(round);
    if (node->number == UNKNOWN_NODE)
        return str_is(reason, "node is not known to berth");
    for (size_t i = 0; i < program->n_filters; i++)
        if (str_eq(reason, program->filters[i]->reason))
            return node->fails; /* a rule that passes in time also passes now */
    return false;
}

/* Each node is in the reply once, in order, with a valid reason; no node is left out. */
static bool check_late_answers(const Round *round, const FilterReply *reply) {
    ExpectedNode expected[EXPECTED_MAX];
    size_t passed = 0, failed = 0, unresolvable = 0;
    size_t n = round_expected(round, round->with_unknown, expected);

    for (size_t i = 0; i < n; i++) {
        unsigned number = expected[i].number;
        Str reason;

        if (take_node(&reply->passed, &passed, number, STR_NULL))
            continue;
        if (!take_node(&reply->failed, &failed, number, STR_NULL))
            return false;
        reason = reply->failed.items[failed - 1].reason;
        if (!is_late_reason(round, &expected[i], reason))
            return false;
        (void)take_node(&reply->unresolvable, &unresolvable, number, reason);
    }
    return passed == reply->passed.n && failed == reply->failed.n &&
           unresolvable == reply->unresolvable.n && str_is_empty(reply->error);
}

static unsigned n_late_rounds; /* proves that some deadlines passed */

static bool check_late(const Round *round) {
    Str body = round_names_body(round), in_time = ask(round, round->view, VERB_FILTER, body);

    for (unsigned n_checks = 1; n_checks < 8; n_checks++) {
        size_t n_late, n_again;
        Str text = filter_with_deadline(round, body, n_checks, &n_late);
        FilterReply reply;

        if (!str_eq(text, filter_with_deadline(round, body, n_checks, &n_again)) ||
            n_again != n_late || !reply_filter(text, round->arena, &reply))
            return false;
        /* The reply is the same if only policies in mode Observe were late. */
        if (!str_eq(text, in_time) && (n_late == 0 || !check_late_answers(round, &reply)))
            return false;
        n_late_rounds += n_late > 0;
    }
    return true;
}

/* --- prioritize ------------------------------------------------------------------------- */

static bool check_scores(const Round *round, const ReplyScores *reply) {
    size_t at = 0;

    for (size_t i = 0; i < reply->n; i++)
        if (reply->items[i].score < 1 || reply->items[i].score > WIRE_MAX_DEFAULT)
            return false;
    for (unsigned i = 0; i < round->n && at < reply->n; i++)
        at += round_is_node(reply->items[at].host, round->order[i]);
    return at == reply->n; /* all were found, in order */
}

static bool check_prioritize(const Round *round) {
    Str by_name = round_names_body(round), by_node = round_nodes_body(round);
    Str text = ask(round, round->view, VERB_PRIORITIZE, by_name);
    ReplyScores reply;

    return is_repeatable(round, VERB_PRIORITIZE, by_name) &&
           is_repeatable(round, VERB_PRIORITIZE, by_node) &&
           str_eq(text, ask(round, round->view, VERB_PRIORITIZE, by_node)) &&
           reply_scores(text, round->arena, &reply) && check_scores(round, &reply);
}

/* --- preempt ---------------------------------------------------------------------------- */

static bool check_preempt(const Round *round) {
    Str body = round_victims_body(round);
    ReplyCandidates reply;
    size_t at = 0;

    if (!is_repeatable(round, VERB_PREEMPT, body) ||
        !reply_candidates(ask(round, round->view, VERB_PREEMPT, body), round->arena, &reply))
        return false;
    for (unsigned i = 0; i < round->n; i++) {
        unsigned number = round->order[i];

        if (number % 3 == 0 || round_first_failing(round, number, number % 3))
            continue;
        if (at >= reply.n || !round_is_node(reply.items[at].node, number) ||
            reply.items[at].uids.n != number % 3 || reply.items[at].pdb_violations != number)
            return false;
        at++;
    }
    return at == reply.n;
}

/* --- explain ---------------------------------------------------------------------------- */

static unsigned score_of(const ReplyScores *reply, Str host) {
    for (size_t i = 0; i < reply->n; i++)
        if (str_eq(reply->items[i].host, host))
            return (unsigned)reply->items[i].score;
    return 0; /* left out */
}

static bool check_explain(const Round *round) {
    Round all = *round;
    Explanation explanation;
    ReplyScores scored;

    all.n = (unsigned)snapshot_table(round->scene.snapshot)->n_rows;
    if (!reply_scores(ask(round, round->view, VERB_PRIORITIZE, round_names_body(&all)),
            round->arena, &scored))
        return false;
    assert_int_equal(extender_explain(round->view, /* now_nsec= */ 0, &round->scene.pod,
                         round->arena, &explanation),
        0);
    if (explanation.n_nodes != all.n)
        return false;
    for (uint32_t row = 0; row < explanation.n_nodes; row++) {
        const NodeExplanation *node = &explanation.nodes[row];

        if (!round_is_node(node->node, row) ||
            node->verdict != round_first_failing(round, row, /* n_gone= */ 0) ||
            (node->verdict && node->n_failed == 0))
            return false;
        for (size_t i = 0; i < node->n_failed; i++)
            if (str_is_empty(node->failed[i].detail) &&
                expression_is_given(&node->failed[i].filter->message))
                return false;
        if (node->is_scored && node->wire_score != score_of(&scored, node->node))
            return false;
    }
    return true;
}

static void test_answers_keep_the_invariants(void **state) {
    Rng rng = {.state = SEED};

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        Round round;
        bool filters_hold, late_hold, scores_hold, victims_hold, explained;

        round_init(&round, &rng);
        filters_hold = check_filter(&round);
        late_hold = check_late(&round);
        scores_hold = check_prioritize(&round);
        victims_hold = check_preempt(&round);
        explained = check_explain(&round);
        if (!filters_hold || !late_hold || !scores_hold || !victims_hold || !explained) {
            (void)fprintf(stderr,
                "round %u: filter %d, late %d, prioritize %d, preempt %d, explain %d\n"
                "%.*s%.*s\n%.*s\n",
                i, filters_hold, late_hold, scores_hold, victims_hold, explained,
                STR_FMT(round.text), STR_FMT(round_names_body(&round)),
                STR_FMT(ask(&round, round.view, VERB_FILTER, round_names_body(&round))));
            fail();
        }
        round_done(&round);
    }
    assert_true(n_late_rounds > ROUNDS / 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_answers_keep_the_invariants)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
