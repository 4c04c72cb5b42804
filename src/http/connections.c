/* The table of connections: which thread holds each, limits, deadlines, and which to close
 * first. */

#include "http/connections.h"

#include <assert.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "base/clock.h"

/* Connections that were cut stay in the table until their worker closes them. */
#define SPARE 256u

/* Draining closes a connection that has been silent for this long. */
#define DRAIN_AFTER_NSEC NSEC_PER_SEC

/* Connections checked per hold of the lock. */
#define TICK_BATCH 32u

/* TCP_CLOSE_WAIT, from <netinet/tcp.h>, whose tcp_info lacks byte counts. */
#define PEER_HAS_CLOSED 8

struct Connections {
    ServerOptions options;
    atomic_uint_fast64_t *refused;
    atomic_uint_fast64_t total;

    pthread_mutex_t lock; /* guards what follows */
    Connection **slots;   /* NULL: free */
    unsigned capacity;
    unsigned n;          /* cut ones included */
    Connection *evicted; /* in the state NEW */
};

Connections *connections_new(const ServerOptions *options, atomic_uint_fast64_t *refused) {
    Connections *connections = calloc(1, sizeof(*connections));

    if (!connections)
        return NULL;
    connections->options = *options;
    connections->refused = refused;
    connections->capacity = options->connections_max + SPARE;
    connections->slots = calloc(connections->capacity, sizeof(Connection *));
    if (!connections->slots) {
        free(connections);
        return NULL;
    }
    pthread_mutex_init(&connections->lock, NULL);
    return connections;
}

Connections *connections_free(Connections *connections) {
    if (!connections)
        return NULL;
    assert(connections->n == 0);
    pthread_mutex_destroy(&connections->lock);
    free(connections->slots);
    free(connections);
    return NULL;
}

static void lock(const Connections *connections) {
    pthread_mutex_lock((pthread_mutex_t *)(uintptr_t)&connections->lock);
}

static void unlock(const Connections *connections) {
    pthread_mutex_unlock((pthread_mutex_t *)(uintptr_t)&connections->lock);
}

unsigned connections_count(const Connections *connections) {
    unsigned n;

    lock(connections);
    n = connections->n;
    unlock(connections);
    return n;
}

uint64_t connections_total(const Connections *connections) {
    return atomic_load_explicit(&connections->total, memory_order_relaxed);
}

static void count(Connections *connections, ServerRefusal refusal) {
    atomic_fetch_add_explicit(&connections->refused[refusal], 1, memory_order_relaxed);
}

/* --- holding ---------------------------------------------------------------------------------- */

bool connection_arm(Connection *connection, uint32_t events) {
    struct epoll_event event = {.events = events | EPOLLONESHOT, .data.ptr = connection};
    int how = connection->is_registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

    connection->is_registered = true;
    atomic_store(&connection->is_held, false);
    if (epoll_ctl(connection->epoll_fd, how, connection->transport.fd, &event) == 0)
        return true;
    atomic_store(&connection->is_held, true);
    return false;
}

void connection_hold(Connection *connection) {
    bool is_held = atomic_exchange(&connection->is_held, true);

    assert(!is_held);
    (void)is_held;
}

/* With the lock held. A socket that can be written to is ready at once. */
static void wake(Connection *connection) {
    if (!connection->is_asleep)
        return;
    connection->is_asleep = false;
    (void)!connection_arm(connection, EPOLLOUT); /* registered: it cannot fail */
}

/* With the lock held. A client that still sends after its last reply gets a reset. Otherwise it
 * could wait for minutes: the kernel no longer tells it that there is room for more bytes. */
static void cut(Connection *connection, int how) {
    const struct linger reset = {.l_onoff = 1, .l_linger = 0};

    atomic_store(&connection->is_cut, true);
    if (connection->state == CONNECTION_LINGER)
        (void)setsockopt(connection->transport.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    (void)shutdown(connection->transport.fd, how);
    if (connection->state == CONNECTION_STREAM)
        wake(connection);
}

void connection_sleep(Connections *connections, Connection *connection) {
    lock(connections);
    connection->is_asleep = true;
    if (connection->is_cut && connection->state == CONNECTION_STREAM)
        wake(connection);
    unlock(connections);
}

void connection_wake(Connections *connections, Connection *connection) {
    lock(connections);
    wake(connection);
    unlock(connections);
}

/* --- coming and going ------------------------------------------------------------------------ */

static void copy_address(const struct sockaddr *from, unsigned char to[16]) {
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

    if (from->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const void *)from;

        memcpy(to, &in6->sin6_addr, 16);
    } else if (from->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)from;

        memcpy(to, mapped, sizeof(mapped));
        memcpy(to + sizeof(mapped), &in->sin_addr, 4);
    }
}

/* Connections of one address, or of all, that were not cut. */
typedef struct Tally {
    unsigned all, handshakes, kept, unknown;
} Tally;

static bool is_among(const Connection *connection, const unsigned char *address) {
    return connection && !connection->is_cut &&
           (!address || memcmp(connection->address, address, 16) == 0);
}

/* @address: NULL for all. */
static Tally tally_of(const Connections *connections, const unsigned char *address) {
    bool has_handshakes = connections->options.tls;
    Tally tally = {0};

    for (unsigned i = 0; i < connections->capacity; i++) {
        const Connection *connection = connections->slots[i];

        if (!is_among(connection, address))
            continue;
        tally.all++;
        tally.handshakes += has_handshakes && connection->state == CONNECTION_NEW;
        tally.kept += connection->is_kept;
        tally.unknown += connection->is_unknown;
    }
    return tally;
}

/* Whether it waits for its client. The accepting thread calls this, and holds those in NEW. */
static bool is_evictable(const Connection *connection) {
    return !connection->is_kept && connection->state != CONNECTION_HANDLING &&
           connection->state != CONNECTION_STREAM &&
           (connection->state == CONNECTION_NEW || !atomic_load(&connection->is_held));
}

/* Whether to close @a before @b. Those whose request is under way go last. */
static bool goes_before(const Connection *a, const Connection *b) {
    bool a_is_last = a->state == CONNECTION_BODY || a->state == CONNECTION_REPLY;
    bool b_is_last = b->state == CONNECTION_BODY || b->state == CONNECTION_REPLY;

    return a_is_last != b_is_last ? b_is_last : a->since_nsec < b->since_nsec;
}

/* Makes room for one more connection, of @address unless that is NULL. One whose bytes no thread
 * has read yet is not silent. If it were evicted, a server that cannot keep up would complete no
 * handshake at all. */
static bool evict(Connections *connections, const unsigned char *address, bool only_handshakes) {
    Connection *victim = NULL;

    for (unsigned i = 0; i < connections->capacity; i++) {
        Connection *candidate = connections->slots[i];

        if (is_among(candidate, address) && is_evictable(candidate) &&
            (!only_handshakes || candidate->state == CONNECTION_NEW) &&
            (!victim || goes_before(candidate, victim)) && !connection_has_unread(candidate))
            victim = candidate;
    }
    if (!victim)
        return false;
    count(connections, SERVER_REFUSED_CONNECTIONS);
    cut(victim, SHUT_RDWR);
    if (victim->state == CONNECTION_NEW) {
        victim->next_evicted = connections->evicted;
        connections->evicted = victim;
    }
    return true;
}

static bool make_room(Connections *connections, const unsigned char *address, unsigned max) {
    Tally tally = tally_of(connections, address);
    unsigned handshakes_max = (max + CONNECTIONS_HANDSHAKE_SHARE - 1) / CONNECTIONS_HANDSHAKE_SHARE;

    if (tally.handshakes >= handshakes_max)
        return evict(connections, address, /* only_handshakes= */ true);
    return tally.all < max || evict(connections, address, /* only_handshakes= */ false);
}

static bool take_slot(Connections *connections, Connection *connection) {
    for (unsigned i = 0; i < connections->capacity; i++)
        if (!connections->slots[i]) {
            connections->slots[i] = connection;
            connection->slot = i;
            connections->n++;
            return true;
        }
    return false;
}

Connection *connections_add(
    Connections *connections, int fd, const struct sockaddr *address, int epoll_fd, int64_t now) {
    Connection *connection = calloc(1, sizeof(*connection));
    bool is_in = false;

    if (connection) {
        *connection = (Connection){
            .transport.fd = fd,
            .epoll_fd = epoll_fd,
            .state = CONNECTION_NEW,
            .since_nsec = now,
            .is_held = true,
        };
        copy_address(address, connection->address);
        lock(connections);
        is_in = make_room(connections, connection->address,
                    connections->options.connections_per_address_max) &&
                make_room(connections, NULL, connections->options.connections_max) &&
                take_slot(connections, connection);
        unlock(connections);
    }
    if (!is_in) {
        free(connection);
        count(connections, SERVER_REFUSED_CONNECTIONS);
        return NULL;
    }
    atomic_fetch_add_explicit(&connections->total, 1, memory_order_relaxed);
    return connection;
}

Connection *connections_take_evicted(Connections *connections) {
    Connection *connection;

    lock(connections);
    connection = connections->evicted;
    if (connection)
        connections->evicted = connection->next_evicted;
    unlock(connections);
    return connection;
}

bool connections_has_slot(const Connections *connections) {
    return connections_count(connections) < connections->capacity;
}

/* One more kept connection still leaves the share of new ones. */
static bool may_keep(const Tally *tally, unsigned max, bool is_unknown) {
    return tally->kept < max - max / CONNECTIONS_NEW_SHARE &&
           (!is_unknown || tally->unknown < max / CONNECTIONS_UNKNOWN_SHARE);
}

bool connection_keep(Connections *connections, Connection *connection, bool is_unknown) {
    const ServerOptions *options = &connections->options;

    if (connection->is_kept)
        return true;
    lock(connections);
    if (!connection->is_cut) {
        Tally same = tally_of(connections, connection->address);
        Tally all = tally_of(connections, NULL);

        connection->is_kept = may_keep(&same, options->connections_per_address_max, is_unknown) &&
                              may_keep(&all, options->connections_max, is_unknown);
        connection->is_unknown = connection->is_kept && is_unknown;
    }
    unlock(connections);
    return connection->is_kept;
}

void connections_remove(Connections *connections, Connection *connection) {
    assert(!connection->request && !connection->input);
    lock(connections);
    connections->slots[connection->slot] = NULL;
    connections->n--;
    unlock(connections);
    transport_close(&connection->transport);
    tls_set_unref(connection->tls);
    free(connection);
}

Connection *connections_first(Connections *connections) {
    for (unsigned i = 0; i < connections->capacity; i++)
        if (connections->slots[i])
            return connections->slots[i];
    return NULL;
}

static void enter(Connection *connection, ConnectionState state, int64_t now) {
    connection->state = state;
    connection->since_nsec = now;
    connection->mark_nsec = 0;
    if (state == CONNECTION_LINGER)
        connection->is_kept = connection->is_unknown = false;
}

bool connection_enter(
    Connections *connections, Connection *connection, ConnectionState state, int64_t now) {
    bool is_cut;

    lock(connections);
    is_cut = connection->is_cut;
    if (!is_cut)
        enter(connection, state, now);
    unlock(connections);
    return !is_cut;
}

bool connection_begin(Connections *connections, Connection *connection, int64_t now) {
    bool is_cut;

    atomic_store_explicit(&connection->body_bytes, 0, memory_order_relaxed);
    lock(connections);
    is_cut = connection->is_cut;
    if (!is_cut && connection->state == CONNECTION_IDLE)
        enter(connection, CONNECTION_HEADERS, now);
    unlock(connections);
    return !is_cut;
}

void connection_cut(Connections *connections, Connection *connection) {
    lock(connections);
    if (!connection->is_cut) {
        count(connections, SERVER_REFUSED_WRITE_TIME);
        cut(connection, SHUT_RDWR);
    }
    unlock(connections);
}

/* --- deadlines; all with the lock held --- */

static bool tcp_info(const Connection *connection, struct tcp_info *ret) {
    socklen_t size = sizeof(*ret);

    memset(ret, 0, sizeof(*ret));
    return getsockopt(connection->transport.fd, IPPROTO_TCP, TCP_INFO, ret, &size) == 0;
}

bool connection_has_unread(const Connection *connection) {
    int n = 0;

    return ioctl(connection->transport.fd, SIOCINQ, &n) == 0 && n > 0;
}

/* Shuts down reading. The worker then sees the end of input and replies 408 if the socket is
 * writable. */
static void time_out(Connections *connections, Connection *connection, ServerRefusal refusal) {
    atomic_store(&connection->is_late, true);
    count(connections, refusal);
    cut(connection, SHUT_RD);
}

static void check_headers(Connections *connections, Connection *connection, int64_t now) {
    if (now - connection->since_nsec > connections->options.header_sec * NSEC_PER_SEC &&
        !connection_has_unread(connection))
        time_out(connections, connection, SERVER_REFUSED_HEADER_TIME);
}

static void check_body(Connections *connections, Connection *connection, int64_t now) {
    const ServerOptions *options = &connections->options;
    int64_t late = now - connection->since_nsec;
    double wanted = (double)options->body_rate * (double)late / (double)NSEC_PER_SEC;

    if (late <= options->body_grace_sec * NSEC_PER_SEC)
        return;
    if ((double)atomic_load_explicit(&connection->body_bytes, memory_order_relaxed) < wanted &&
        !connection_has_unread(connection))
        time_out(connections, connection, SERVER_REFUSED_BODY_TIME);
}

/* The client must read at body_rate, measured over windows of write_sec: one that reads a byte now
 * and then keeps a reply in memory as long as one that reads none. */
static void check_reply(Connections *connections, Connection *connection, int64_t now) {
    const ServerOptions *options = &connections->options;
    uint64_t wanted = (uint64_t)options->body_rate * options->write_sec;
    struct tcp_info info;

    if (!tcp_info(connection, &info))
        return;
    if (connection->mark_nsec == 0) {
        connection->mark_nsec = connection->since_nsec;
        connection->mark = info.tcpi_bytes_acked;
        return;
    }
    if (now - connection->mark_nsec <= options->write_sec * NSEC_PER_SEC)
        return;
    if (info.tcpi_bytes_acked - connection->mark < wanted) {
        count(connections, SERVER_REFUSED_WRITE_TIME);
        cut(connection, SHUT_RDWR);
        return;
    }
    connection->mark_nsec = now;
    connection->mark = info.tcpi_bytes_acked;
}

/* A stream may be silent, but the client must read what is sent. The rate does not matter here:
 * stream_send() drops a client whose buffer is full. */
static void check_stream(Connections *connections, Connection *connection, int64_t now) {
    const ServerOptions *options = &connections->options;
    struct tcp_info info;

    if (!tcp_info(connection, &info))
        return;
    if (info.tcpi_state == PEER_HAS_CLOSED) {
        cut(connection, SHUT_RDWR);
        return;
    }
    if (connection->mark_nsec == 0 || info.tcpi_bytes_acked != connection->mark ||
        info.tcpi_unacked + info.tcpi_notsent_bytes == 0) {
        connection->mark_nsec = now;
        connection->mark = info.tcpi_bytes_acked;
    } else if (now - connection->mark_nsec > options->write_sec * NSEC_PER_SEC) {
        count(connections, SERVER_REFUSED_WRITE_TIME);
        cut(connection, SHUT_RDWR);
    }
}

/* Unread bytes in the kernel mean that a request has begun. The end of the last reply may still be
 * unacknowledged. */
static void check_idle(Connections *connections, Connection *connection, int64_t now) {
    const ServerOptions *options = &connections->options;
    int64_t idle = now - connection->since_nsec;
    struct tcp_info info;

    if (connection_has_unread(connection))
        return;
    if (idle > options->idle_sec * NSEC_PER_SEC)
        cut(connection, SHUT_RDWR);
    else if (idle > 2 * options->write_sec * NSEC_PER_SEC && tcp_info(connection, &info) &&
             info.tcpi_unacked + info.tcpi_notsent_bytes > 0) {
        count(connections, SERVER_REFUSED_WRITE_TIME);
        cut(connection, SHUT_RDWR);
    }
}

static void check_linger(Connections *connections, Connection *connection, int64_t now) {
    if (now - connection->since_nsec > CONNECTION_LINGER_SEC * NSEC_PER_SEC)
        cut(connection, SHUT_RDWR);
}

static void (*const checks[])(Connections *connections, Connection *connection, int64_t now) = {
    [CONNECTION_NEW] = check_headers,
    [CONNECTION_HEADERS] = check_headers,
    [CONNECTION_BODY] = check_body,
    [CONNECTION_HANDLING] = NULL, /* handle() has no deadline */
    [CONNECTION_REPLY] = check_reply,
    [CONNECTION_STREAM] = check_stream,
    [CONNECTION_LINGER] = check_linger,
    [CONNECTION_IDLE] = check_idle,
};

/* Whether the client of an idle connection or a stream had a valid certificate and has no longer.
 * The session is there while the lock is held; nothing changes its certificate after the handshake.
 */
static bool is_disallowed(const Connections *connections, Connection *connection, int64_t now_sec) {
    const ServerOptions *options = &connections->options;
    int64_t until = atomic_load(&connection->allowed_until_sec);
    uint64_t generation;
    char problem[256];

    if (until == 0 ||
        (connection->state != CONNECTION_IDLE && connection->state != CONNECTION_STREAM))
        return false;
    if (now_sec > until)
        return true;
    generation = tls_store_generation(options->tls);
    if (atomic_load(&connection->checked_generation) == generation ||
        connection->ticked_generation == generation)
        return false;
    connection->ticked_generation = generation;
    return !tls_store_peer_is_allowed(options->tls, connection->transport.session,
        options->client_names, options->n_client_names, &until, problem, sizeof(problem));
}

void connections_tick(Connections *connections, int64_t now) {
    int64_t now_sec = clock_wall_nsec() / NSEC_PER_SEC;

    for (unsigned from = 0; from < connections->capacity; from += TICK_BATCH) {
        lock(connections);
        for (unsigned i = from; i < from + TICK_BATCH && i < connections->capacity; i++) {
            Connection *connection = connections->slots[i];

            if (!connection || connection->is_cut)
                continue;
            if (is_disallowed(connections, connection, now_sec))
                cut(connection, SHUT_RDWR);
            else if (checks[connection->state])
                checks[connection->state](connections, connection, now);
        }
        unlock(connections);
    }
}

/* Whether no request seems to be on its way on @connection. A client that was busy a moment ago may
 * be sending its next one: better to answer that with "Connection: close". */
static bool is_silent(const Connection *connection, int64_t now) {
    struct tcp_info info;

    if (connection->state == CONNECTION_STREAM) /* did the client read the last chunk? */
        return connection->mark_nsec != 0 && now - connection->mark_nsec > DRAIN_AFTER_NSEC;
    if (connection->state != CONNECTION_IDLE && connection->state != CONNECTION_HEADERS &&
        connection->state != CONNECTION_NEW)
        return false;
    if (now - connection->since_nsec < DRAIN_AFTER_NSEC || connection_has_unread(connection))
        return false;
    return connection->state == CONNECTION_IDLE || !tcp_info(connection, &info) ||
           info.tcpi_bytes_received == 0;
}

unsigned connections_drain(Connections *connections, int64_t now) {
    unsigned left;

    lock(connections);
    for (unsigned i = 0; i < connections->capacity; i++) {
        Connection *connection = connections->slots[i];

        if (connection && !connection->is_cut && is_silent(connection, now))
            cut(connection, SHUT_RDWR);
        else if (connection && connection->state == CONNECTION_STREAM)
            wake(connection); /* to end */
    }
    left = connections->n;
    unlock(connections);
    return left;
}
