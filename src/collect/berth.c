/*
 * A berth is asked for three pages. Health is open to all, so that one that turns us away can still
 * be told from one that is not there.
 */

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/server-source.h"
#include "collect/collect.h"

#define READINESS_MAX 1024u

/* Retries while berths report different clusters. */
#define AGREEMENT_TRIES 4
#define AGREEMENT_LONG_NSEC (5 * NSEC_PER_SEC) /* not again after that */
#define AGREEMENT_PAUSE_NSEC (250 * NSEC_PER_MSEC)

static int set_error(BerthFact *fact, Arena *arena, const char *error) {
    fact->error = arena_copy(arena, str_from_c(error));
    return fact->error.ptr ? 1 : -ENOMEM;
}

/* 0 with a page; 1 with fact->error; or -ENOMEM. */
static int fetch_page(Collector *collector, const BerthAccess *access, const char *path,
    BlockingReply *ret, BerthFact *fact) {
    char error[BERTH_CLIENT_ERROR_MAX];
    int r = berth_client_request(access, str_from_c(path), STR_NULL, collector->arena, ret, error);

    if (r < 0)
        return r;
    if (r == 0 && ret->status == 200)
        return 0;
    if (r == 0) {
        fact->is_forbidden = ret->status == 401 || ret->status == 403;
        berth_client_explain(access, ret, collector->arena, error);
    }
    return set_error(fact, collector->arena, error);
}

static int not_a_berth(Collector *collector, BerthFact *fact, const char *path) {
    char error[BERTH_CLIENT_ERROR_MAX];

    (void)snprintf(error, sizeof(error),
        "%.*s: the page at %s is not berth's, or is of another version", STR_FMT(fact->url), path);
    return set_error(fact, collector->arena, error);
}

/* Health is open to all; what is amiss is in lines that begin with [-], or is an error as JSON. */
static int collect_readiness(Collector *collector, const BerthAccess *access, BerthFact *fact) {
    _cleanup_(buf_done) Buf text = BUF_INIT(READINESS_MAX);
    char error[BERTH_CLIENT_ERROR_MAX];
    BlockingReply reply;
    Str rest, line;
    int r = berth_client_request(
        access, STR("/readyz?verbose"), STR_NULL, collector->arena, &reply, error);

    if (r < 0)
        return r;
    if (r != 0)
        return set_error(fact, collector->arena, error);
    fact->is_ready = reply.status == 200;
    rest = reply.body;
    while (!fact->is_ready && str_split(&rest, '\n', &line))
        if (str_has_prefix(line, STR("[-]")) || str_has_prefix(line, STR("{")))
            buf_printf(&text, "%s%.*s", text.len > 0 ? "\n" : "", STR_FMT(line));
    fact->readiness = arena_copy(collector->arena, buf_str(&text));
    return fact->readiness.ptr ? 0 : -ENOMEM;
}

/* 0, 1 with fact->error, or -ENOMEM. */
static int collect_pages(
    Collector *collector, const BerthAccess *access, BerthFact *fact, BerthNeeds *needs) {
    BlockingReply reply;
    int64_t now;
    int r = collect_readiness(collector, access, fact);

    if (r != 0)
        return r;
    r = fetch_page(collector, access, "/api/v1/status", &reply, fact);
    now = clock_wall_nsec();
    if (r != 0)
        return r;
    if (!berth_status_read(reply.body, now, collector->arena, fact, needs))
        return not_a_berth(collector, fact, "/api/v1/status");
    r = fetch_page(collector, access, "/api/v1/sources", &reply, fact);
    if (r == 0 && !berth_sources_read(reply.body, collector->arena, fact, needs))
        r = not_a_berth(collector, fact, "/api/v1/sources");
    return r;
}

static void add_needs(Collector *collector, const BerthNeeds *needs) {
    BerthNeeds *all = &collector->needs;

    all->measures_nodes |= needs->measures_nodes;
    all->measures_pods |= needs->measures_pods;
    if (!str_is_empty(all->lease_name))
        return;
    all->lease_namespace = needs->lease_namespace;
    all->lease_name = needs->lease_name;
}

static int collect_one(Collector *collector, const char *server, BerthFact *fact) {
    BerthAccess access = collector->options->access;
    BerthNeeds needs = {0};
    int r;

    access.server = server;
    *fact = (BerthFact){.url = str_from_c(server)};
    if (collect_is_late(collector)) {
        fact->error = STR(COLLECT_LATE);
        return 0;
    }
    r = collect_pages(collector, &access, fact, &needs);
    add_needs(collector, &needs);
    return r < 0 ? r : 0;
}

/* The default address was not given by the user: if no berth is there, that is reported only when
 * nothing else was given either. */
static int collect_default(Collector *collector) {
    const CollectOptions *options = collector->options;
    BerthFact *fact = &collector->facts->berths[0];
    bool is_all = !collector->client && options->n_configs == 0;
    int r = collect_one(collector, SERVER_SOURCE_DEFAULT, fact);

    if (r < 0)
        return r;
    collector->facts->n_berths = str_is_empty(fact->error) || is_all;
    if (collector->facts->n_berths == 0)
        collect_note(collector,
            "no berth was checked: none answers at %s; name it with --server URL\n",
            SERVER_SOURCE_DEFAULT);
    return 0;
}

/* All of them know the same cluster: on a busy one two answers that were not given at the same
 * moment differ without anything being wrong. */
static bool do_clusters_agree(const InstallationFacts *facts) {
    Str first = STR_NULL;

    for (size_t i = 0; i < facts->n_berths; i++) {
        const BerthFact *berth = &facts->berths[i];

        if (!str_is_empty(berth->error) || str_is_empty(berth->cluster_digest))
            continue;
        if (str_is_empty(first))
            first = berth->cluster_digest;
        else if (!str_eq(first, berth->cluster_digest))
            return false;
    }
    return true;
}

static int collect_all(Collector *collector) {
    const CollectOptions *options = collector->options;
    InstallationFacts *facts = collector->facts;

    facts->n_berths = 0;
    for (size_t i = 0; i < options->n_servers; i++) {
        int r = collect_one(collector, options->servers[i], &facts->berths[i]);

        if (r < 0)
            return r;
        facts->n_berths++;
    }
    return 0;
}

int collect_berths(Collector *collector) {
    const CollectOptions *options = collector->options;
    InstallationFacts *facts = collector->facts;
    int64_t start;
    int r = 0;

    facts->berths = ARENA_ARRAY(collector->arena, BerthFact, FACTS_BERTHS_MAX);
    if (!facts->berths)
        return -ENOMEM;
    if (options->n_servers == 0)
        return collect_default(collector);
    start = clock_monotonic_nsec();
    for (int i = 0; i < AGREEMENT_TRIES; i++) {
        if (i > 0)
            (void)nanosleep(&(struct timespec){.tv_nsec = AGREEMENT_PAUSE_NSEC}, NULL);
        r = collect_all(collector);
        if (r < 0 || do_clusters_agree(facts) ||
            clock_monotonic_nsec() - start > AGREEMENT_LONG_NSEC)
            break;
    }
    return r;
}
