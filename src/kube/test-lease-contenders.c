#include "base/rng.h"
#include "kube/lease.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/test-assert.h"
#include "test-fake-client.h"

/*
 * Several replicas of berth, one API server, and faults between them.
 *
 * A round is a simulation in true time. Each peer has its own clock, with its own offset and rate;
 * messages are slow, overtake each other or get lost, on the way there or back; the server fails
 * before or after it has written; peers are suspended, crash and restart under another name, or
 * shut down. The round's seed determines all of it.
 *
 *   safety    two peers never hold the lease at the same true time; and between the end of one that
 *             did not release it and the start of another there is time for a Binding on its way
 *   liveness  once faults stop, a peer that wants the lease gets it soon
 *   idleness  once no peer wants it, it is released, and then nothing is sent
 */

#define ROUNDS 3000
#define PEERS_MAX 3
#define EVENTS_MAX 256
#define FAULTY_SEC 120
#define SLOW_MAX_SEC 8 /* the slowest message */
#define TURN_MSEC 1000 /* interval of the watcher's loop */
#define RESTART_MAX_SEC 20
#define ENDING_MSEC 3000 /* for shutting down */
#define BINDING_SEC 5    /* LEASE_DURATION_SEC - LEASE_RENEW_SEC: then a sent Binding has ended */
/* The longest time until a peer that wants the lease holds it, or until it is released: the slowest
 * message, the idle time of a holder, the expiry of the lease, and 10 s to spare. */
#define SETTLED_IN_SEC (SLOW_MAX_SEC + LEASE_IDLE_SEC + LEASE_DURATION_SEC + 10)
#define MSEC NSEC_PER_MSEC
#define SEC NSEC_PER_SEC

typedef struct Peer {
    Client *client;
    Lease *lease;         /* NULL: crashed */
    unsigned incarnation; /* unique over all peers */
    int64_t offset;       /* of its clock at true time 0 */
    double rate;          /* of its clock */
    bool is_wanted;
    int64_t wanted_change_at, tick_at, paused_until, restart_at, ending_until; /* true */
    size_t n_calls; /* calls that the network has seen */
    /* For the checks. */
    bool is_held;
    int64_t hold_end;  /* true time until which it holds or held the lease */
    unsigned held_by;  /* incarnation that holds or held it */
    bool has_given_up; /* it released the lease, with no requests left */
} Peer;

/* A message, or a timeout. */
typedef struct PeerMessage {
    int64_t at;
    unsigned incarnation;
    size_t peer, call;
    enum { MESSAGE_NONE, MESSAGE_ARRIVE, MESSAGE_REPLY, MESSAGE_TIMEOUT, MESSAGE_REFUSED } kind;
    unsigned status; /* of a reply; of a request: an error to answer with, or 0 */
    int64_t back;    /* of a request: delay of the reply; -1: it is lost */
    char body[700];
} PeerMessage;

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
    PeerMessage events[EVENTS_MAX];
    Server server;
    unsigned n_incarnations;
    uint64_t n_requests;
} simulation;

static struct {
    uint64_t n_taken, n_lost, n_run_out, n_given_up, n_crashes, n_conflicts;
    int64_t slowest;
} totals;

static Peer *current;

/* --- random choices ---------------------------------------------------------------------- */

static int64_t pick(int64_t from, int64_t to) {
    if (to <= from)
        return from;
    return from + (int64_t)rng_pick(&simulation.rng, (size_t)(to - from + 1));
}

static bool chance(unsigned percent) {
    return rng_percent(&simulation.rng, percent);
}

/* --- clocks -------------------------------------------------------------------------------- */

static int64_t local(const Peer *peer, int64_t at) {
    return peer->offset + (int64_t)((double)at * peer->rate);
}

/* The first true time at which the peer's clock shows @at. */
static int64_t true_time(const Peer *peer, int64_t at) {
    return (int64_t)((double)(at - peer->offset) / peer->rate) + 1;
}

int64_t clock_monotonic_nsec(void) {
    return local(current, simulation.now);
}

int64_t clock_wall_nsec(void) {
    return (int64_t)(rng_next(&simulation.rng) >> 1); /* random, since no lease depends on it */
}

/* --- messages ------------------------------------------------------------------------------- */

static void push(PeerMessage event) {
    for (size_t i = 0; i < EVENTS_MAX; i++)
        if (simulation.events[i].kind == MESSAGE_NONE) {
            simulation.events[i] = event;
            return;
        }
    fail_msg("too many messages are under way");
}

static int64_t delay(void) {
    if (!simulation.is_faulty || chance(70))
        return pick(1, 20) * MSEC;
    return chance(70) ? pick(20, 2000) * MSEC : pick(2, SLOW_MAX_SEC) * SEC;
}

/* Decides how a request is delivered. */
static void send_request(size_t index, size_t n) {
    Peer *peer = &simulation.peers[index];
    FakeCall call = fake_call(peer->client, n);
    PeerMessage event = {.incarnation = peer->incarnation, .peer = index, .call = n};

    simulation.n_requests++;
    event.kind = MESSAGE_TIMEOUT;
    event.at = true_time(peer, local(peer, simulation.now) + call.total_sec * SEC);
    push(event);
    if (simulation.is_faulty && chance(3)) {
        event.kind = MESSAGE_REFUSED;
        event.at = simulation.now + delay();
        push(event);
        return;
    }
    if (simulation.is_faulty && chance(5))
        return; /* lost */
    event.kind = MESSAGE_ARRIVE;
    event.at = simulation.now + delay();
    event.back = simulation.is_faulty && chance(5) ? -1 : delay();
    event.status = simulation.is_faulty && chance(3) ? (chance(50) ? 500 : 429) : 0;
    (void)snprintf(event.body, sizeof(event.body), "%s %s", call.method, call.body);
    assert_true(strlen(event.body) < sizeof(event.body) - 1);
    push(event);
}

static void send_requests(size_t index) {
    Peer *peer = &simulation.peers[index];

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
    Server *server = &simulation.server;
    const char *holder = member(body, "\"holderIdentity\":\"");

    server->exists = true;
    server->version += 1 + (unsigned)pick(0, 3); /* other objects have versions too */
    (void)snprintf(
        server->holder, sizeof(server->holder), "%.*s", (int)strcspn(holder, "\""), holder);
    server->duration = (int)number(body, "\"leaseDurationSeconds\":");
    server->transitions = (int)number(body, "\"leaseTransitions\":");
}

/* Executes a request; returns the status. */
static unsigned serve(const PeerMessage *event) {
    const char *request = event->body;
    Server *server = &simulation.server;

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
    if (server->holder[0] == '\0' && simulation.peers[event->peer].held_by == event->incarnation)
        simulation.peers[event->peer].has_given_up = true;
    return 200;
}

static void arrive(const PeerMessage *request) {
    const Server *server = &simulation.server;
    PeerMessage reply = *request;

    /* A failing server may have written before it failed. */
    reply.status = request->status && chance(50) ? request->status : serve(request);
    totals.n_conflicts += reply.status == 409;
    if (request->status)
        reply.status = request->status;
    if (request->back < 0)
        return;
    reply.kind = MESSAGE_REPLY;
    reply.at = simulation.now + request->back;
    (void)snprintf(reply.body, sizeof(reply.body),
        "{\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"%u\"},\"spec\":{\"holderIdentity\":"
        "\"%s\",\"leaseDurationSeconds\":%d,\"leaseTransitions\":%d}}",
        server->version, server->holder, server->duration, server->transitions);
    push(reply);
}

/* --- peers ----------------------------------------------------------------------------------- */

static void start_peer(Peer *peer) {
    char identity[32];

    peer->incarnation = ++simulation.n_incarnations;
    (void)snprintf(identity, sizeof(identity), "p%u", peer->incarnation);
    peer->client = client_new(NULL);
    peer->lease = lease_new(&(LeaseOptions){
        .client = peer->client,
        .object = {"n", "l"},
        .identity = identity,
    });
    assert_non_null(peer->lease);
    peer->n_calls = 0;
    peer->ending_until = peer->paused_until = 0;
    peer->tick_at = simulation.now;
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
    peer->is_held = false; /* hold_end stays, since its requests may still arrive */
    peer->restart_at = simulation.now + pick(0, RESTART_MAX_SEC) * SEC;
}

static void make_peer(Peer *peer) {
    *peer = (Peer){
        .offset = pick(1, 1000000) * SEC,
        .rate = 1 + simulation.drift * (double)pick(-1000, 1000) / 1000,
        .wanted_change_at = pick(0, 20) * SEC,
    };
    start_peer(peer);
}

/* Causes a random fault of a peer, or changes whether it wants the lease. */
static void inject_fault(Peer *peer) {
    if (simulation.now >= peer->wanted_change_at) {
        peer->is_wanted = !peer->is_wanted;
        peer->wanted_change_at = simulation.now + pick(1, peer->is_wanted ? 40 : 15) * SEC;
    }
    if (chance(1)) {
        totals.n_crashes++;
        stop_peer(peer);
    } else if (chance(2)) {
        peer->paused_until =
            simulation.now + (chance(50) ? pick(10, 3000) * MSEC : pick(3, 30) * SEC);
    } else if (chance(1)) {
        peer->ending_until = simulation.now + ENDING_MSEC * MSEC;
    }
}

static void tick_peer(Peer *peer) {
    int64_t now, next_at;

    current = peer;
    now = clock_monotonic_nsec();
    if (peer->is_wanted)
        lease_want(peer->lease, now);
    next_at = lease_tick(peer->lease, now);
    peer->tick_at = simulation.now + TURN_MSEC * MSEC;
    if (next_at != INT64_MAX && true_time(peer, next_at) < peer->tick_at)
        peer->tick_at = true_time(peer, next_at);
    if (peer->tick_at <= simulation.now)
        peer->tick_at = simulation.now + MSEC / 10;
    if (peer->ending_until != 0 &&
        (lease_release(peer->lease) || simulation.now >= peer->ending_until)) {
        send_requests((size_t)(peer - simulation.peers));
        stop_peer(peer);
        return;
    }
    send_requests((size_t)(peer - simulation.peers));
}

static void run_peer(Peer *peer) {
    if (!peer->lease) {
        if (simulation.now >= peer->restart_at)
            start_peer(peer);
        return;
    }
    if (simulation.now < peer->paused_until || simulation.now < peer->tick_at)
        return;
    if (simulation.is_faulty)
        inject_fault(peer);
    if (peer->lease && simulation.now >= peer->paused_until)
        tick_peer(peer);
}

static void deliver(PeerMessage *event) {
    Peer *peer = &simulation.peers[event->peer];
    PeerMessage copy = *event;

    event->kind = MESSAGE_NONE;
    if (copy.kind == MESSAGE_ARRIVE) {
        arrive(&copy);
        return;
    }
    if (!peer->lease || peer->incarnation != copy.incarnation)
        return;
    current = peer;
    if (copy.kind == MESSAGE_REPLY)
        fake_answer(peer->client, copy.call, copy.status, copy.body);
    else
        fake_done(
            peer->client, copy.call, copy.kind == MESSAGE_TIMEOUT ? CALL_TIMEOUT : CALL_REFUSED);
    (void)client_wait(peer->client, 0);
    peer->tick_at = simulation.now; /* the reply wakes its loop */
}

/* --- checks ---------------------------------------------------------------------------------- */

/* Finds the true time until which the peer holds the lease without further replies. */
static int64_t find_hold_end(const Peer *peer) {
    int64_t least = local(peer, simulation.now), most = least + 60 * SEC;

    while (least + 1 < most) {
        int64_t middle = least + (most - least) / 2;

        if (lease_is_held(peer->lease, middle))
            least = middle;
        else
            most = middle;
    }
    return true_time(peer, most);
}

/* @peer has just taken the lease: the holds of others and their Bindings must have ended. */
static void check_begin(const Peer *peer, uint64_t seed) {
    for (size_t i = 0; i < simulation.n_peers; i++) {
        const Peer *other = &simulation.peers[i];
        int64_t distance = simulation.now - other->hold_end;
        /* Clock drift shortens this time. */
        double least = BINDING_SEC - 2 * simulation.drift * (LEASE_DURATION_SEC + LEASE_RENEW_SEC);

        if (other == peer || other->hold_end == 0)
            continue;
        if (distance < 0 ||
            (!other->has_given_up && (double)distance < least * (double)NSEC_PER_SEC))
            fail_msg("seed %llu: at %.3f s peer %zd takes it %.3f s after the end of peer %zu",
                (unsigned long long)seed, (double)simulation.now / (double)SEC,
                peer - simulation.peers, (double)distance / (double)SEC, i);
        totals.n_run_out += !other->has_given_up && distance < 30 * SEC;
        totals.n_given_up += other->has_given_up && distance < 30 * SEC;
    }
}

static void check_safety(uint64_t seed) {
    size_t n_held = 0;

    for (size_t i = 0; i < simulation.n_peers; i++) {
        Peer *peer = &simulation.peers[i];
        bool was_held = peer->is_held;

        peer->is_held = peer->lease && lease_is_held(peer->lease, local(peer, simulation.now));
        n_held += peer->is_held;
        if (peer->is_held && !was_held)
            check_begin(peer, seed);
        if (peer->is_held) {
            peer->hold_end = find_hold_end(peer);
            peer->held_by = peer->incarnation;
            peer->has_given_up = false;
        } else if (peer->lease && was_held && peer->hold_end > simulation.now) {
            peer->hold_end = simulation.now; /* released early */
        }
    }
    if (n_held > 1)
        fail_msg("seed %llu: at %.3f s %zu peers hold the lease", (unsigned long long)seed,
            (double)simulation.now / (double)SEC, n_held);
}

/* --- a round --------------------------------------------------------------------------------- */

/* A suspended peer gets messages when it resumes. */
static int64_t happens_at(const PeerMessage *event) {
    const Peer *peer = &simulation.peers[event->peer];

    if (event->kind == MESSAGE_ARRIVE || peer->incarnation != event->incarnation)
        return event->at;
    return event->at > peer->paused_until ? event->at : peer->paused_until;
}

static PeerMessage *next_event(void) {
    PeerMessage *first = NULL;

    for (size_t i = 0; i < EVENTS_MAX; i++) {
        PeerMessage *event = &simulation.events[i];

        if (event->kind != MESSAGE_NONE && (!first || happens_at(event) < happens_at(first)))
            first = event;
    }
    return first;
}

static int64_t next_turn(const Peer *peer) {
    if (!peer->lease)
        return peer->restart_at;
    return peer->paused_until > peer->tick_at ? peer->paused_until : peer->tick_at;
}

/* Runs the next event: a message arrives, or a peer's loop runs. */
static void step(uint64_t seed) {
    PeerMessage *event = next_event();
    Peer *peer = &simulation.peers[0];

    for (size_t i = 1; i < simulation.n_peers; i++)
        if (next_turn(&simulation.peers[i]) < next_turn(peer))
            peer = &simulation.peers[i];
    if (event && happens_at(event) <= next_turn(peer)) {
        simulation.now = happens_at(event) > simulation.now ? happens_at(event) : simulation.now;
        deliver(event);
    } else {
        simulation.now = next_turn(peer) > simulation.now ? next_turn(peer) : simulation.now;
        run_peer(peer);
    }
    check_safety(seed);
}

static void run_until(int64_t at, uint64_t seed) {
    while (simulation.now < at)
        step(seed);
}

static bool is_held_by_wanting_peer(void) {
    for (size_t i = 0; i < simulation.n_peers; i++)
        if (simulation.peers[i].is_held && simulation.peers[i].is_wanted)
            return true;
    return false;
}

static void end_faults(void) {
    int64_t wanting =
        pick(1, (INT64_C(1) << simulation.n_peers) - 1); /* a bit per peer; at least one is set */

    simulation.is_faulty = false;
    for (size_t i = 0; i < simulation.n_peers; i++) {
        Peer *peer = &simulation.peers[i];

        if (!peer->lease)
            start_peer(peer);
        if (peer->paused_until > simulation.now)
            peer->paused_until = simulation.now;
        peer->is_wanted = wanting >> i & 1;
        peer->ending_until = 0;
    }
}

static void check_liveness(uint64_t seed) {
    int64_t from = simulation.now;

    while (!is_held_by_wanting_peer()) {
        step(seed);
        if (simulation.now > from + SETTLED_IN_SEC * SEC)
            fail_msg("seed %llu: no peer that wants the lease holds it", (unsigned long long)seed);
    }
    if (simulation.now - from > totals.slowest)
        totals.slowest = simulation.now - from;
    run_until(simulation.now + 30 * SEC, seed);
    assert_true(is_held_by_wanting_peer());
}

static void check_idleness(uint64_t seed) {
    uint64_t before;

    for (size_t i = 0; i < simulation.n_peers; i++)
        simulation.peers[i].is_wanted = false;
    run_until(simulation.now + SETTLED_IN_SEC * SEC, seed);
    for (size_t i = 0; i < simulation.n_peers; i++)
        assert_false(simulation.peers[i].is_held);
    assert_string_equal(simulation.server.holder, "");
    before = simulation.n_requests;
    run_until(simulation.now + 60 * SEC, seed);
    assert_int_equal(simulation.n_requests, before);
}

static void run_round(uint64_t seed) {
    memset(&simulation, 0, sizeof(simulation));
    simulation.rng.state = seed * UINT64_C(0x2545f4914f6cdd1d) + 1;
    simulation.now = SEC;
    simulation.is_faulty = true;
    simulation.drift = chance(30) ? 0.05 : 0.001;
    simulation.n_peers = 2 + (size_t)chance(40);
    simulation.server.exists = false;
    for (size_t i = 0; i < simulation.n_peers; i++)
        make_peer(&simulation.peers[i]);
    run_until(FAULTY_SEC * SEC, seed);
    /* A peer that is shutting down is replaced by a new one. */
    for (size_t i = 0; i < simulation.n_peers; i++)
        if (simulation.peers[i].ending_until != 0)
            stop_peer(&simulation.peers[i]);
    end_faults();
    check_liveness(seed);
    check_idleness(seed);
    for (size_t i = 0; i < simulation.n_peers; i++)
        stop_peer(&simulation.peers[i]);
}

static void test_one_holder_despite_faults(void **state) {
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
    /* The checks prove something only if all of this happened. */
    assert_true(totals.n_taken > 5 * ROUNDS);
    assert_true(totals.n_lost > ROUNDS / 2);
    assert_true(totals.n_run_out > ROUNDS / 2);
    assert_true(totals.n_given_up > ROUNDS / 2);
    assert_true(totals.n_crashes > ROUNDS);
    assert_true(totals.n_conflicts > ROUNDS / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_holder_despite_faults)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
