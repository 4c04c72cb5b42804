/* Connections by address: limits, deadlines, and which to close first. */

#include "http/connections.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/nsec.h"

/* Connections that are cut stay in the table until their worker has noticed. */
#define SPARE 64u

/* A connection younger than this is not pushed out by a new one: a flood of new
 * ones must not shut out a client that is about to speak. */
#define EVICT_AFTER_NSEC NSEC_PER_SEC

/* When we go down: how long a connection must have been silent to be cut. */
#define DRAIN_AFTER_NSEC NSEC_PER_SEC

/* How many connections are looked at under one hold of the lock. */
#define TICK_BATCH 32u

/* TCP_CLOSE_WAIT. <netinet/tcp.h> has it, but a tcp_info without byte counts. */
#define PEER_HAS_CLOSED 8

struct Connections {
    ServerOptions options;
    atomic_uint_fast64_t *refused;
    atomic_uint_fast64_t total;

    pthread_mutex_t lock; /* guards what follows */
    Connection **slots;   /* NULL: free */
    unsigned capacity;
    unsigned n, n_cut; /* n counts those that are cut too */
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
    for (unsigned i = 0; i < connections->capacity; i++)
        free(connections->slots[i]);
    pthread_mutex_destroy(&connections->lock);
    free(connections->slots);
    free(connections);
    return NULL;
}

unsigned connections_capacity(const Connections *connections) {
    return connections->capacity;
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

static void cut(Connections *connections, Connection *connection) {
    connection->is_cut = true;
    connections->n_cut++;
    (void)shutdown(connection->fd, SHUT_RDWR);
}

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

static bool is_evictable(const Connection *connection, int64_t now) {
    return !connection->is_cut &&
           (connection->state == CONNECTION_HEADERS || connection->state == CONNECTION_IDLE) &&
           now - connection->since_nsec > EVICT_AFTER_NSEC;
}

/* Whether @a rather than @b should go. Who does not get a request out goes before
 * who has shown to be a client. */
static bool goes_before(const Connection *a, const Connection *b) {
    if (a->state != b->state)
        return a->state == CONNECTION_HEADERS;
    return a->since_nsec < b->since_nsec;
}

/* Makes room for one more, from @address when that is the one with too many. */
static bool evict(Connections *connections, const unsigned char *address, int64_t now) {
    Connection *victim = NULL;

    for (unsigned i = 0; i < connections->capacity; i++) {
        Connection *candidate = connections->slots[i];

        if (!candidate || !is_evictable(candidate, now))
            continue;
        if (address && memcmp(candidate->address, address, 16) != 0)
            continue;
        if (!victim || goes_before(candidate, victim))
            victim = candidate;
    }
    if (!victim)
        return false;
    cut(connections, victim);
    return true;
}

static bool make_room(Connections *connections, const unsigned char *address, int64_t now) {
    unsigned n_same = 0;

    for (unsigned i = 0; i < connections->capacity; i++) {
        const Connection *other = connections->slots[i];

        if (other && !other->is_cut && memcmp(other->address, address, 16) == 0)
            n_same++;
    }
    if (n_same >= connections->options.connections_per_address_max)
        return evict(connections, address, now);
    if (connections->n - connections->n_cut >= connections->options.connections_max)
        return evict(connections, NULL, now);
    return true;
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
    Connections *connections, int fd, const struct sockaddr *address, int64_t now) {
    Connection *connection = calloc(1, sizeof(*connection));
    bool is_in = false;

    if (connection) {
        *connection = (Connection){
            .fd = fd,
            .is_tls = connections->options.tls != NULL,
            .state = CONNECTION_HEADERS,
            .since_nsec = now,
        };
        copy_address(address, connection->address);
        lock(connections);
        is_in =
            make_room(connections, connection->address, now) && take_slot(connections, connection);
        unlock(connections);
    }
    if (!is_in) {
        free(connection);
        count(connections, SERVER_REFUSED_CONNECTIONS);
        (void)shutdown(fd, SHUT_RDWR);
        return NULL;
    }
    atomic_fetch_add_explicit(&connections->total, 1, memory_order_relaxed);
    return connection;
}

void connections_remove(Connections *connections, Connection *connection) {
    if (!connection)
        return;
    lock(connections);
    connections->slots[connection->slot] = NULL;
    connections->n--;
    if (connection->is_cut)
        connections->n_cut--;
    unlock(connections);
    tls_set_unref(connection->tls);
    free(connection);
}

static void enter(Connection *connection, ConnectionState state, int64_t now) {
    connection->state = state;
    connection->since_nsec = now;
    connection->mark_nsec = 0;
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
        cut(connections, connection);
    }
    unlock(connections);
}

unsigned connection_cut_status(Connections *connections, const Connection *connection) {
    unsigned status;

    lock(connections);
    status = connection->cut_status;
    unlock(connections);
    return status;
}

/* --- deadlines; all with the lock held --- */

static bool tcp_info(const Connection *connection, struct tcp_info *ret) {
    socklen_t size = sizeof(*ret);

    memset(ret, 0, sizeof(*ret));
    return getsockopt(connection->fd, IPPROTO_TCP, TCP_INFO, ret, &size) == 0;
}

/* Bytes that have come but that we have not read: not the peer's fault. */
static bool has_unread(const Connection *connection) {
    int n = 0;

    return ioctl(connection->fd, SIOCINQ, &n) == 0 && n > 0;
}

/* The peer has sent its last byte, and all it sent has been read. libmicrohttpd
 * waits for edges and takes a short read for the end of what there is: an end
 * that came together with data goes unnoticed. */
static bool has_ended(const Connection *connection, const struct tcp_info *info) {
    return info->tcpi_state == PEER_HAS_CLOSED && !has_unread(connection);
}

/* Too late. In plain HTTP the client gets a 408, if it can be sent without waiting. */
static void time_out(
    Connections *connections, Connection *connection, ServerRefusal refusal, bool say) {
    static const char answer[] = "HTTP/1.1 408 Request Timeout\r\n"
                                 "Content-Type: text/plain; charset=utf-8\r\n"
                                 "Content-Length: 23\r\n"
                                 "Cache-Control: no-store\r\n"
                                 "Connection: close\r\n"
                                 "\r\n"
                                 "the request came late.\n";

    if (say && !connection->is_tls)
        (void)send(connection->fd, answer, sizeof(answer) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    connection->cut_status = 408;
    count(connections, refusal);
    cut(connections, connection);
}

static void check_headers(Connections *connections, Connection *connection, int64_t now) {
    struct tcp_info info;

    if (now - connection->since_nsec <= connections->options.header_sec * NSEC_PER_SEC)
        return;
    if (has_unread(connection))
        return;
    time_out(connections, connection, SERVER_REFUSED_HEADER_TIME,
        tcp_info(connection, &info) && info.tcpi_bytes_received > 0);
}

static void check_body(Connections *connections, Connection *connection, int64_t now) {
    const ServerOptions *options = &connections->options;
    int64_t late = now - connection->since_nsec;
    double wanted = (double)options->body_rate * (double)late / (double)NSEC_PER_SEC;
    struct tcp_info info;

    if (tcp_info(connection, &info) && has_ended(connection, &info)) {
        cut(connections, connection);
        return;
    }
    if (late <= options->body_grace_sec * NSEC_PER_SEC)
        return;
    if ((double)atomic_load_explicit(&connection->body_bytes, memory_order_relaxed) >= wanted)
        return;
    if (has_unread(connection))
        return;
    time_out(connections, connection, SERVER_REFUSED_BODY_TIME, true);
}

/* Bytes must leave at the rate at which bodies must come, seen over windows of
 * write_sec: a peer that takes a byte now and then holds a reply's memory as
 * surely as one that takes none. */
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
        cut(connections, connection);
        return;
    }
    connection->mark_nsec = now;
    connection->mark = info.tcpi_bytes_acked;
}

/* A stream may be silent for as long as it likes, but what is sent must be taken. How slowly does
 * not matter here: who does not keep up is given up when the buffer is full. */
static void check_stream(Connections *connections, Connection *connection, int64_t now) {
    const ServerOptions *options = &connections->options;
    struct tcp_info info;

    if (!tcp_info(connection, &info))
        return;
    if (has_ended(connection, &info)) {
        cut(connections, connection);
        return;
    }
    if (connection->mark_nsec == 0 || info.tcpi_bytes_acked != connection->mark ||
        info.tcpi_unacked + info.tcpi_notsent_bytes == 0) {
        connection->mark_nsec = now;
        connection->mark = info.tcpi_bytes_acked;
    } else if (now - connection->mark_nsec > options->write_sec * NSEC_PER_SEC) {
        count(connections, SERVER_REFUSED_WRITE_TIME);
        cut(connections, connection);
    }
}

/* An idle connection may still have the end of a reply in the kernel's buffers.
 * One byte more than at its start is the beginning of a request. */
static void check_idle(Connections *connections, Connection *connection, int64_t now) {
    const ServerOptions *options = &connections->options;
    struct tcp_info info;

    if (!tcp_info(connection, &info))
        return;
    if (has_ended(connection, &info)) {
        cut(connections, connection);
        return;
    }
    if (connection->mark_nsec == 0) {
        connection->mark_nsec = now;
        connection->mark = info.tcpi_bytes_received;
    } else if (info.tcpi_bytes_received > connection->mark) {
        enter(connection, CONNECTION_HEADERS, now);
        return;
    }
    if (now - connection->since_nsec > options->idle_sec * NSEC_PER_SEC)
        cut(connections, connection);
    else if (info.tcpi_unacked + info.tcpi_notsent_bytes > 0 &&
             now - connection->since_nsec > 2 * options->write_sec * NSEC_PER_SEC) {
        count(connections, SERVER_REFUSED_WRITE_TIME);
        cut(connections, connection);
    }
}

static void check_linger(Connections *connections, Connection *connection, int64_t now) {
    if (now - connection->since_nsec > CONNECTION_LINGER_SEC * NSEC_PER_SEC)
        cut(connections, connection);
}

static void (*const checks[])(Connections *connections, Connection *connection, int64_t now) = {
    [CONNECTION_HEADERS] = check_headers,
    [CONNECTION_BODY] = check_body,
    [CONNECTION_HANDLING] = NULL, /* takes as long as it takes */
    [CONNECTION_REPLY] = check_reply,
    [CONNECTION_STREAM] = check_stream,
    [CONNECTION_LINGER] = check_linger,
    [CONNECTION_IDLE] = check_idle,
};

void connections_tick(Connections *connections, int64_t now) {
    for (unsigned from = 0; from < connections->capacity; from += TICK_BATCH) {
        lock(connections);
        for (unsigned i = from; i < from + TICK_BATCH && i < connections->capacity; i++) {
            Connection *connection = connections->slots[i];

            if (connection && !connection->is_cut && checks[connection->state])
                checks[connection->state](connections, connection, now);
        }
        unlock(connections);
    }
}

/* Whether no request is on its way on @connection, as far as one can know: a
 * client that was busy a moment ago may just be sending the next one, and is
 * better sent away with the reply to that. */
static bool is_silent(const Connection *connection, int64_t now) {
    struct tcp_info info;

    if (connection->state == CONNECTION_STREAM) /* its end is sent: is it taken? */
        return connection->mark_nsec != 0 && now - connection->mark_nsec > DRAIN_AFTER_NSEC;
    if (connection->state != CONNECTION_IDLE && connection->state != CONNECTION_HEADERS)
        return false;
    if (now - connection->since_nsec < DRAIN_AFTER_NSEC || has_unread(connection))
        return false;
    if (!tcp_info(connection, &info))
        return true;
    if (connection->state == CONNECTION_HEADERS)
        return info.tcpi_bytes_received == 0;
    return connection->mark_nsec == 0 || info.tcpi_bytes_received == connection->mark;
}

unsigned connections_drain(Connections *connections, int64_t now) {
    unsigned left;

    lock(connections);
    for (unsigned i = 0; i < connections->capacity; i++) {
        Connection *connection = connections->slots[i];

        if (connection && !connection->is_cut && is_silent(connection, now))
            cut(connections, connection);
    }
    left = connections->n;
    unlock(connections);
    return left;
}
