#include "base/rng.h"
#include "kube/lease.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/nsec.h"
#include "base/test-assert.h"
#include "test-fake-client.h"

/*
 * Several berths, one API server, and everything that goes wrong between them.
 *
 * A round is a simulation in true time. Each peer has a clock of its own, with another offset and a
 * rate of its own; messages are slow, overtake each other or get lost, on the way there or back;
 * the server fails before or after it has written; peers stand still for a while, crash and come
 * back under another name, or end in an orderly way. All of it comes from the round's seed.
 *
 *   safety    at no true time do two peers hold the lease; and between the end of one who did not
 *             give it up and the begin of another there is time for a Binding that is on its way
 *   liveness  once nothing goes wrong any more, one of those who want it has it soon
 *   idleness  once nobody wants it any more, it is given up, and then nothing is sent
 */

#define ROUNDS 3000
#define PEERS_MAX 3
#define EVENTS_MAX 256
#define FAULTY_SEC 120
#define SLOW_MAX_SEC 8 /* the slowest message */
#define TURN_MSEC 1000 /* the watcher's loop turns so often */
#define RESTART_MAX_SEC 20
#define PATIENCE_MSEC 3000 /* for an orderly end */
#define BINDING_SEC 5      /* a Binding that was sent is over by then: LEASE_RENEW to _DURATION */
/* A straggler, then the longest of: it runs out; its holder notices that nobody asks. */
#define HELD_IN_SEC (SLOW_MAX_SEC + LEASE_IDLE_SEC + LEASE_DURATION_SEC + 10)
#define IDLE_IN_SEC (SLOW_MAX_SEC + LEASE_IDLE_SEC + LEASE_DURATION_SEC + 10)
#define MSEC NSEC_PER_MSEC
#define SEC NSEC_PER_SEC

typedef struct Peer {
    Client *client;
    Lease *lease;         /* NULL: crashed */
    unsigned incarnation; /* of all time */
    int64_t offset;       /* its clock at true time 0 */
    double rate;          /* ... and how fast it goes */
    bool is_asked;
    int64_t asked_change_at, tick_at, paused_until, restart_at, ending_until; /* true */
    size_t n_calls; /* those that the network knows */
    /* What the proof is about. */
    bool is_held;
    int64_t hold_end;  /* true: until when it holds, or held, if nothing happens */
    unsigned held_by;  /* ... the incarnation that does, or did */
    bool has_given_up; /* ... it has said so itself, with nothing under way */
} Peer;

/* A message, or the end of waiting for one. */
typedef struct WatchEvent {
    int64_t at;
    unsigned incarnation;
    size_t peer, call;
    enum { EVENT_NOTHING, EVENT_ARRIVE, EVENT_REPLY, EVENT_TIMEOUT, EVENT_REFUSED } kind;
    unsigned status; /* a reply's; of an arrival: what is said instead of the truth, or 0 */
    int64_t back;    /* an arrival's: how long the answer takes, -1: it is lost */
    char body[700];
} WatchEvent;

typedef struct Server {
    bool exists;
    unsigned version;
    char holder[64];
    int duration, transitions;
} Server;

static struct {
    Rng rng;
    int64_t now; /* true */
    bool is_faulty;
    double drift;
    size_t n_peers;
    Peer peers[PEERS_MAX];
    WatchEvent events[EVENTS_MAX];
    Server server;
    unsigned n_incarnations;
    uint64_t n_requests;
} world;

static struct {
    uint64_t n_taken, n_lost, n_run_out, n_given_up, n_crashes, n_conflicts;
    int64_t slowest;
} totals;

static Peer *current;

/* --- chance ------------------------------------------------------------------------------ */

static int64_t pick(int64_t from, int64_t to) {
    if (to <= from)
        return from;
    return from + (int64_t)rng_pick(&world.rng, (size_t)(to - from + 1));
}

static bool chance(unsigned percent) {
    return rng_percent(&world.rng, percent);
}

/* --- clocks -------------------------------------------------------------------------------- */

static int64_t local(const Peer *peer, int64_t at) {
    return peer->offset + (int64_t)((double)at * peer->rate);
}

/* The first true time at which the peer's clock shows @at. */
static int64_t true_time(const Peer *peer, int64_t at) {
    return (int64_t)((double)(at - peer->offset) / peer->rate) + 1;
}

static int64_t peer_clock(void) {
    return local(current, world.now);
}

static int64_t peer_wall_clock(void) {
    return (int64_t)(rng_next(&world.rng) >> 1); /* it must not matter */
}

/* --- messages ------------------------------------------------------------------------------- */

static void push(WatchEvent event) {
    for (size_t i = 0; i < EVENTS_MAX; i++)
        if (world.events[i].kind == EVENT_NOTHING) {
            world.events[i] = event;
            return;
        }
    fail_msg("too many messages are under way");
}

static int64_t delay(void) {
    if (!world.is_faulty || chance(70))
        return pick(1, 20) * MSEC;
    return chance(70) ? pick(20, 2000) * MSEC : pick(2, SLOW_MAX_SEC) * SEC;
}

/* What becomes of a request. */
static void send_request(size_t index, size_t n) {
    Peer *peer = &world.peers[index];
    FakeCall call = fake_call(peer->client, n);
    WatchEvent event = {.incarnation = peer->incarnation, .peer = index, .call = n};

    world.n_requests++;
    event.kind = EVENT_TIMEOUT;
    event.at = true_time(peer, local(peer, world.now) + call.total_sec * SEC);
    push(event);
    if (world.is_faulty && chance(3)) {
        event.kind = EVENT_REFUSED;
        event.at = world.now + delay();
        push(event);
        return;
    }
    if (world.is_faulty && chance(5))
        return; /* lost */
    event.kind = EVENT_ARRIVE;
    event.at = world.now + delay();
    event.back = world.is_faulty && chance(5) ? -1 : delay();
    event.status = world.is_faulty && chance(3) ? (chance(50) ? 500 : 429) : 0;
    (void)snprintf(event.body, sizeof(event.body), "%s %s", call.method, call.body);
    assert_true(strlen(event.body) < sizeof(event.body) - 1);
    push(event);
}

static void send_requests(size_t index) {
    Peer *peer = &world.peers[index];

    while (peer->n_calls < fake_n_calls(peer->client))
        send_request(index, peer->n_calls++);
}

/* --- the server ------------------------------------------------------------------------------ */

static const char *member(const char *body, const char *key) {
    const char *at = strstr(body, key);

    assert_non_null(at);
    return at + strlen(key);
}

static long number(const char *body, const char *key) {
    return strtol(member(body, key), NULL, 10);
}

static void store_spec(const char *body) {
    Server *server = &world.server;
    const char *holder = member(body, "\"holderIdentity\":\"");

    server->exists = true;
    server->version += 1 + (unsigned)pick(0, 3); /* other objects have versions, too */
    (void)snprintf(
        server->holder, sizeof(server->holder), "%.*s", (int)strcspn(holder, "\""), holder);
    server->duration = (int)number(body, "\"leaseDurationSeconds\":");
    server->transitions = (int)number(body, "\"leaseTransitions\":");
}

/* Carries a request out; the status. */
static unsigned serve(const WatchEvent *event) {
    const char *request = event->body;
    Server *server = &world.server;

    if (strncmp(request, "GET", 3) == 0)
        return server->exists ? 200 : 404;
    if (strncmp(request, "POST", 4) == 0) {
        if (server->exists)
            return 409;
        store_spec(request);
        return 201;
    }
    if (!server->exists)
        return 404;
    if ((unsigned)number(request, "\"resourceVersion\":\"") != server->version)
        return 409;
    store_spec(request);
    if (server->holder[0] == '\0' && world.peers[event->peer].held_by == event->incarnation)
        world.peers[event->peer].has_given_up = true;
    return 200;
}

static void arrive(const WatchEvent *request) {
    const Server *server = &world.server;
    WatchEvent reply = *request;

    /* Also a server that fails may have written: it says so after the fact. */
    reply.status = request->status && chance(50) ? request->status : serve(request);
    totals.n_conflicts += reply.status == 409;
    if (request->status)
        reply.status = request->status;
    if (request->back < 0)
        return;
    reply.kind = EVENT_REPLY;
    reply.at = world.now + request->back;
    (void)snprintf(reply.body, sizeof(reply.body),
        "{\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"%u\"},\"spec\":{\"holderIdentity\":"
        "\"%s\",\"leaseDurationSeconds\":%d,\"leaseTransitions\":%d}}",
        server->version, server->holder, server->duration, server->transitions);
    push(reply);
}

/* --- peers ----------------------------------------------------------------------------------- */

static void start_peer(Peer *peer) {
    char identity[32];

    peer->incarnation = ++world.n_incarnations;
    (void)snprintf(identity, sizeof(identity), "p%u", peer->incarnation);
    peer->client = client_new(NULL);
    peer->lease = lease_new(&(LeaseOptions){
        .client = peer->client,
        .namespace = "n",
        .name = "l",
        .identity = identity,
        .clock = peer_clock,
        .wall_clock = peer_wall_clock,
    });
    assert_non_null(peer->lease);
    peer->n_calls = 0;
    peer->ending_until = peer->paused_until = 0;
    peer->tick_at = world.now;
}

static void stop_peer(Peer *peer) {
    LeaseStatus status;

    if (!peer->lease)
        return;
    lease_status(peer->lease, &status);
    totals.n_taken += status.n_taken;
    totals.n_lost += status.n_lost;
    peer->lease = lease_free(peer->lease);
    peer->client = client_free(peer->client);
    peer->is_held = false; /* but its hold_end stays: what it sent is still on its way */
    peer->restart_at = world.now + pick(0, RESTART_MAX_SEC) * SEC;
}

static void make_peer(Peer *peer) {
    *peer = (Peer){
        .offset = pick(1, 1000000) * SEC,
        .rate = 1 + world.drift * (double)pick(-1000, 1000) / 1000,
        .asked_change_at = pick(0, 20) * SEC,
    };
    start_peer(peer);
}

/* Something happens to a peer that is none of its doing. */
static void befall(Peer *peer) {
    if (world.now >= peer->asked_change_at) {
        peer->is_asked = !peer->is_asked;
        peer->asked_change_at = world.now + pick(1, peer->is_asked ? 40 : 15) * SEC;
    }
    if (chance(1)) {
        totals.n_crashes++;
        stop_peer(peer);
    } else if (chance(2)) {
        peer->paused_until = world.now + (chance(50) ? pick(10, 3000) * MSEC : pick(3, 30) * SEC);
    } else if (chance(1)) {
        peer->ending_until = world.now + PATIENCE_MSEC * MSEC;
    }
}

static void tick_peer(Peer *peer) {
    int64_t now, next_at;

    current = peer;
    now = peer_clock();
    if (peer->is_asked)
        lease_want(peer->lease, now);
    next_at = lease_tick(peer->lease, now);
    peer->tick_at = world.now + TURN_MSEC * MSEC;
    if (next_at != INT64_MAX && true_time(peer, next_at) < peer->tick_at)
        peer->tick_at = true_time(peer, next_at);
    if (peer->tick_at <= world.now)
        peer->tick_at = world.now + MSEC / 10;
    if (peer->ending_until != 0 &&
        (lease_release(peer->lease) || world.now >= peer->ending_until)) {
        send_requests((size_t)(peer - world.peers));
        stop_peer(peer);
        return;
    }
    send_requests((size_t)(peer - world.peers));
}

static void turn_peer(Peer *peer) {
    if (!peer->lease) {
        if (world.now >= peer->restart_at)
            start_peer(peer);
        return;
    }
    if (world.now < peer->paused_until || world.now < peer->tick_at)
        return;
    if (world.is_faulty)
        befall(peer);
    if (peer->lease && world.now >= peer->paused_until)
        tick_peer(peer);
}

static void deliver(WatchEvent *event) {
    Peer *peer = &world.peers[event->peer];
    WatchEvent what = *event;

    event->kind = EVENT_NOTHING;
    if (what.kind == EVENT_ARRIVE) {
        arrive(&what);
        return;
    }
    if (!peer->lease || peer->incarnation != what.incarnation)
        return;
    current = peer;
    if (what.kind == EVENT_REPLY)
        fake_answer(peer->client, what.call, what.status, what.body);
    else
        fake_done(
            peer->client, what.call, what.kind == EVENT_TIMEOUT ? CALL_TIMEOUT : CALL_REFUSED);
    (void)client_wait(peer->client, 0);
    peer->tick_at = world.now; /* the loop turns */
}

/* --- the proof
 * -------------------------------------------------------------------------------------
 */

/* Until when the peer holds it, by its own clock, if nothing more happens. */
static int64_t find_hold_end(const Peer *peer) {
    int64_t least = local(peer, world.now), most = least + 60 * SEC;

    while (least + 1 < most) {
        int64_t middle = least + (most - least) / 2;

        if (lease_is_held(peer->lease, middle))
            least = middle;
        else
            most = middle;
    }
    return true_time(peer, most);
}

/* @peer has just begun to hold it: the others must have ended, and their Bindings, too. */
static void check_begin(const Peer *peer, uint64_t seed) {
    for (size_t i = 0; i < world.n_peers; i++) {
        const Peer *other = &world.peers[i];
        int64_t distance = world.now - other->hold_end;
        /* A clock that goes faster or slower eats some of the time between. */
        double least = BINDING_SEC - 2 * world.drift * (LEASE_DURATION_SEC + LEASE_RENEW_SEC);

        if (other == peer || other->hold_end == 0)
            continue;
        if (distance < 0 ||
            (!other->has_given_up && (double)distance < least * (double)NSEC_PER_SEC))
            fail_msg("seed %llu: at %.3f s peer %zd takes it %.3f s after the end of peer %zu",
                (unsigned long long)seed, (double)world.now / (double)SEC, peer - world.peers,
                (double)distance / (double)SEC, i);
        totals.n_run_out += !other->has_given_up && distance < 30 * SEC;
        totals.n_given_up += other->has_given_up && distance < 30 * SEC;
    }
}

static void check_safety(uint64_t seed) {
    size_t n_held = 0;

    for (size_t i = 0; i < world.n_peers; i++) {
        Peer *peer = &world.peers[i];
        bool was_held = peer->is_held;

        peer->is_held = peer->lease && lease_is_held(peer->lease, local(peer, world.now));
        n_held += peer->is_held;
        if (peer->is_held && !was_held)
            check_begin(peer, seed);
        if (peer->is_held) {
            peer->hold_end = find_hold_end(peer);
            peer->held_by = peer->incarnation;
            peer->has_given_up = false;
        } else if (peer->lease && was_held && peer->hold_end > world.now) {
            peer->hold_end = world.now; /* before its time */
        }
    }
    if (n_held > 1)
        fail_msg("seed %llu: at %.3f s %zu hold it", (unsigned long long)seed,
            (double)world.now / (double)SEC, n_held);
}

/* --- a round
 * ----------------------------------------------------------------------------------------
 */

/* What comes for a peer that stands still waits for it. */
static int64_t happens_at(const WatchEvent *event) {
    const Peer *peer = &world.peers[event->peer];

    if (event->kind == EVENT_ARRIVE || peer->incarnation != event->incarnation)
        return event->at;
    return event->at > peer->paused_until ? event->at : peer->paused_until;
}

static WatchEvent *next_event(void) {
    WatchEvent *first = NULL;

    for (size_t i = 0; i < EVENTS_MAX; i++) {
        WatchEvent *event = &world.events[i];

        if (event->kind != EVENT_NOTHING && (!first || happens_at(event) < happens_at(first)))
            first = event;
    }
    return first;
}

static int64_t next_turn(const Peer *peer) {
    if (!peer->lease)
        return peer->restart_at;
    return peer->paused_until > peer->tick_at ? peer->paused_until : peer->tick_at;
}

/* One thing happens: a message arrives, or a peer has its turn. */
static void step(uint64_t seed) {
    WatchEvent *event = next_event();
    Peer *peer = &world.peers[0];

    for (size_t i = 1; i < world.n_peers; i++)
        if (next_turn(&world.peers[i]) < next_turn(peer))
            peer = &world.peers[i];
    if (event && happens_at(event) <= next_turn(peer)) {
        world.now = happens_at(event) > world.now ? happens_at(event) : world.now;
        deliver(event);
    } else {
        world.now = next_turn(peer) > world.now ? next_turn(peer) : world.now;
        turn_peer(peer);
    }
    check_safety(seed);
}

static void run_until(int64_t at, uint64_t seed) {
    while (world.now < at)
        step(seed);
}

static bool is_held_by_who_wants(void) {
    for (size_t i = 0; i < world.n_peers; i++)
        if (world.peers[i].is_held && world.peers[i].is_asked)
            return true;
    return false;
}

static void end_faults(void) {
    int64_t wanting = pick(1, (INT64_C(1) << world.n_peers) - 1); /* a bit each, not none */

    world.is_faulty = false;
    for (size_t i = 0; i < world.n_peers; i++) {
        Peer *peer = &world.peers[i];

        if (!peer->lease)
            start_peer(peer);
        if (peer->paused_until > world.now)
            peer->paused_until = world.now;
        peer->is_asked = wanting >> i & 1;
        peer->ending_until = 0;
    }
}

static void check_liveness(uint64_t seed) {
    int64_t from = world.now;

    while (!is_held_by_who_wants()) {
        step(seed);
        if (world.now > from + HELD_IN_SEC * SEC)
            fail_msg("seed %llu: nobody holds it", (unsigned long long)seed);
    }
    if (world.now - from > totals.slowest)
        totals.slowest = world.now - from;
    run_until(world.now + 30 * SEC, seed);
    assert_true(is_held_by_who_wants()); /* and it stays so */
}

static void check_idleness(uint64_t seed) {
    uint64_t before;

    for (size_t i = 0; i < world.n_peers; i++)
        world.peers[i].is_asked = false;
    run_until(world.now + IDLE_IN_SEC * SEC, seed);
    for (size_t i = 0; i < world.n_peers; i++)
        assert_false(world.peers[i].is_held);
    assert_string_equal(world.server.holder, "");
    before = world.n_requests;
    run_until(world.now + 60 * SEC, seed);
    assert_int_equal(world.n_requests, before);
}

static void run_round(uint64_t seed) {
    memset(&world, 0, sizeof(world));
    world.rng.state = seed * UINT64_C(0x2545f4914f6cdd1d) + 1;
    world.now = SEC;
    world.is_faulty = true;
    world.drift = chance(30) ? 0.05 : 0.001;
    world.n_peers = 2 + (size_t)chance(40);
    world.server.exists = false;
    for (size_t i = 0; i < world.n_peers; i++)
        make_peer(&world.peers[i]);
    run_until(FAULTY_SEC * SEC, seed);
    /* One that is on its way out does not come back: a new one does. */
    for (size_t i = 0; i < world.n_peers; i++)
        if (world.peers[i].ending_until != 0)
            stop_peer(&world.peers[i]);
    end_faults();
    check_liveness(seed);
    check_idleness(seed);
    for (size_t i = 0; i < world.n_peers; i++)
        stop_peer(&world.peers[i]);
}

static void test_contenders(void **state) {
    const char *only = getenv("LEASE_SEED");

    if (only) {
        run_round(strtoull(only, NULL, 10));
        return;
    }
    for (uint64_t seed = 1; seed <= ROUNDS; seed++)
        run_round(seed);
    print_message("%llu times taken, %llu lost, %llu after it ran out, %llu after it was given up, "
                  "%llu crashes, %llu conflicts; at last held after %.1f s at most\n",
        (unsigned long long)totals.n_taken, (unsigned long long)totals.n_lost,
        (unsigned long long)totals.n_run_out, (unsigned long long)totals.n_given_up,
        (unsigned long long)totals.n_crashes, (unsigned long long)totals.n_conflicts,
        (double)totals.slowest / (double)SEC);
    /* The proof is worth something only if all of that happens. */
    assert_true(totals.n_taken > 5 * ROUNDS);
    assert_true(totals.n_lost > ROUNDS / 2);
    assert_true(totals.n_run_out > ROUNDS / 2);
    assert_true(totals.n_given_up > ROUNDS / 2);
    assert_true(totals.n_crashes > ROUNDS);
    assert_true(totals.n_conflicts > ROUNDS / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_contenders)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
