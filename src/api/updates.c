/* Sends updates to event streams. The daemon's thread makes one text for all streams, and copies it
 * to their buffers (http/server.h), which drop clients that do not read. Workers add streams; only
 * this thread removes them. */

#include "api/updates.h"

#include <inttypes.h>
#include <stdlib.h>

#include "api/context.h"
#include "api/health-summary.h"
#include "api/page-field.h"
#include "base/clock.h"
#include "base/thread.h"

#define EVERY_NSEC NSEC_PER_SEC
#define COMMENT_NSEC (15 * NSEC_PER_SEC)

/* The streams of both listeners. */
#define LISTENERS_MAX (2 * SERVER_STREAMS_MAX)

#define DECISIONS_IN_UPDATE 20u
#define RULES_IN_UPDATE 32u
#define UPDATE_MAX ((size_t)64 * 1024)
#define UPDATE_BUDGET ((size_t)1024 * 1024)

/* The first line: milliseconds until a browser reconnects. */
#define GREETING "retry: 2000\n\n"
#define COMMENT ": still here\n\n"

struct Updates {
    pthread_mutex_t lock; /* guards the listeners */
    HttpStream *listeners[LISTENERS_MAX];
    size_t n;
    bool has_newcomer; /* a new client, which must get the last decisions */

    /* Used only by the ticking thread. */
    uint64_t id;
    int64_t made_at_nsec; /* the last update; 0: never */
    int64_t sent_at_nsec; /* the last update or comment */
    uint64_t newest;      /* id of the newest decision sent */
    Buf text;
};

Updates *updates_new(void) {
    Updates *updates = calloc(1, sizeof(*updates));

    if (!updates)
        return NULL;
    updates->text = BUF_INIT(UPDATE_MAX);
    (void)pthread_mutex_init(&updates->lock, NULL);
    return updates;
}

Updates *updates_free(Updates *updates) {
    if (!updates)
        return NULL;
    for (size_t i = 0; i < updates->n; i++)
        stream_close(updates->listeners[i]);
    buf_done(&updates->text);
    (void)pthread_mutex_destroy(&updates->lock);
    free(updates);
    return NULL;
}

bool updates_join(Updates *updates, const HttpRequest *request, int tag) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&updates->lock);
    HttpStream *stream = updates->n < LISTENERS_MAX ? server_stream(request, tag) : NULL;

    if (!stream)
        return false;
    (void)!stream_send(stream, STR(GREETING)); /* send_to_all() notices closed ones */
    updates->listeners[updates->n++] = stream;
    updates->has_newcomer = true;
    return true;
}

static void write_sentence(JsonWriter *writer, const HealthSummary *health) {
    const HealthFacts *facts = &health->facts;

    field_health(writer, "sentence", health);
    json_write(writer,
        "errorRate: %g, p99Seconds: %g, clusterAgeSeconds: %g, metricsAgeSeconds: %g, "
        "policyDigest: %.*s, nodes: %zu, waiting: %zu, waitingForPolicies: %zu, bypassed: %zu",
        health->error_rate, page_seconds(facts->p99_nsec, facts->p99_nsec > 0),
        page_seconds(facts->silence_nsec, facts->silence_nsec >= 0),
        page_seconds(facts->metrics_age_nsec, facts->metrics_age_nsec >= 0),
        STR_FMT(facts->policy_digest), facts->n_nodes, facts->n_waiting, facts->n_blocked,
        facts->n_bypassed);
}

typedef struct RejectingRule {
    const Filter *filter;
    uint64_t n_nodes;
} RejectingRule;

static int compare_rejecting(const void *a, const void *b) {
    const RejectingRule *x = a, *y = b;

    if (x->n_nodes != y->n_nodes)
        return x->n_nodes < y->n_nodes ? 1 : -1;
    return (x->filter->number > y->filter->number) - (x->filter->number < y->filter->number);
}

/* Counts of rules in force since the start; those that reject most come first. */
static void write_rules(JsonWriter *writer, ApiContext *api, Arena *arena) {
    _cleanup_(view_unrefp) View *view = current_view(api->current);
    const Program *program = view->program;
    RejectingRule *rules = ARENA_ARRAY(arena, RejectingRule, program->n_filters);
    size_t n = 0;

    for (size_t i = 0; rules && i < program->n_filters; i++) {
        const Filter *filter = program->filters[i];
        RuleFigure figure = metrics_of_rule(api->metrics, filter->policy->name, filter->name);

        if (figure.n_rejected > 0)
            rules[n++] = (RejectingRule){filter, figure.n_rejected};
    }
    if (n > 1)
        qsort(rules, n, sizeof(*rules), compare_rejecting);
    json_member_array(writer, "rules");
    for (size_t i = 0; i < n && i < RULES_IN_UPDATE; i++)
        json_write(writer, "{policy: %.*s, rule: %.*s, rejected: %zu}",
            STR_FMT(rules[i].filter->policy->name), STR_FMT(rules[i].filter->name),
            rules[i].n_nodes);
    json_write_end_array(writer);
}

static void write_decision(JsonWriter *writer, const PastDecision *past) {
    _cleanup_(buf_done) Buf reason = BUF_INIT(UPDATE_MAX); /* why no node passed, or the error */

    if (!str_is_empty(past->error))
        buf_append(&reason, past->error);
    else if (past->verb == VERB_FILTER)
        past_print_reason(past, &reason);
    json_write(writer,
        "{id: %zu, time: %td, verb: %s, namespace: %.*s, name: %.*s, asked: %zu, passed: %zu, "
        "node: %.*s, reason: %.*s}",
        past->id, past->at_nsec, verb_name(past->verb), STR_FMT(past->pod_namespace),
        STR_FMT(past->pod_name), past->summary.n_in, past->summary.n_out, STR_FMT(past->node),
        STR_FMT(buf_str(&reason)));
}

/* Writes the newest decisions not sent yet; all for a new client: others know them by id. */
static void write_decisions(Updates *updates, JsonWriter *writer, Decisions *decisions) {
    FoundDecision found[DECISIONS_IN_UPDATE];
    size_t n = decisions ? decisions_read(decisions, 0, found, ELEMENTS_OF(found)) : 0;
    uint64_t sent;

    (void)pthread_mutex_lock(&updates->lock);
    sent = updates->has_newcomer ? 0 : updates->newest;
    updates->has_newcomer = false;
    (void)pthread_mutex_unlock(&updates->lock);
    if (n > 0)
        updates->newest = found[0].past->id;
    json_write(writer, "newest: %jd, decisions: [", updates->newest);
    for (size_t i = 0; i < n; i++) {
        if (found[i].past->id > sent)
            write_decision(writer, found[i].past);
        found_done(&found[i]);
    }
    json_write_end_array(writer);
}

/* False: out of memory. */
static bool make_update(Updates *updates, ApiContext *api, int64_t now_nsec) {
    _cleanup_(arena_freep) Arena *arena = arena_new(UPDATE_BUDGET);
    JsonWriter writer = JSON_WRITER(&updates->text);
    int64_t wall_nsec = clock_wall_nsec();
    HealthSummary health;

    if (!arena || !health_summary_make(api, wall_nsec, now_nsec, arena, &health))
        return false;
    buf_reset(&updates->text);
    buf_printf(&updates->text, "event: update\nid: %" PRIu64 "\ndata: ", ++updates->id);
    json_write(&writer, "{time: %td", wall_nsec);
    write_sentence(&writer, &health);
    json_member_object(&writer, "requests");
    for (size_t i = 0; i < _VERB_MAX; i++)
        json_member_int(&writer, verb_name((Verb)i), atomic_load(&api->counts.answered[i]));
    json_write(&writer, "}, rejectedNodes: %jd", atomic_load(&api->counts.rejected_nodes));
    write_rules(&writer, api, arena);
    write_decisions(updates, &writer, api->decisions);
    json_write_end_object(&writer);
    buf_append(&updates->text, STR("\n\n"));
    return buf_error(&updates->text) == 0;
}

static size_t count_listeners(Updates *updates) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&updates->lock);

    return updates->n;
}

static void send_to_all(Updates *updates, Str text) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&updates->lock);
    size_t n = 0;

    for (size_t i = 0; i < updates->n; i++) {
        HttpStream *stream = updates->listeners[i];

        if (stream_send(stream, text))
            updates->listeners[n++] = stream;
        else
            stream_close(stream);
    }
    updates->n = n;
}

void updates_tick(Updates *updates, ApiContext *api, int64_t now_nsec) {
    Str text;

    if (updates->made_at_nsec != 0 && now_nsec - updates->made_at_nsec < EVERY_NSEC)
        return;
    if (count_listeners(updates) == 0)
        return;
    updates->made_at_nsec = now_nsec;
    if (make_update(updates, api, now_nsec))
        text = buf_str(&updates->text);
    else if (now_nsec - updates->sent_at_nsec >= COMMENT_NSEC)
        text = STR(COMMENT);
    else
        return;
    updates->sent_at_nsec = now_nsec;
    send_to_all(updates, text);
}
