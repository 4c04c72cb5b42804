/* Places in the table of connections: limits, and the connection that a new one evicts. */

#include <netinet/in.h>
#include <stdlib.h>

#include "base/nsec.h"
#include "http/connections-internal.h"

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

static bool has_address(const Connection *connection, const unsigned char address[16]) {
    return memcmp(connection->address, address, sizeof(connection->address)) == 0;
}

/* Connections of one address, or of all, that were not cut. */
typedef struct Tally {
    unsigned all, handshakes, kept, unknown;
    uint64_t next_turn; /* the turn after those of connections that are not kept */
} Tally;

static bool is_among(const Connection *connection, const unsigned char *address) {
    return connection && !connection->is_cut && (!address || has_address(connection, address));
}

/* @address: NULL for all. */
static Tally tally_of(const Connections *connections, const unsigned char *address) {
    bool has_handshakes = connections->options.tls;
    Tally tally = {.next_turn = connections->turn};

    for (unsigned i = 0; i < connections->capacity; i++) {
        const Connection *connection = connections->slots[i];

        if (!is_among(connection, address))
            continue;
        tally.all++;
        tally.handshakes += has_handshakes && connection->state == CONNECTION_NEW;
        tally.kept += connection->is_kept;
        tally.unknown += connection->is_unknown;
        if (!connection->is_kept && connection->turn >= tally.next_turn)
            tally.next_turn = connection->turn + 1;
    }
    return tally;
}

/* Its first bytes are not read yet, or its handshake is not complete: soon it waits for its client,
 * or has ended. */
static bool is_early(const Connection *connection) {
    return connection->state == CONNECTION_NEW || connection->state == CONNECTION_HEADERS;
}

/* Whether no thread uses it. Called by the accepting thread, which holds all in NEW. */
static bool is_evictable(const Connection *connection) {
    return !connection->is_kept && connection->state != CONNECTION_HANDLING &&
           connection->state != CONNECTION_STREAM &&
           (connection->state == CONNECTION_NEW || !atomic_load(&connection->is_held));
}

/* Lower ranks are evicted first: refused connections first, those with a request last. */
static unsigned rank_of(const Connection *connection) {
    return connection->state == CONNECTION_LINGER ? 0 : is_early(connection) ? 1 : 2;
}

/* Whether to evict @a before @b. */
static bool goes_before(const Connection *a, const Connection *b) {
    unsigned rank_a = rank_of(a), rank_b = rank_of(b);

    return rank_a != rank_b ? rank_a < rank_b : a->heard_nsec < b->heard_nsec;
}

/* Whether @candidate came later in the queue of its address than @newcomer in its own. Turns that
 * are over do not count. */
static bool is_behind(
    const Connections *connections, const Connection *candidate, const Connection *newcomer) {
    return candidate->turn > connections->turn && candidate->turn > newcomer->turn;
}

/* Whether @newcomer may replace @candidate if that is silent: not if the newcomer's address has
 * more new connections. */
static bool may_replace(
    const Connections *connections, const Connection *candidate, const Connection *newcomer) {
    return newcomer->turn <= connections->turn || candidate->turn >= newcomer->turn ||
           has_address(candidate, newcomer->address);
}

static void evict(Connections *connections, Connection *victim) {
    connections_count_refusal(connections, SERVER_REFUSED_CONNECTIONS);
    connection_shut(victim, SHUT_RDWR);
    if (victim->state == CONNECTION_NEW) {
        victim->next_evicted = connections->evicted;
        connections->evicted = victim;
    }
}

/* Connections that a newcomer may evict. */
typedef struct Candidates {
    Connection *silent; /* silent the longest */
    Connection *last;   /* of the last turn, if after the newcomer's */
    bool has_due;
    bool has_busy; /* a thread will soon read, end or give up one: the newcomer can wait */
} Candidates;

/* Whether to evict @connection before the most silent one so far. */
static bool is_more_silent(const Candidates *candidates, const Connection *connection) {
    if (candidates->silent && !goes_before(connection, candidates->silent))
        return false;
    return !is_early(connection) || !connection_has_unread(connection);
}

static void consider(Candidates *candidates, const Connections *connections, Connection *connection,
    const Connection *newcomer) {
    bool is_due = atomic_load(&connection->is_due);

    candidates->has_busy |= is_early(connection) || atomic_load(&connection->is_held);
    candidates->has_due |= is_due;
    if (!is_evictable(connection))
        return;
    if (!is_due && may_replace(connections, connection, newcomer) &&
        is_more_silent(candidates, connection))
        candidates->silent = connection;
    if (is_due && is_behind(connections, connection, newcomer) &&
        (!candidates->last || connection->turn > candidates->last->turn))
        candidates->last = connection;
}

/* Evicts a connection, of @address if not NULL, for @newcomer: a silent one; or, if all wait for
 * this server, the last one of a longer queue. 0 or CONNECTIONS_E_*. */
static int evict_one(Connections *connections, const Connection *newcomer,
    const unsigned char *address, bool only_handshakes) {
    Candidates candidates = {0};
    Connection *silent;

    for (unsigned i = 0; i < connections->capacity; i++) {
        Connection *connection = connections->slots[i];

        if (is_among(connection, address) && !connection->is_kept &&
            (!only_handshakes || connection->state == CONNECTION_NEW))
            consider(&candidates, connections, connection, newcomer);
    }
    silent = candidates.silent;
    if (silent && candidates.has_due && is_early(silent) &&
        newcomer->since_nsec - silent->heard_nsec < CONNECTION_GRACE_MSEC * NSEC_PER_MSEC)
        silent = NULL;
    if (!silent && !candidates.last)
        return !candidates.has_busy                 ? CONNECTIONS_E_FULL
               : newcomer->turn > connections->turn ? CONNECTIONS_E_QUEUED
                                                    : CONNECTIONS_E_WAIT;
    evict(connections, silent ? silent : candidates.last);
    return 0;
}

/* Makes room for one more connection, of @address if not NULL. */
static int make_room(Connections *connections, const Connection *newcomer,
    const unsigned char *address, const Tally *tally, unsigned max) {
    unsigned handshakes_max = (max + CONNECTIONS_HANDSHAKE_SHARE - 1) / CONNECTIONS_HANDSHAKE_SHARE;
    bool has_too_many_handshakes = !address && tally->handshakes >= handshakes_max;

    if (!has_too_many_handshakes && tally->all < max)
        return 0;
    return evict_one(connections, newcomer, address, has_too_many_handshakes);
}

/* Called with the lock held. */
static int find_place(Connections *connections, Connection *newcomer) {
    const ServerOptions *options = &connections->options;
    Tally same = tally_of(connections, newcomer->address), all;
    int r;

    if (connections->n == connections->capacity)
        return CONNECTIONS_E_WAIT;
    newcomer->turn = same.next_turn;
    r = make_room(
        connections, newcomer, newcomer->address, &same, options->connections_per_address_max);
    if (r != 0)
        return r;
    all = tally_of(connections, NULL);
    r = make_room(connections, newcomer, NULL, &all, options->connections_max);
    if (r != 0)
        return r;
    while (connections->slots[newcomer->slot])
        newcomer->slot++;
    connections->slots[newcomer->slot] = newcomer;
    connections->n++;
    return 0;
}

int connections_add(Connections *connections, int fd, const struct sockaddr *address, int epoll_fd,
    int64_t now, Connection **ret) {
    Connection *connection = calloc(1, sizeof(*connection));
    int r = CONNECTIONS_E_FULL;

    if (connection) {
        *connection = (Connection){
            .transport.fd = fd,
            .epoll_fd = epoll_fd,
            .state = CONNECTION_NEW,
            .since_nsec = now,
            .heard_nsec = now,
            .is_held = true,
        };
        copy_address(address, connection->address);
        pthread_mutex_lock(&connections->lock);
        r = find_place(connections, connection);
        pthread_mutex_unlock(&connections->lock);
    }
    if (r != 0) {
        free(connection);
        return r;
    }
    atomic_fetch_add_explicit(&connections->total, 1, memory_order_relaxed);
    *ret = connection;
    return 0;
}

Connection *connections_take_evicted(Connections *connections) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&connections->lock);
    Connection *connection = connections->evicted;

    if (connection)
        connections->evicted = connection->next_evicted;
    return connection;
}

void connection_set_due(Connection *connection, int64_t received_nsec) {
    connection->due_nsec = received_nsec;
    atomic_store(&connection->is_due, true);
}

Connection *connections_next_handshake(Connections *connections, int64_t now) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&connections->lock);
    Connection *next = NULL;

    for (unsigned i = 0; i < connections->capacity; i++) {
        Connection *connection = connections->slots[i];

        if (connection && connection->state == CONNECTION_NEW && connection->is_due &&
            (!next || connection->turn < next->turn ||
                (connection->turn == next->turn && connection->since_nsec < next->since_nsec)))
            next = connection;
    }
    if (next) {
        next->heard_nsec = now;
        next->since_nsec += now - next->due_nsec;
        if (next->turn > connections->turn)
            connections->turn = next->turn;
    }
    return next;
}

/* Whether one more kept connection leaves the share of new ones free. */
static bool may_keep(const Tally *tally, unsigned max, bool is_unknown) {
    return tally->kept < max - max / CONNECTIONS_NEW_SHARE &&
           (!is_unknown || tally->unknown < max / CONNECTIONS_UNKNOWN_SHARE);
}

bool connection_keep(Connections *connections, Connection *connection, bool is_unknown) {
    const ServerOptions *options = &connections->options;

    if (connection->is_kept)
        return true;
    pthread_mutex_lock(&connections->lock);
    if (!connection->is_cut) {
        Tally same = tally_of(connections, connection->address);
        Tally all = tally_of(connections, NULL);

        connection->is_kept = may_keep(&same, options->connections_per_address_max, is_unknown) &&
                              may_keep(&all, options->connections_max, is_unknown);
        connection->is_unknown = connection->is_kept && is_unknown;
    }
    pthread_mutex_unlock(&connections->lock);
    return connection->is_kept;
}
