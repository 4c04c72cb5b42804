/* The table of connections: the thread that holds each, states, deadlines and drains. */

#include <assert.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "http/connections-internal.h"

/* Connections that were cut stay in the table until their worker closes them. */
#define SPARE 256u

/* Draining closes a connection that has been silent for this long. */
#define DRAIN_AFTER_NSEC NSEC_PER_SEC

/* Connections checked per hold of the lock. */
#define TICK_BATCH 32u

/* TCP_CLOSE_WAIT, from <netinet/tcp.h>, which is not used: its tcp_info lacks byte counts. */
#define PEER_HAS_CLOSED 8

Connections *connections_new(const ServerOptions *options, atomic_uint_fast64_t *refused) {
    unsigned capacity = options->connections_max + SPARE;
    Connections *connections =
        calloc(1, sizeof(*connections) + capacity * sizeof(connections->slots[0]));

    if (!connections)
        return NULL;
    connections->options = *options;
    connections->refused = refused;
    connections->capacity = capacity;
    pthread_mutex_init(&connections->lock, NULL);
    return connections;
}

Connections *connections_free(Connections *connections) {
    if (!connections)
        return NULL;
    assert(connections->n == 0);
    pthread_mutex_destroy(&connections->lock);
    free(connections);
    return NULL;
}

unsigned connections_count(Connections *connections) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&connections->lock);

    return connections->n;
}

uint64_t connections_total(const Connections *connections) {
    return atomic_load_explicit(&connections->total, memory_order_relaxed);
}

void connections_count_refusal(Connections *connections, ServerRefusal refusal) {
    atomic_fetch_add_explicit(&connections->refused[refusal], 1, memory_order_relaxed);
}

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
    atomic_store(&connection->is_due, false);
}

/* Called with the lock held. Waits for a writable socket, which is usually ready at once. */
static void wake(Connection *connection) {
    if (!connection->is_asleep)
        return;
    connection->is_asleep = false;
    (void)!connection_arm(connection, EPOLLOUT); /* it is registered, so this cannot fail */
}

/* Called with the lock held. A client that still sends after its last reply gets a reset. Without
 * it the client could wait for minutes: the kernel no longer announces room for its bytes. */
void connection_shut(Connection *connection, int how) {
    const struct linger reset = {.l_onoff = 1, .l_linger = 0};

    atomic_store(&connection->is_cut, true);
    if (connection->state == CONNECTION_LINGER)
        (void)setsockopt(connection->transport.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    (void)shutdown(connection->transport.fd, how);
    if (connection->state == CONNECTION_STREAM)
        wake(connection);
}

void connection_sleep(Connections *connections, Connection *connection) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&connections->lock);

    connection->is_asleep = true;
    if (connection->is_cut && connection->state == CONNECTION_STREAM)
        wake(connection);
}

void connection_wake(Connections *connections, Connection *connection) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&connections->lock);

    wake(connection);
}

void connections_remove(Connections *connections, Connection *connection) {
    assert(!connection->request && !connection->input);
    pthread_mutex_lock(&connections->lock);
    connections->slots[connection->slot] = NULL;
    connections->n--;
    pthread_mutex_unlock(&connections->lock);
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
    if (connection->heard_nsec < now)
        connection->heard_nsec = now;
    connection->mark_nsec = 0;
    if (state == CONNECTION_LINGER)
        connection->is_kept = connection->is_unknown = false;
}

bool connection_enter(
    Connections *connections, Connection *connection, ConnectionState state, int64_t now) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&connections->lock);

    if (connection->state == CONNECTION_NEW && connection->turn > connections->turn)
        connections->turn = connection->turn;
    if (connection->is_cut)
        return false;
    enter(connection, state, now);
    return true;
}

bool connection_begin(Connections *connections, Connection *connection, int64_t now) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&connections->lock);

    atomic_store_explicit(&connection->body_bytes, 0, memory_order_relaxed);
    if (connection->is_cut)
        return false;
    if (connection->state == CONNECTION_IDLE)
        enter(connection, CONNECTION_HEADERS, now);
    return true;
}

/* Called with the lock held, if the client does not read. */
static void give_up(Connections *connections, Connection *connection) {
    connections_count_refusal(connections, SERVER_REFUSED_WRITE_TIME);
    connection_shut(connection, SHUT_RDWR);
}

void connection_cut(Connections *connections, Connection *connection) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&connections->lock);

    if (!connection->is_cut)
        give_up(connections, connection);
}

/* Deadlines. All are checked with the lock held. */

static bool tcp_info(const Connection *connection, struct tcp_info *ret) {
    socklen_t size = sizeof(*ret);

    memset(ret, 0, sizeof(*ret));
    return getsockopt(connection->transport.fd, IPPROTO_TCP, TCP_INFO, ret, &size) == 0;
}

int64_t connection_received_nsec(const Connection *connection, int64_t now) {
    struct tcp_info info;

    return tcp_info(connection, &info) ? now - info.tcpi_last_data_recv * NSEC_PER_MSEC : now;
}

bool connection_has_unread(const Connection *connection) {
    int n = 0;

    return ioctl(connection->transport.fd, SIOCINQ, &n) == 0 && n > 0;
}

/* Shuts down reading. The worker then sees the end of input, and replies 408 if it can. */
static void time_out(Connections *connections, Connection *connection, ServerRefusal refusal) {
    atomic_store(&connection->is_late, true);
    connections_count_refusal(connections, refusal);
    connection_shut(connection, SHUT_RD);
}

/* Whether bytes wait for a thread, or one has just read them. The time since the last check then
 * does not count, but for handshakes: connections_next_handshake() subtracts their waits. */
static bool waits_for_server(Connection *connection, int64_t now) {
    int64_t last = connection->mark_nsec != 0 ? connection->mark_nsec : connection->since_nsec;
    bool is_new = connection->state == CONNECTION_NEW; /* always held */

    connection->mark_nsec = now;
    if (!connection_has_unread(connection) && (is_new || !atomic_load(&connection->is_held)))
        return false;
    if (!is_new)
        connection->since_nsec += now - last;
    return true;
}

static void check_headers(Connections *connections, Connection *connection, int64_t now) {
    if (!waits_for_server(connection, now) &&
        now - connection->since_nsec > connections->options.header_sec * NSEC_PER_SEC)
        time_out(connections, connection, SERVER_REFUSED_HEADER_TIME);
}

static void check_body(Connections *connections, Connection *connection, int64_t now) {
    const ServerOptions *options = &connections->options;
    bool is_waiting = waits_for_server(connection, now);
    int64_t late = now - connection->since_nsec;
    double wanted = (double)options->body_rate * (double)late / (double)NSEC_PER_SEC;

    if (!is_waiting && late > options->body_grace_sec * NSEC_PER_SEC &&
        (double)atomic_load_explicit(&connection->body_bytes, memory_order_relaxed) < wanted)
        time_out(connections, connection, SERVER_REFUSED_BODY_TIME);
}

/* The client must read at body_rate, on average over write_sec: a client that reads a byte now and
 * then keeps its reply in memory just as one that reads none. */
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
        give_up(connections, connection);
        return;
    }
    connection->mark_nsec = now;
    connection->mark = info.tcpi_bytes_acked;
}

/* A stream may be silent, but the client must read its bytes. The rate does not matter here:
 * stream_send() disconnects a client whose buffer is full. */
static void check_stream(Connections *connections, Connection *connection, int64_t now) {
    const ServerOptions *options = &connections->options;
    struct tcp_info info;

    if (!tcp_info(connection, &info))
        return;
    if (info.tcpi_state == PEER_HAS_CLOSED) {
        connection_shut(connection, SHUT_RDWR);
        return;
    }
    if (connection->mark_nsec == 0 || info.tcpi_bytes_acked != connection->mark ||
        info.tcpi_unacked + info.tcpi_notsent_bytes == 0) {
        connection->mark_nsec = now;
        connection->mark = info.tcpi_bytes_acked;
    } else if (now - connection->mark_nsec > options->write_sec * NSEC_PER_SEC) {
        give_up(connections, connection);
    }
}

/* Unread bytes in the kernel are the start of a request. The end of the last reply may be
 * unacknowledged. */
static void check_idle(Connections *connections, Connection *connection, int64_t now) {
    const ServerOptions *options = &connections->options;
    int64_t idle = now - connection->since_nsec;
    struct tcp_info info;

    if (connection_has_unread(connection))
        return;
    if (idle > options->idle_sec * NSEC_PER_SEC)
        connection_shut(connection, SHUT_RDWR);
    else if (idle > 2 * options->write_sec * NSEC_PER_SEC && tcp_info(connection, &info) &&
             info.tcpi_unacked + info.tcpi_notsent_bytes > 0)
        give_up(connections, connection);
}

static void check_linger(Connections *connections, Connection *connection, int64_t now) {
    if (now - connection->since_nsec > CONNECTION_LINGER_SEC * NSEC_PER_SEC)
        connection_shut(connection, SHUT_RDWR);
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

/* Whether the client of an idle connection or stream had a valid certificate that is no longer
 * valid. The lock keeps the session alive; its certificate does not change after the handshake. */
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
        _unlock_ pthread_mutex_t *held = mutex_hold(&connections->lock);

        for (unsigned i = from; i < from + TICK_BATCH && i < connections->capacity; i++) {
            Connection *connection = connections->slots[i];

            if (!connection || connection->is_cut)
                continue;
            if (is_disallowed(connections, connection, now_sec))
                connection_shut(connection, SHUT_RDWR);
            else if (checks[connection->state])
                checks[connection->state](connections, connection, now);
        }
    }
}

/* Whether no request seems to be on its way. A client that was busy a moment ago may be sending its
 * next request, which had better get a reply with "Connection: close". */
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
    _unlock_ pthread_mutex_t *held = mutex_hold(&connections->lock);

    for (unsigned i = 0; i < connections->capacity; i++) {
        Connection *connection = connections->slots[i];

        if (connection && !connection->is_cut && is_silent(connection, now))
            connection_shut(connection, SHUT_RDWR);
        else if (connection && connection->state == CONNECTION_STREAM)
            wake(connection); /* so that it ends */
    }
    return connections->n;
}
