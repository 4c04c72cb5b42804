/*
 * What holds for every answer, tried on clusters, policies and requests that nobody thought of:
 * drawn at random from a fixed seed, so that a failure repeats. A round that fails says its number
 * and its scene.
 *
 *   - What comes out is a subset of what came in, in that order; nothing is null.
 *   - Scores are whole numbers in 0..10.
 *   - Reasons are those of the policies, or one of berth's own two.
 *   - The same view and the same request give the same bytes.
 *
 * And: both node modes agree; each node is answered for once, or was left out by a policy
 * that narrows, and then others are as good; its reason is that of the first filter, by
 * number, that fails when each is asked by itself; and an explanation says of each node
 * what filter and prioritize say. When time runs out they hold as well, and nothing is
 * left out. All of it with metrics, too, some of which are absent, and with pods that were
 * placed a moment ago.
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

/* Takes the next of @list, if it is node @number with this reason (ptr NULL: any). */
static bool take_node(const ReplyNodes *list, size_t *at, unsigned number, Str reason) {
    if (*at >= list->n || !round_is_node(list->items[*at].name, number) ||
        (reason.ptr && !str_eq(list->items[*at].reason, reason)))
        return false;
    ++*at;
    return true;
}

/* Walks request and reply together: each node stands in exactly one of passed and
 * failed, in order, with the right reason; or in neither, when it was left out. */
static bool check_answers(const Round *round, const FilterReply *reply, bool with_stranger) {
    Fate fates[FATES_MAX];
    size_t passed = 0, failed = 0, unresolvable = 0;
    size_t n = round_fates(round, with_stranger, fates);

    for (size_t i = 0; i < n; i++) {
        const Fate *fate = &fates[i];
        Str reason = fate->filter ? fate->filter->reason : STR("node is not known to berth");

        if (fate->is_left_out)
            continue;
        if (!(fate->fails ? take_node(&reply->failed, &failed, fate->number, reason)
                          : take_node(&reply->passed, &passed, fate->number, STR_NULL)))
            return false;
        if (fate->filter && fate->filter->is_unresolvable &&
            !take_node(&reply->unresolvable, &unresolvable, fate->number, reason))
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

/* Twice to one view, which learns the order of names from the first; once to a view
 * made anew. */
static bool is_repeatable(const Round *round, Verb verb, Str body) {
    Str first = ask(round, round->view, verb, body);
    Str second = ask(round, round->view, verb, body);
    View *anew = round_view(round);
    Str third;

    third = ask(round, anew, verb, body);
    view_unref(anew);
    return str_eq(first, second) && str_eq(first, third);
}

static bool check_filter(const Round *round) {
    Str by_name = round_names_body(round), by_node = round_nodes_body(round);
    FilterReply names, nodes;

    if (!is_repeatable(round, VERB_FILTER, by_name) || !is_repeatable(round, VERB_FILTER, by_node))
        return false;
    return reply_filter(ask(round, round->view, VERB_FILTER, by_name), round->arena, &names) &&
           check_answers(round, &names, round->with_stranger) &&
           reply_filter(ask(round, round->view, VERB_FILTER, by_node), round->arena, &nodes) &&
           check_answers(round, &nodes, /* with_stranger= */ false);
}

/* --- when time runs out ------------------------------------------------------------------ */

/* A clock that stops after so many looks. */
static bool runs_out(void *context) {
    unsigned *left = context;

    if (*left > 0)
        --*left;
    return *left == 0;
}

/* Each node is counted under one outcome, in time or not. */
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

/* The reply of a filter that has @looks at the clock; how many nodes were late. */
static Str ask_in_time(const Round *round, Str body, unsigned looks, size_t *ret_n_late) {
    RequestTime time = {.is_over = runs_out, .context = &looks};
    Answer answer;

    extender_filter(round->view, &time, body, round->arena, &answer);
    assert_int_equal(answer.status, 200);
    check_summary(round, &answer.decision);
    *ret_n_late = answer.decision.summary.n_unjudged;
    return reply_text(&answer.body, round->arena);
}

/* Whether some policy that has a say rejects what it could not judge in time. */
static bool may_reject_late(const Round *round) {
    const Program *program = round->scene.program;

    for (size_t i = 0; i < program->n_policies; i++)
        if (round_is_asked(round, &program->policies[i]) && program->policies[i].n_filters > 0 &&
            program->policies[i].on_timeout == FALLBACK_REJECT)
            return true;
    return false;
}

/* What may be said of a node that was not judged: what speaks against it anyway, or that there
 * was no time. */
static bool is_late_reason(const Round *round, const Fate *fate, Str reason) {
    const Program *program = round->scene.program;

    if (str_is(reason, "berth ran out of time to judge the node"))
        return may_reject_late(round);
    if (fate->number == STRANGER)
        return str_is(reason, "node is not known to berth");
    for (size_t i = 0; i < program->n_filters; i++)
        if (str_eq(reason, program->filters[i]->reason))
            return fate->fails; /* no rule speaks that would not have spoken with all the time */
    return false;
}

/* Each node is answered for once, in order: with time or without, nothing is made up, and nothing
 * is left out. */
static bool check_late_answers(const Round *round, const FilterReply *reply) {
    Fate fates[FATES_MAX];
    size_t passed = 0, failed = 0, unresolvable = 0;
    size_t n = round_fates(round, round->with_stranger, fates);

    for (size_t i = 0; i < n; i++) {
        unsigned number = fates[i].number;
        Str reason;

        if (take_node(&reply->passed, &passed, number, STR_NULL))
            continue;
        if (!take_node(&reply->failed, &failed, number, STR_NULL))
            return false;
        reason = reply->failed.items[failed - 1].reason;
        if (!is_late_reason(round, &fates[i], reason))
            return false;
        (void)take_node(&reply->unresolvable, &unresolvable, number, reason);
    }
    return passed == reply->passed.n && failed == reply->failed.n &&
           unresolvable == reply->unresolvable.n && str_is_empty(reply->error);
}

static unsigned n_late_rounds; /* so that the test knows that it tests something */

static bool check_late(const Round *round) {
    Str body = round_names_body(round), in_time = ask(round, round->view, VERB_FILTER, body);

    for (unsigned looks = 1; looks < 8; looks++) {
        size_t n_late, n_again;
        Str text = ask_in_time(round, body, looks, &n_late);
        FilterReply reply;

        if (!str_eq(text, ask_in_time(round, body, looks, &n_again)) || n_again != n_late ||
            !reply_filter(text, round->arena, &reply))
            return false;
        /* Policies in mode Observe may be late all by themselves. */
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
    return at == reply->n; /* all of them found, in order */
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

static void test_rounds(void **state) {
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rounds)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
