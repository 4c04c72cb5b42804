/* Which connection a new one evicts, and whose handshake is next. */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "base/nsec.h"
#include "base/test-assert.h"
#include "http/connections.h"

#define MAX 8u
#define HANDSHAKES_MAX 4u

typedef struct Table {
    ServerOptions options;
    atomic_uint_fast64_t refused[_SERVER_REFUSED_MAX];
    Connections *connections;
    int peers[64];
    size_t n_peers;
    int64_t now;
} Table;

static void table_init(Table *table, bool has_tls) {
    *table = (Table){.options = server_default_options(), .now = NSEC_PER_SEC};
    table->options.connections_max = MAX;
    table->options.connections_per_address_max = MAX;
    /* Nothing here uses it. */
    table->options.tls = has_tls ? (TlsStore *)(uintptr_t)table : NULL;
    table->connections = connections_new(&table->options, table->refused);
    assert_non_null(table->connections);
}

static void end_evicted(Table *table) {
    for (Connection *evicted; (evicted = connections_take_evicted(table->connections));)
        connections_remove(table->connections, evicted);
}

static void table_done(Table *table) {
    for (Connection *connection; (connection = connections_first(table->connections));)
        connections_remove(table->connections, connection);
    connections_free(table->connections);
    for (size_t i = 0; i < table->n_peers; i++)
        (void)close(table->peers[i]);
}

/* A client of @address connects. NULL: *ret_r has the reason. */
static Connection *add_client(Table *table, const char *address, int *ret_r) {
    struct sockaddr_in from = {.sin_family = AF_INET};
    Connection *connection = NULL;
    int fds[2];

    assert_int_equal(inet_pton(AF_INET, address, &from.sin_addr), 1);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    assert_true(table->n_peers < 64);
    table->peers[table->n_peers++] = fds[1];
    *ret_r = connections_add(
        table->connections, fds[0], (void *)&from, /* epoll_fd= */ -1, table->now, &connection);
    end_evicted(table);
    if (*ret_r != 0)
        (void)close(fds[0]);
    table->now += NSEC_PER_MSEC;
    return connection;
}

/* Adds a client whose first bytes have arrived. */
static Connection *add_sending_client(Table *table, const char *address) {
    int r;
    Connection *connection = add_client(table, address, &r);

    assert_int_equal(r, 0);
    assert_int_equal(write(table->peers[table->n_peers - 1], "x", 1), 1);
    connection_set_due(connection, table->now);
    return connection;
}

/* The server has read the bytes of @connection. */
static void note_read(Connection *connection) {
    char byte;

    assert_int_equal(read(connection->transport.fd, &byte, 1), 1);
    atomic_store(&connection->is_due, false);
}

static uint64_t n_refused(const Table *table) {
    return atomic_load(&table->refused[SERVER_REFUSED_CONNECTIONS]);
}

/* Addresses take turns, so a late address is not behind all connections of another one. */
static void test_addresses_take_turns(void **state) {
    Connection *order[4];
    Table table;

    (void)state;
    table_init(&table, /* has_tls= */ true);
    order[0] = add_sending_client(&table, "10.0.0.1");
    order[2] = add_sending_client(&table, "10.0.0.1");
    order[3] = add_sending_client(&table, "10.0.0.1");
    order[1] = add_sending_client(&table, "10.0.0.2");
    for (size_t i = 0; i < 4; i++) {
        table.now += NSEC_PER_MSEC;
        assert_ptr_equal(connections_next_handshake(table.connections, table.now), order[i]);
        assert_int_equal(order[i]->heard_nsec, table.now); /* its deadline starts again */
        note_read(order[i]);
    }
    assert_null(connections_next_handshake(table.connections, table.now));
    table_done(&table);
}

/* A busy server gets to a handshake after the client's deadline: the client has its whole time
 * again, and no more. */
static void test_waiting_for_the_server_is_not_late(void **state) {
    const int64_t deadline = SERVER_HEADER_SEC * NSEC_PER_SEC;
    Connection *connection;
    Table table;

    (void)state;
    table_init(&table, /* has_tls= */ true);
    connection = add_sending_client(&table, "10.0.0.1");
    table.now += 10 * deadline;
    connections_tick(table.connections, table.now);
    assert_ptr_equal(connections_next_handshake(table.connections, table.now), connection);
    note_read(connection);
    connections_tick(table.connections, table.now + deadline - NSEC_PER_SEC);
    assert_false(connection->is_cut);
    assert_int_equal(atomic_load(&table.refused[SERVER_REFUSED_HEADER_TIME]), 0);
    connections_tick(table.connections, table.now + deadline);
    assert_true(connection->is_cut);
    assert_int_equal(atomic_load(&table.refused[SERVER_REFUSED_HEADER_TIME]), 1);
    table_done(&table);
}

/* The rest of a request waits for a thread, and then that thread for a processor. The bytes are no
 * longer in the kernel then, and are not counted yet. */
static void test_a_request_that_waits_for_the_server_is_not_late(void **state) {
    static const struct {
        ConnectionState state;
        ServerRefusal refusal;
        int64_t sec;
    } cases[] = {
        {CONNECTION_HEADERS, SERVER_REFUSED_HEADER_TIME, SERVER_HEADER_SEC},
        {CONNECTION_BODY, SERVER_REFUSED_BODY_TIME, SERVER_BODY_GRACE_SEC},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const int64_t deadline = cases[i].sec * NSEC_PER_SEC;
        Connection *connection;
        Table table;

        table_init(&table, /* has_tls= */ true);
        connection = add_sending_client(&table, "10.0.0.1");
        assert_true(connection_enter(table.connections, connection, cases[i].state, table.now));
        atomic_store(&connection->is_held, false);
        connections_tick(table.connections, table.now += 10 * deadline); /* not read */
        assert_false(connection->is_cut);
        connection_hold(connection);
        note_read(connection);
        connections_tick(table.connections, table.now += 10 * deadline); /* not counted */
        assert_false(connection->is_cut);
        atomic_store(&connection->is_held, false);
        connections_tick(table.connections, table.now += deadline);
        assert_false(connection->is_cut);
        assert_int_equal(atomic_load(&table.refused[cases[i].refusal]), 0);
        connections_tick(table.connections, table.now + 1);
        assert_true(connection->is_cut);
        assert_int_equal(atomic_load(&table.refused[cases[i].refusal]), 1);
        table_done(&table);
    }
}

/* All handshakes wait for the server: another address replaces the last one of the longest queue;
 * the address with that queue replaces none. */
static void test_newcomer_replaces_the_last_of_the_longest_queue(void **state) {
    Connection *first = NULL;
    Table table;
    int r;

    (void)state;
    table_init(&table, /* has_tls= */ true);
    for (unsigned i = 0; i < HANDSHAKES_MAX; i++) {
        Connection *connection = add_sending_client(&table, "10.0.0.1");

        first = first ? first : connection;
    }
    assert_null(add_client(&table, "10.0.0.1", &r));
    assert_int_equal(r, CONNECTIONS_E_QUEUED);
    assert_int_equal(n_refused(&table), 0);
    assert_non_null(add_client(&table, "10.0.0.2", &r));
    assert_int_equal(n_refused(&table), 1);
    assert_int_equal(connections_count(table.connections), HANDSHAKES_MAX);
    assert_ptr_equal(connections_next_handshake(table.connections, table.now), first);
    table_done(&table);
}

/* Each is the first of its address, so the newcomer waits until the server has read one. That one
 * sent bytes a moment ago: it must be silent for a while, or all others must have been read. */
static void test_newcomer_waits_for_the_server(void **state) {
    Connection *clients[MAX];
    Table table;
    int r;

    (void)state;
    table_init(&table, /* has_tls= */ false);
    for (unsigned i = 0; i < MAX; i++) {
        char address[] = "10.0.0.0";

        address[sizeof(address) - 2] = (char)('1' + i);
        clients[i] = add_sending_client(&table, address);
    }
    assert_null(add_client(&table, "10.0.0.9", &r));
    assert_int_equal(r, CONNECTIONS_E_WAIT);
    note_read(clients[0]);
    assert_null(add_client(&table, "10.0.0.9", &r));
    assert_int_equal(r, CONNECTIONS_E_WAIT);
    table.now += CONNECTION_GRACE_MSEC * NSEC_PER_MSEC;
    assert_non_null(add_client(&table, "10.0.0.9", &r));
    assert_int_equal(n_refused(&table), 1);
    for (unsigned i = 1; i < MAX; i++)
        note_read(clients[i]);
    assert_non_null(add_client(&table, "10.0.0.10", &r));
    assert_int_equal(n_refused(&table), 2);
    table_done(&table);
}

/* A worker is about to end the only connection that may be replaced, after its last reply. */
static void test_newcomer_waits_for_a_worker(void **state) {
    Connection *last;
    Table table;
    int r;

    (void)state;
    table_init(&table, /* has_tls= */ false);
    table.options.connections_max = 1;
    connections_free(table.connections);
    table.connections = connections_new(&table.options, table.refused);
    last = add_client(&table, "10.0.0.1", &r);
    assert_true(connection_enter(table.connections, last, CONNECTION_LINGER, table.now));
    assert_null(add_client(&table, "10.0.0.2", &r));
    assert_int_equal(r, CONNECTIONS_E_WAIT);
    connections_remove(table.connections, last);
    assert_non_null(add_client(&table, "10.0.0.2", &r));
    assert_int_equal(n_refused(&table), 0);
    table_done(&table);
}

/* Kept connections are never replaced. */
static void test_refuses_among_kept_connections(void **state) {
    Table table;
    int r;

    (void)state;
    table_init(&table, /* has_tls= */ false);
    table.options.connections_max = table.options.connections_per_address_max = 1;
    connections_free(table.connections);
    table.connections = connections_new(&table.options, table.refused);
    assert_true(connection_keep(table.connections, add_client(&table, "10.0.0.1", &r), false));
    assert_null(add_client(&table, "10.0.0.2", &r));
    assert_int_equal(r, CONNECTIONS_E_FULL);
    assert_null(add_client(&table, "10.0.0.1", &r));
    assert_int_equal(r, CONNECTIONS_E_FULL);
    table_done(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses_take_turns),
        cmocka_unit_test(test_waiting_for_the_server_is_not_late),
        cmocka_unit_test(test_a_request_that_waits_for_the_server_is_not_late),
        cmocka_unit_test(test_newcomer_replaces_the_last_of_the_longest_queue),
        cmocka_unit_test(test_newcomer_waits_for_the_server),
        cmocka_unit_test(test_newcomer_waits_for_a_worker),
        cmocka_unit_test(test_refuses_among_kept_connections),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
