/*
 * A turn looks at everything once: the list of now, one answer, what is due, what is to be told.
 * There are few questions, and each look is short; so nothing is kept sorted, and nothing that
 * was told the desk between two turns can be missed.
 *
 * Who is asked first when there are more questions than requests: those of servers that answer.
 */

#include "load/desk.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "load/intake.h"
#include "load/phrase.h"
#include "load/telling.h"

#define WAIT_MAX_MSEC 10000
#define STUCK_MSEC 100 /* after waiting itself has failed */

/* --- life --- */

int desk_init(
    Desk *desk, Board *board, ClientLoop *loop, const PollerCallbacks *callbacks, uint64_t seed) {
    *desk = (Desk){
        .board = board,
        .loop = loop,
        .callbacks = *callbacks,
        .seeds = BACKOFF_INIT(seed),
        .vectors = arena_new(DESK_VECTOR_BUDGET),
        .scratch = arena_new(DESK_SCRATCH_BUDGET),
        .index = join_index_new(),
    };
    for (size_t i = 0; i < SERVER_REQUESTS_MAX; i++)
        request_init(&desk->requests[i]);
    return desk->vectors && desk->scratch && desk->index ? 0 : -ENOMEM;
}

void desk_done(Desk *desk) {
    for (size_t i = 0; i < SERVER_REQUESTS_MAX; i++)
        request_done(&desk->requests[i]);
    while (desk->questions) {
        Question *question = desk->questions;

        desk->questions = question->next;
        question_free(question);
    }
    readings_unref(desk->readings);
    servers_free(desk->servers);
    server_done(&desk->api);
    arena_free(desk->vectors);
    arena_free(desk->scratch);
    join_index_free(desk->index);
}

/* --- servers --- */

Server *desk_server(Desk *desk, const Question *question) {
    const Gauge *gauge = &question->model->gauge;

    if (gauge->source == GAUGE_RESOURCES)
        return desk->api.access ? &desk->api : NULL;
    return desk->servers ? servers_find(desk->servers, gauge->from) : NULL;
}

static void name_sources(const Desk *desk, Phrase *phrase) {
    for (size_t i = 0; i < desk->servers->n; i++) {
        phrase_add(phrase, "%s", i > 0 ? ", " : "");
        phrase_quote(phrase, str_from_c(desk->servers->items[i].name));
    }
}

static void explain_no_source(const Desk *desk, const Gauge *gauge, char *error) {
    Phrase phrase = phrase_begin(error, POLLER_ERROR_MAX);

    if (gauge->source == GAUGE_RESOURCES) {
        phrase_add(&phrase, "no API server is known that could be asked for metrics.k8s.io");
        return;
    }
    phrase_add(&phrase, "there is no source named ");
    phrase_quote(&phrase, source_meant(gauge->from));
    if (!desk->servers || desk->servers->n == 0) {
        phrase_add(&phrase, ", nor any other: give berth --prometheus or --sources");
        return;
    }
    phrase_add(&phrase, "; configured: ");
    name_sources(desk, &phrase);
}

/* Those that have lost their source, or have found one. */
static void check_sources(Desk *desk) {
    for (size_t i = 0; i < desk->readings->n; i++) {
        Reading *reading = desk->readings->items[i];
        char error[POLLER_ERROR_MAX];

        if (!reading->question)
            continue;
        if (!desk_server(desk, reading->question)) {
            explain_no_source(desk, &reading->gauge, error);
            intake_state(desk, reading, POLL_NO_SOURCE, error);
        } else if (reading->status.state == POLL_NO_SOURCE) {
            intake_state(desk, reading, POLL_WAITING, "");
        }
    }
}

void desk_configure(Desk *desk, Servers *servers) {
    for (size_t i = 0; i < SERVER_REQUESTS_MAX; i++)
        if (desk->requests[i].server != &desk->api)
            request_end(&desk->requests[i]);
    servers_free(desk->servers);
    desk->servers = servers;
    for (Question *question = desk->questions; question; question = question->next)
        schedule_restart(&question->schedule);
    if (desk->readings)
        check_sources(desk);
}

/* --- questions --- */

static Question *find_question(Desk *desk, const Gauge *gauge) {
    for (Question *question = desk->questions; question; question = question->next)
        if (question_fits(question, gauge))
            return question;
    return NULL;
}

static Question *add_question(Desk *desk, Reading *reading) {
    Question *question =
        question_new(reading, (uint64_t)backoff_pick(&desk->seeds, 0, INT64_MAX - 1));

    if (!question)
        return NULL;
    question->next = desk->questions;
    desk->questions = question;
    return question;
}

static void want_question(Desk *desk, Reading *reading) {
    Question *question = reading->question;

    if (!question) {
        question = find_question(desk, &reading->gauge);
        if (!question)
            question = add_question(desk, reading);
        if (!question) {
            desk->is_incomplete = true;
            return;
        }
        reading->question = question;
        question->has_more = true;
    }
    if (!question->is_wanted || reading->gauge.interval_nsec < question->interval_nsec)
        question->interval_nsec = reading->gauge.interval_nsec;
    question->is_wanted = true;
}

static void drop_question(Desk *desk, Question *question) {
    for (size_t i = 0; i < SERVER_REQUESTS_MAX; i++)
        if (desk->requests[i].question == question)
            request_end(&desk->requests[i]);
    question_free(question);
}

/* A question that is under way answers those who have just come, too. */
static void renew_question(Question *question) {
    schedule_set_interval(&question->schedule, question->interval_nsec, clock_monotonic_nsec());
    if (question->has_more && !question->is_under_way)
        schedule_hasten(&question->schedule);
    question->is_wanted = question->has_more = false;
}

static void sort_out_questions(Desk *desk) {
    Question **at = &desk->questions;

    while (*at) {
        Question *question = *at;

        if (question->is_wanted) {
            renew_question(question);
            at = &question->next;
        } else {
            *at = question->next;
            drop_question(desk, question);
        }
    }
}

/* The list of now, if it is another one. Readings that are in both keep their questions; one that
 * is in the old list only never comes back, for its gauge would get another reading. */
static void take_list(Desk *desk) {
    Readings *before = desk->readings;

    pthread_mutex_lock(&desk->board->lock);
    if (desk->board->readings != before)
        desk->readings = readings_ref(desk->board->readings);
    pthread_mutex_unlock(&desk->board->lock);
    if (!desk->readings || (desk->readings == before && !desk->is_incomplete))
        return;

    desk->is_incomplete = false;
    for (size_t i = 0; i < desk->readings->n; i++)
        if (desk->readings->items[i]->status.is_asked)
            want_question(desk, desk->readings->items[i]);
    sort_out_questions(desk);
    check_sources(desk);
    if (desk->readings != before)
        readings_unref(before);
}

/* --- requests --- */

static Request *free_request(Desk *desk) {
    for (size_t i = 0; i < SERVER_REQUESTS_MAX; i++)
        if (!desk->requests[i].question)
            return &desk->requests[i];
    return NULL;
}

static unsigned count_failing(const Desk *desk) {
    unsigned n = 0;

    for (size_t i = 0; i < SERVER_REQUESTS_MAX; i++)
        n += desk->requests[i].question && desk->requests[i].server->is_failing;
    return n;
}

static bool may_ask(const Desk *desk, const Server *server) {
    if (!server->is_failing)
        return server->n_requests < SERVER_SHARE_MAX;
    return server->n_requests == 0 && count_failing(desk) < SERVER_SHARE_MAX;
}

/* Servers that answer come first. */
static bool is_before(Desk *desk, const Question *a, const Question *b) {
    bool a_fails = desk_server(desk, a)->is_failing, b_fails = desk_server(desk, b)->is_failing;

    return a_fails != b_fails ? b_fails : a->schedule.due_nsec < b->schedule.due_nsec;
}

/* The question to ask now; NULL: none. *ret_next: when the next will be due at the latest. */
static Question *choose_question(Desk *desk, int64_t now, int64_t *ret_next) {
    Question *best = NULL;

    *ret_next = INT64_MAX;
    for (Question *question = desk->questions; question; question = question->next) {
        Server *server = desk_server(desk, question);

        if (question->is_under_way || !server)
            continue;
        if (question->schedule.due_nsec > now) {
            if (question->schedule.due_nsec < *ret_next)
                *ret_next = question->schedule.due_nsec;
        } else if (may_ask(desk, server) && (!best || is_before(desk, question, best))) {
            best = question;
        }
    }
    return best;
}

static void ask(Desk *desk, Request *request, Question *question) {
    Server *server = desk_server(desk, question);

    if (!server_connect(server, desk->loop) || !request_start(request, question, server))
        schedule_failed(&question->schedule, clock_monotonic_nsec(), -1);
}

static bool has_cluster(Desk *desk) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot =
        desk->callbacks.snapshot(desk->callbacks.context);

    return snapshot && (desk->asks_once || snapshot_table(snapshot)->names->n_nodes > 0);
}

/* What is due, as far as there is room. Returns when there will be more to do. */
static int64_t ask_due(Desk *desk) {
    bool is_known = false;

    for (;;) {
        Request *request = free_request(desk);
        int64_t now = clock_monotonic_nsec(), next;
        Question *question = choose_question(desk, now, &next);

        if (!question || !request)
            return next;
        if (!is_known && !has_cluster(desk))
            return now + DESK_LOOK_MSEC * NSEC_PER_MSEC;
        is_known = true;
        ask(desk, request, question);
    }
}

/* One answer at a time: between two there is time to end. */
static bool take_answer(Desk *desk) {
    for (size_t i = 0; i < SERVER_REQUESTS_MAX; i++) {
        Request *request = &desk->requests[i];
        Question *question = request->question;

        if (!question || !request_settle(request))
            continue;
        intake_request(desk, request);
        if (desk->asks_once)
            question->schedule.due_nsec = INT64_MAX;
        request_end(request);
        return true;
    }
    return false;
}

/* --- turns --- */

int64_t desk_turn(Desk *desk) {
    int64_t next = INT64_MAX;

    take_list(desk);
    if (!desk->readings)
        return next;
    if (take_answer(desk))
        next = clock_monotonic_nsec();
    next = clock_earlier(next, ask_due(desk));
    next = clock_earlier(next, telling_publish(desk));
    next = clock_earlier(next, telling_notices(desk));
    return desk->is_incomplete ? clock_earlier(next, clock_monotonic_nsec() + NSEC_PER_SEC) : next;
}

void desk_wait(Desk *desk, int64_t until_nsec) {
    int64_t now = clock_monotonic_nsec(), msec = 0;

    if (until_nsec > now)
        msec = (until_nsec - now - 1) / NSEC_PER_MSEC + 1;
    if (msec > WAIT_MAX_MSEC)
        msec = WAIT_MAX_MSEC;
    if (client_loop_wait(desk->loop, (int)msec) < 0)
        (void)nanosleep(&(struct timespec){.tv_nsec = STUCK_MSEC * NSEC_PER_MSEC}, NULL);
}

/* --- once --- */

bool desk_has_asked_all(Desk *desk) {
    for (const Question *question = desk->questions; question; question = question->next)
        if (question->n_ok + question->n_failed == 0 && desk_server(desk, question))
            return false;
    return true;
}

void desk_give_up(Desk *desk, const char *error) {
    for (size_t i = 0; i < desk->readings->n; i++)
        if (desk->readings->items[i]->status.state == POLL_WAITING)
            intake_state(desk, desk->readings->items[i], POLL_FAILING, error);
}
