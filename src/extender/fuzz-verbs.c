/* Any bytes as the body of each verb, with a small cluster and a policy of many rules: no crash,
 * and a reply with status 200 is complete and only names nodes of the request.
 * Each body is sent with a large memory budget and with one that may not be enough. */

#include "base/fuzz.h"
#include "extender/test-reply.h"
#include "extender/verbs.h"
#include "policy/test-scene.h"

#define LARGE_BUDGET ((size_t)64 << 20)
#define SMALL_BUDGET ((size_t)24 << 10)

static const char scene_text[] =
    "policies:\n"
    "  all:\n"
    "    filters:\n"
    "      - {name: pool, nodeLabels: {pool: {in: [a, b]}, gen: {gt: 1, lt: 9}}, unresolvable: "
    "true}\n"
    "      - {name: up, nodeReady: true}\n"
    "      - {name: taints, tolerations: true}\n"
    "      - {name: room, headroom: {cpu: 1, memory: 10%, nvidia.com/gpu: 1}}\n"
    "      - {name: cap, maxPods: {limit: 2, podSelector: {matchLabels: {app: web}}}}\n"
    "    scores:\n"
    "      - {name: pack, binPack: {cpu: 2, memory: 1}, weight: 3}\n"
    "      - {name: spread, spread: {cpu: 1}}\n"
    "      - {name: even, balance: [cpu, memory]}\n"
    "      - {name: type, nodeLabelPreference: {key: pool, values: {a: 90}, otherwise: 10}}\n"
    "  watch:\n"
    "    mode: Observe\n"
    "    match: {namespaces: [team-a], podSelector: {matchExpressions: [{key: app, operator: "
    "Exists}]}}\n"
    "    filters: [{name: cap, maxPods: 0}]\n"
    "nodes:\n"
    "  n1: {labels: {pool: a, gen: '3'}, allocatable: {cpu: 4, memory: 8Gi, nvidia.com/gpu: 2}}\n"
    "  n2: {labels: {pool: b, gen: '5'}, allocatable: {cpu: 2, memory: 1Gi, nvidia.com/gpu: 1}}\n"
    "  n3: {ready: false}\n"
    "  n-4.x: {labels: {pool: a, gen: '2'}, taints: [{key: gpu, effect: NoSchedule}]}\n"
    "pods:\n"
    "  - {on: n1, uid: u1, labels: {app: web}, requests: {cpu: 1}}\n"
    "  - {on: n2, uid: u2, requests: {cpu: 1, memory: 1Mi}}\n";

/* Made once: the leak check ignores memory that a static variable points to. */
static const View *fixed_view(void) {
    static TestScene scene;
    static View *view;

    if (!view) {
        scene_init_text(&scene, scene_text);
        require(view_new(&(ViewParts){.snapshot = scene.snapshot, .program = scene.program},
                    /* before= */ NULL, &view) == 0);
    }
    return view;
}

/* Whether @whole contains @part: passing nodes are copied from the request in both modes. */
static bool is_within(Str part, Str whole) {
    return part.len == 0 || memmem(whole.ptr, whole.len, part.ptr, part.len) != NULL;
}

/* Whether @all has each node of @some, in the same order. */
static bool is_subset(const ReplyNodes *some, const ReplyNodes *all) {
    size_t at = 0;

    for (size_t i = 0; i < some->n; i++) {
        while (at < all->n && !str_eq(some->items[i].name, all->items[at].name))
            at++;
        if (at++ >= all->n)
            return false;
    }
    return true;
}

static void check_filter(const Answer *answer, Str body, Str text, Arena *arena) {
    FilterReply reply;
    Str error;

    if (reply_error(text, arena, &error)) {
        require(error.len > 0);
        return;
    }
    require(reply_filter(text, arena, &reply) && str_is_empty(reply.error));
    require(reply.passed.n + reply.failed.n == answer->decision.summary.n_in);
    require(reply.passed.n == answer->decision.summary.n_out);
    require(is_subset(&reply.unresolvable, &reply.failed));
    for (size_t i = 0; i < reply.passed.n; i++)
        require(is_within(reply.passed.items[i].raw, body));
}

static void check_scores(const Answer *answer, Str text, Arena *arena) {
    ReplyScores reply;

    require(reply_scores(text, arena, &reply));
    require(reply.n == answer->decision.summary.n_out && reply.n <= answer->decision.summary.n_in);
    for (size_t i = 0; i < reply.n; i++)
        require(reply.items[i].score >= 1 && reply.items[i].score <= 10);
}

static void check_candidates(const Answer *answer, Str text, Arena *arena) {
    ReplyCandidates reply;

    require(reply_candidates(text, arena, &reply));
    require(reply.n == answer->decision.summary.n_out && reply.n <= answer->decision.summary.n_in);
    for (size_t i = 0; i < reply.n; i++)
        require(reply.items[i].uids.n > 0 && reply.items[i].node.len > 0);
}

static void check(Verb verb, Str body, size_t budget) {
    _cleanup_(arena_freep) Arena *arena = arena_new(budget);
    _cleanup_(arena_freep) Arena *reading = arena_new(2 * LARGE_BUDGET);
    Answer answer;
    Str text, error;

    if (!arena || !reading)
        return;
    reply_ask(fixed_view(), verb, body, /* bind_error= */ body, arena, &answer);
    text = reply_text(&answer.body, reading);
    if (answer.status != 200 || verb == VERB_BIND) {
        require(answer.status == 200 || answer.status == 400 || answer.status == 500);
        require(answer.status != 500 || budget != LARGE_BUDGET);
        require((answer.status == 500 && text.len == 0) || reply_error(text, reading, &error));
        return;
    }
    if (verb == VERB_FILTER)
        check_filter(&answer, body, text, reading);
    else if (verb == VERB_PRIORITIZE)
        check_scores(&answer, text, reading);
    else
        check_candidates(&answer, text, reading);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Str body = str_of((const char *)data, size);

    for (Verb verb = 0; verb < _VERB_MAX; verb++) {
        check(verb, body, LARGE_BUDGET);
        check(verb, body, SMALL_BUDGET);
    }
    return 0;
}
