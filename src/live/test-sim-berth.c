/* A replica: its coroutine, its clocks, and its handling of requests. */

#include "live/test-sim-berth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "http/server.h"
#include "live/test-sim-check.h"
#include "live/test-sim-net.h"
#include "live/test-sim-scheduler.h"
#include "live/test-sim-unbound.h"
#include "live/test-sim.h"
#include "live/verb-reply.h"
#include "policy/test-scene.h"

#define STACK_SIZE ((size_t)512 * 1024)
#define ARENA_BUDGET ((size_t)64 * 1024 * 1024)
#define WALL_START (INT64_C(1767323045) * SIM_SEC)
#define TURN_COST (20 * SIM_MSEC / 1000) /* time must pass even if a turn takes none */
#define STOP_TIMEOUT (20 * SIM_SEC)

static const char policy[] =
    "policy: {filters: [{name: room, headroom: {cpu: 1m}}, {name: count, maxPods: 3}]}\n";

static const char unbound_policy[] = "policy: {filters: [{name: count, maxPods: 2}]}\n";

/* A deferred bind or filter request. */
struct HttpPending {
    SimBerth *berth;
    uint64_t attempt;
    unsigned uid, node;
    Arena *arena; /* of a filter; NULL: a bind */
};

SimBerth sim_berths[SIM_BERTHS_MAX];
SimBerth *sim_berth_current;
size_t sim_n_berths;
bool sim_has_lease, sim_is_unbound;

static TestScene scene, unbound_scene;
static Arena *arena; /* for one request */
static bool is_killing;
static HttpPending *deferred; /* by the request that is being handled */
static HttpPending deferring; /* the request that is being handled */

void sim_berths_setup(void) {
    scene_init_text(&scene, policy);
    scene_init_text(&unbound_scene, unbound_policy);
    arena = arena_new(ARENA_BUDGET);
    if (!arena)
        abort();
}

void sim_berths_teardown(void) {
    for (size_t i = 0; i < SIM_BERTHS_MAX; i++)
        free(sim_berths[i].stack);
    arena_free(arena);
    scene_done(&scene);
    scene_done(&unbound_scene);
}

/* --- clocks, in place of base/clock.c --------------------------------------------------------- */

int64_t clock_monotonic_nsec(void) {
    return sim.now + (sim_berth_current ? sim_berth_current->monotonic_offset : 0);
}

int64_t clock_wall_nsec(void) {
    return WALL_START + sim.now + (sim_berth_current ? sim_berth_current->wall_offset : 0);
}

int64_t clock_thread_cpu_nsec(void) {
    return sim.now;
}

/* --- threads, in place of base/thread.c ------------------------------------------------------- */

static void switch_to(SimBerth *berth) {
    SimBerth *before = sim_berth_current;

    sim_berth_current = berth;
    if (swapcontext(&berth->caller, &berth->coroutine) != 0)
        abort();
    sim_berth_current = before;
}

static void enter(void) {
    SimBerth *berth = sim_berth_current;

    (void)berth->run(berth->context);
    berth->has_ended = true;
    for (;;) /* it must not be resumed */
        if (swapcontext(&berth->coroutine, &berth->caller) != 0)
            abort();
}

static void on_timer(void *context, uint64_t n_waits) {
    SimBerth *berth = context;

    if (berth->n_waits == n_waits)
        sim_berth_resume(berth);
}

int thread_start(pthread_t *ret, const char *name, void *(*run)(void *), void *context) {
    SimBerth *berth = sim_berth_current;

    berth->run = run;
    berth->context = context;
    berth->has_ended = false;
    if (!berth->stack)
        berth->stack = malloc(STACK_SIZE);
    if (!berth->stack || getcontext(&berth->coroutine) != 0)
        abort();
    berth->coroutine.uc_stack.ss_sp = berth->stack;
    berth->coroutine.uc_stack.ss_size = STACK_SIZE;
    makecontext(&berth->coroutine, enter, 0);
    sim_after(0, on_timer, berth, ++berth->n_waits);
    *ret = berth->index;
    return 0;
}

/* The process ends, so no simulated time passes. */
void thread_join(pthread_t thread) {
    SimBerth *berth = &sim_berths[thread];

    while (!berth->has_ended)
        switch_to(berth);
}

void deadline_cond_init(pthread_cond_t *cond) {
    (void)pthread_cond_init(cond, NULL);
}

/* The coroutine does not run during a wait, so it needs no deadline. */
struct timespec deadline_in(int64_t nsec) {
    return (struct timespec){0};
}

void sim_berth_wait(SimBerth *berth, int64_t nsec) {
    sim_after(nsec > TURN_COST ? nsec : TURN_COST, on_timer, berth, ++berth->n_waits);
    if (swapcontext(&berth->coroutine, &berth->caller) != 0)
        abort();
}

void sim_berth_wake(SimBerth *berth) {
    sim_after(TURN_COST, on_timer, berth, berth->n_waits);
}

/* In place of live/measuring.c and load/: the policy reads no metrics. */
int measuring_follow(Measuring *measuring, const Program *program, uint64_t owner,
    Measurements **ret, char *error, size_t size) {
    abort();
}

/* --- life ------------------------------------------------------------------------------------- */

static void note_bound(void *context, const Decision *decision) {
    SimBerth *berth = context;
    _cleanup_(view_unrefp) View *view = current_view(&berth->current);

    (void)snprintf(berth->bind_error, sizeof(berth->bind_error), "%.*s", STR_FMT(decision->error));
    recent_pods_note(
        berth->recent, view, VERB_BIND, decision, clock_monotonic_nsec(), clock_wall_nsec());
}

static void answer_filter(void *context, const View *view, Str body, Arena *memory, Answer *ret) {
    RequestTime time = {.now_nsec = clock_wall_nsec()};

    (void)context;
    extender_filter(view, &time, body, memory, ret);
}

static void make_live(SimBerth *berth) {
    LiveOptions options = {
        .kubeconfig = "simulated",
        .may_bind = !sim_is_unbound,
        .bind_window_sec = LIVE_BIND_WINDOW_SEC,
        .watcher = {.seed = rng_next(&sim.rng) | 1, .identity = berth->identity},
    };
    char error[ACCESS_ERROR_MAX];

    if (sim_has_lease) {
        options.watcher.lease.namespace = "kube-system";
        options.watcher.lease.name = "berth";
    }
    berth->recent = recent_pods_new(&(RecentPodsOptions){
        .max = 64,
        .bytes_max = (size_t)1024 * 1024,
        .window_nsec = RECENT_PODS_WINDOW_NSEC,
        .now_nsec = clock_monotonic_nsec(),
    });
    if (!berth->recent ||
        live_new(&options, &berth->current, berth->recent,
            &(LiveCallbacks){.context = berth, .bound = note_bound, .filter = answer_filter},
            &berth->live, error) < 0)
        abort();
}

void sim_berth_start(SimBerth *berth) {
    char error[256];

    SIM_TRACE("berth %u: starts", berth->index);
    berth->monotonic_offset = sim_pick(0, 100000) * SIM_SEC;
    berth->wall_offset = 0;
    berth->halted_until = 0;
    berth->cut_off_until = 0;
    berth->is_stopping = false;
    (void)snprintf(berth->identity, sizeof(berth->identity), "berth-%u_%u", berth->index,
        (unsigned)sim_number());
    sim_berth_current = berth;
    berth->current = CURRENT_INIT;
    berth->current.may_await_cluster = true;
    if (current_begin(&berth->current, /* snapshot= */ NULL,
            sim_is_unbound ? unbound_scene.program : scene.program, /* zones= */ NULL,
            /* load= */ NULL, error, sizeof(error)) < 0)
        abort();
    make_live(berth);
    sim_berth_current = NULL;
    berth->is_running = true;
    sim_check_start(berth);
}

static void destroy(SimBerth *berth) {
    sim_berth_current = berth;
    live_free(berth->live);
    recent_pods_free(berth->recent);
    current_done(&berth->current);
    sim_berth_current = NULL;
    berth->live = NULL;
    berth->is_running = false;
    SIM_TRACE("berth %u: has ended", berth->index);
}

void sim_berth_stop(SimBerth *berth) {
    SIM_TRACE("berth %u: is to end", berth->index);
    berth->is_stopping = true;
    sim_berth_current = berth;
    (void)live_stop(berth->live, STOP_TIMEOUT);
    sim_berth_current = NULL;
}

void sim_berth_kill(SimBerth *berth) {
    SIM_TRACE("berth %u: killed", berth->index);
    sim_net_kill(berth->client);
    is_killing = true;
    destroy(berth);
    is_killing = false;
}

static void on_halt_end(void *context, uint64_t number) {
    SimBerth *berth = context;

    if (berth->live)
        sim_berth_resume(berth);
}

void sim_berth_halt(SimBerth *berth, int64_t nsec) {
    SIM_TRACE("berth %u: halted for %.1f s", berth->index, (double)nsec / 1e9);
    berth->halted_until = sim.now + nsec;
    sim_after(nsec, on_halt_end, berth, 0);
}

bool sim_berth_is_halted(const SimBerth *berth) {
    return sim.now < berth->halted_until;
}

void sim_berth_cut_off(SimBerth *berth, int64_t nsec) {
    if (sim.now < berth->cut_off_until)
        return; /* one at a time: deliveries that wait for the first end must stay in order */
    berth->cut_off_until = sim.now + nsec;
    berth->loses_requests = sim_chance(60);
    SIM_TRACE("berth %u: cut off for %.1f s%s", berth->index, (double)nsec / 1e9,
        berth->loses_requests ? "" : ", its requests arrive");
}

bool sim_berth_loses_requests(const SimBerth *berth) {
    return sim.now < berth->cut_off_until && berth->loses_requests;
}

void sim_berth_resume(SimBerth *berth) {
    if (!berth->live || berth->has_ended || sim_berth_is_halted(berth))
        return;
    switch_to(berth);
    if (berth->has_ended && berth->is_stopping)
        destroy(berth);
}

/* --- requests --------------------------------------------------------------------------------- */

static Str filter_body(const SimObject *pod, size_t index, const unsigned *names, size_t n) {
    Str pod_text = sim_pod_json(pod, index);
    size_t room = pod_text.len + 64 + n * 16, used;
    char *text = sim_allocate(room);

    used = (size_t)snprintf(text, room, "{\"Pod\":%.*s,\"NodeNames\":[", STR_FMT(pod_text));
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, room - used, "%s\"n%u\"", i ? "," : "", names[i]);
    (void)snprintf(text + used, room - used, "]}");
    return str_from_c(text);
}

/* Like serve/answers.c. */
bool sim_berth_filter(SimBerth *berth, const SimObject *pod, size_t index, const unsigned *names,
    size_t n, bool *ret_passed) {
    View *view;
    RequestTime time;
    Answer answer;
    bool is_answered;

    sim_berth_current = berth;
    time = (RequestTime){.now_nsec = clock_wall_nsec()};
    arena_reset(arena);
    recent_pods_begin_filter(berth->recent);
    view = current_view(&berth->current);
    extender_filter(view, &time, filter_body(pod, index, names, n), arena, &answer);
    recent_pods_note(
        berth->recent, view, VERB_FILTER, &answer.decision, clock_monotonic_nsec(), time.now_nsec);
    live_observe_filter(berth->live, view, &answer.decision, clock_monotonic_nsec());
    is_answered = answer.decision.args != NULL;
    if (is_answered)
        sim_check_view(berth, view);
    for (size_t i = 0; is_answered && i < n; i++) {
        ret_passed[i] = answer.decision.verdicts[i] == VERDICT_PASS;
        if (ret_passed[i])
            sim_check_passed(pod->uid, names[i]);
    }
    view_unref(view);
    sim_berth_current = NULL;
    return is_answered;
}

/* Reports the whole reply, and frees its memory. */
static void reply_filter(const HttpPending *filter, const HttpReply *reply) {
    char text[4096] = "";
    size_t used = 0;

    for (size_t i = 0; i < reply->n_slices; i++)
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "%.*s", STR_FMT(reply->slices[i]));
    arena_free(filter->arena);
    sim_unbound_filtered(filter->attempt, is_killing ? NULL : text);
}

void sim_berth_ask(SimBerth *berth, uint64_t attempt, const SimObject *pod, size_t index,
    const unsigned *names, size_t n) {
    HttpRequest request = {.arena = arena_new(ARENA_BUDGET)};
    HttpReply reply = {0};
    Answer answer;
    View *view;

    sim_berth_current = berth;
    request.body = filter_body(pod, index, names, n);
    deferring = (HttpPending){.berth = berth, .attempt = attempt, .arena = request.arena};
    deferred = NULL;
    recent_pods_begin_filter(berth->recent);
    view = current_view(&berth->current);
    answer_filter(NULL, view, request.body, request.arena, &answer);
    reply_with(&reply, &answer);
    if (answer.decision.args)
        sim_check_view(berth, view);
    live_expect(berth->live, &request, view, &answer.decision, &reply);
    if (!deferred)
        reply_filter(&deferring, &reply);
    view_unref(view);
    sim_berth_current = NULL;
}

/* In place of http/server.c. */
HttpPending *server_defer(const HttpRequest *request, int tag) {
    deferred = sim_allocate(sizeof(*deferred));
    *deferred = deferring;
    return deferred;
}

static void reply_bind(const HttpPending *bind) {
    const char *error = bind->berth->bind_error;

    if (is_killing) {
        sim_scheduler_bound(bind->attempt, NULL);
        return;
    }
    if (error[0] == '\0')
        sim_check_reported(bind->uid, bind->node);
    sim_scheduler_bound(bind->attempt, error);
}

bool server_answer(HttpPending *pending, HttpFill *fill, void *context) {
    _cleanup_(arena_freep) Arena *reply_arena = arena_new(ARENA_BUDGET);
    const HttpRequest request = {.arena = reply_arena};
    HttpReply reply = {0};

    fill(context, &request, &reply);
    if (pending->arena)
        reply_filter(pending, &reply);
    else
        reply_bind(pending);
    return true;
}

/* A process may be halted at any time, also between its verdict and sending. */
static void on_halt(void *context, uint64_t number) {
    SimBerth *berth = context;

    if (berth->live && !sim_berth_is_halted(berth))
        sim_berth_halt(berth, sim_pick(SIM_SEC, 30 * SIM_SEC));
}

void sim_berth_bind(SimBerth *berth, uint64_t attempt, unsigned pod, unsigned uid, unsigned node) {
    HttpRequest request = {.arena = arena};
    HttpReply reply = {0};

    arena_reset(arena);
    request.body = arena_printf(arena,
        "{\"PodName\":\"p%u\",\"PodNamespace\":\"shop\",\"PodUID\":\"u-%u\",\"Node\":\"n%u\"}", pod,
        uid, node);
    sim_berth_current = berth;
    deferred = NULL;
    deferring = (HttpPending){.berth = berth, .attempt = attempt, .uid = uid, .node = node};
    live_bind(berth->live, &request, /* tag= */ 0, &reply);
    if (!deferred)
        reply_bind(&deferring);
    else if (sim_chance(sim.fault_percent / 5))
        sim_after(sim_pick(0, 10 * SIM_MSEC), on_halt, berth, 0);
    sim_berth_current = NULL;
}
