/* Counts pods that kube-scheduler will bind, on the one node left or on a guessed one. */

#include "live/expectation.h"

#include "base/clock.h"
#include "live/current.h"
#include "live/verb-reply.h"
#include "policy/exactness.h"
#include "scheduler/guess.h"

/* for the pod, the new answer of its filter, and scores for the guess */
#define EXPECTATION_BUDGET ((size_t)64 * 1024 * 1024)

typedef struct Expectation {
    BindJob job; /* first: the watcher hands it back */
    const Expectations *parts;
    Arena *arena;         /* owns this and all texts */
    HttpPending *pending; /* NULL: its filter was answered already */
    Str body;       /* of the filter, and the memory for replies: both are the request's, and */
    Arena *replies; /* handle() no longer uses them */
    HttpReply reply;
    Pod pod;
} Expectation;

static Expectation *expectation_free(Expectation *expectation) {
    if (expectation)
        arena_free(expectation->arena);
    return NULL;
}
DEFINE_CLEANUP(Expectation *, expectation_free)

static bool leaves_one(const Decision *decision) {
    return decision->args && decision->summary.n_out == 1;
}

/* Whether several nodes are left, and a policy of the pod needs to know the chosen one. */
static bool wants_guess(const View *view, const Decision *decision) {
    const Program *program = view->program;

    if (!decision->args || decision->summary.n_out < 2 || !decision->applied)
        return false;
    for (size_t i = 0; i < program->n_policies; i++)
        if (decision->applied[i] &&
            exactness_wants_guess(&program->policies[i], &decision->args->pod))
            return true;
    return false;
}

/* Collects the rows of passed nodes that berth knows, in @arena. Returns their number. */
static size_t collect_passed(const Decision *decision, Arena *arena, const uint32_t **ret) {
    const FilterArgs *args = decision->args;
    uint32_t *rows = ARENA_RAW(arena, uint32_t, decision->summary.n_out);
    size_t n = 0;

    for (size_t i = 0; rows && i < args->n; i++)
        if (decision->verdicts[i] == VERDICT_PASS && args->rows[i] < args->node_set.table->n_rows)
            rows[n++] = args->rows[i];
    *ret = rows;
    return n;
}

/* The index of the row that kube-scheduler would choose; SIZE_MAX: out of memory. */
static size_t guess_row(
    const View *view, const Decision *decision, const uint32_t *rows, size_t n, Arena *arena) {
    RequestTime time = {.now_nsec = clock_wall_nsec()};
    const FilterArgs *args = decision->args;
    JudgeInput judged = view_judge_input(view, &time, &args->node_set, &args->pod, rows, n, arena);
    GuessInput input = {.table = args->node_set.table, .rows = rows, .n = n};
    JudgeNotes notes;
    uint8_t *scores = NULL;
    unsigned most;
    PodRequest request;
    JsonReader reader;

    json_reader_init(&reader, decision->pod_text);
    pod_request_decode(&reader, arena, &request);
    if (json_error(&reader) != JSON_OK || arena_has_failed(arena))
        return SIZE_MAX;
    input.request = &request;
    if (view->program->n_scores > 0 && extender_scores(&judged, &notes, &most, &scores) < 0)
        return SIZE_MAX;
    input.scores = scores;
    return guess_choose(&input, arena);
}

/* Returns the name of the node where the pod counts from now on, in @arena; empty: none. */
static Str find_node(const View *view, const Decision *decision, Arena *arena, bool *ret_guessed) {
    const uint32_t *rows;
    size_t n, i = 0;

    *ret_guessed = wants_guess(view, decision);
    if (!*ret_guessed && !leaves_one(decision))
        return STR_NULL;
    n = collect_passed(decision, arena, &rows);
    if (n > 1)
        i = guess_row(view, decision, rows, n, arena);
    if (i >= n)
        return STR_NULL;
    return arena_copy(arena, decision->args->node_set.table->names->names[rows[i]]);
}

/* Copies the pod. Body and arena are still the request's: a deferred request keeps both until
 * server_answer(), and the watcher ends before the server is freed. */
static Expectation *expectation_new(
    const Expectations *parts, const View *view, const Decision *decision) {
    Arena *arena = arena_new(EXPECTATION_BUDGET);
    Expectation *expectation = arena ? ARENA_NEW(arena, Expectation) : NULL;

    if (!expectation || !decision_copy_pod(decision, arena, &expectation->pod)) {
        arena_free(arena);
        return NULL;
    }
    expectation->parts = parts;
    expectation->arena = arena;
    expectation->job = (BindJob){
        .namespace = expectation->pod.namespace,
        .name = expectation->pod.name,
        .uid = expectation->pod.uid,
        .is_expected = true,
        .pod = &expectation->pod,
    };
    expectation->job.node = find_node(view, decision, arena, &expectation->job.is_guessed);
    if (arena_has_failed(arena))
        return expectation_free(expectation);
    return expectation;
}

static void fill_expected(void *context, const HttpRequest *request, HttpReply *reply) {
    const Expectation *expectation = context;

    *reply = expectation->reply;
}

static void finish_expectation(BindJob *job, const char *error) {
    Expectation *expectation = (Expectation *)job;

    (void)error; /* the pod is not counted; the filter is answered all the same */
    if (expectation->pending)
        (void)server_answer(expectation->pending, fill_expected, expectation);
    expectation_free(expectation);
}

/* Evaluates the filter again, because the node now rejects the pod. Returns whether there is
 * another node for it, which becomes the job's. */
static bool answer_again(Expectation *expectation, const View *view) {
    const Expectations *parts = expectation->parts;
    Answer answer;

    if (!expectation->pending)
        return false; /* it was answered already */
    parts->filter(parts->context, view, expectation->body, expectation->replies, &answer);
    reply_with(&expectation->reply, &answer);
    expectation->job.node =
        find_node(view, &answer.decision, expectation->arena, &expectation->job.is_guessed);
    return !str_is_empty(expectation->job.node) && !arena_has_failed(expectation->arena);
}

/* On the watcher's thread; @snapshot has all pods expected before this one. */
static bool judge_expectation(BindJob *job, Snapshot *snapshot, char *error) {
    Expectation *expectation = (Expectation *)job;
    Current *current = expectation->parts->current;
    _cleanup_(view_unrefp) View *shown = current_view(current), *view = NULL;
    RequestTime time = {.now_nsec = clock_wall_nsec()};
    Str refusal;

    if (current_try_snapshot(current, shown, snapshot, &view) < 0)
        return false; /* not counted; the reply to the filter stays as it is */
    return extender_still_passes(view, &time, job->pod, job->node, expectation->arena, &refusal) ||
           answer_again(expectation, view);
}

void expect_pod(const Expectations *expectations, const HttpRequest *request, const View *view,
    const Decision *decision, const HttpReply *reply) {
    _cleanup_(expectation_freep) Expectation *expectation = NULL;

    if (!decision->args || view->program->n_filters == 0 || str_is_empty(decision->pod_uid) ||
        !str_is_empty(decision->args->pod.node_name) ||
        (!leaves_one(decision) && !wants_guess(view, decision) &&
            !table_find_assumed(view->table, decision->pod_uid)))
        return;
    expectation = expectation_new(expectations, view, decision);
    if (!expectation)
        return;
    expectation->job.judge = judge_expectation;
    expectation->job.done = finish_expectation;
    expectation->body = request->body;
    expectation->replies = request->arena;
    expectation->reply = *reply;
    if (!str_is_empty(expectation->job.node))
        expectation->pending = server_defer(request, reply->tag);
    if (watcher_bind(expectations->watcher, &expectation->job) < 0)
        expectation->job.done(&expectation->job, NULL);
    (void)TAKE_PTR(expectation);
}
