/*
 * Sends one filter without nodes to the address that kube-scheduler would use, to see whether host,
 * port, path and verb reach a berth.
 *
 * It leaves no trace but a line among the decisions: the pod has no UID and no scheduler, so no
 * scheduler is counted as a caller, and there is no node that could be rejected.
 *
 * Authorization is not tested: we are not kube-scheduler. If berth rejects us, its verbs stay
 * unknown, and the probe counts as not made.
 */

#include "collect/collect.h"

static const char empty_filter[] =
    "{\"Pod\":{\"metadata\":{\"name\":\"berth-check\",\"namespace\":\"berth-check\"}},"
    "\"NodeNames\":[]}";

/* NULL for a filter's reply with NodeNames and no Error, or a prioritize's list; else the error. */
static const char *check_reply(Str body, Arena *arena) {
    typedef struct Reply {
        bool has_names;
        Str error;
    } Reply;
    static const JsonField fields[] = {
        JSON_CUSTOM("NodeNames", Reply, has_names, json_read_presence),
        JSON_MEMBER("Error", TEXT, Reply, error),
    };
    Reply reply = {0};

    if (str_has_prefix(str_trim(body), STR("[")))
        return NULL;
    if (!JSON_READ_DOCUMENT(body, arena, fields, &reply))
        return "the server there is no extender";
    if (!str_is_empty(reply.error))
        return arena_copy(arena, reply.error).ptr;
    return reply.has_names ? NULL : "the server there is no extender";
}

/* A verb without side effects. */
static Str choose_verb(const ExtenderEntry *entry) {
    return !str_is_empty(entry->filter_verb) ? entry->filter_verb : entry->prioritize_verb;
}

/* @is_named: the address is a --server, so it must answer. */
static void probe(
    Collector *collector, const ExtenderEntry *entry, bool is_named, BerthFact *fact) {
    BerthAccess access = collector->options->access;
    Arena *arena = collector->arena;
    Str prefix = arena_copy(arena, entry->url_prefix);
    Str path = arena_printf(arena, "/%.*s", STR_FMT(choose_verb(entry)));
    char error[BERTH_CLIENT_ERROR_MAX];
    const char *wrong = error;
    BlockingReply reply;
    bool is_there;

    access.server = prefix.ptr;
    is_there = berth_client_request(&access, path, STR(empty_filter), arena, &reply, error);
    if (reply.status == 401 || reply.status == 403 || (!is_there && !is_named))
        return;
    fact->was_probed = true;
    if (is_there && reply.status == 200)
        wrong = check_reply(reply.body, arena);
    else if (is_there)
        berth_client_explain(&access, &reply, arena, error);
    if (!wrong)
        return;
    /* Messages of berth_client_request() begin with the server. */
    fact->probe_error =
        wrong == error ? arena_printf(arena, "%.*s: %s", STR_FMT(path), wrong)
                       : arena_printf(arena, "%.*s%.*s: %s", STR_FMT(prefix), STR_FMT(path), wrong);
}

/* The entry by which kube-scheduler reaches this berth. With one berth and one entry they belong
 * together, unless the entry is a loopback address and we run elsewhere. */
static const ExtenderEntry *find_entry(
    const InstallationFacts *facts, const BerthFact *berth, bool *ret_is_named) {
    const ExtenderEntry *only = NULL;
    size_t n = 0;

    for (size_t i = 0; i < facts->n_configs; i++) {
        const SchedulerConfigFact *config = &facts->configs[i];
        const ExtenderEntry *entry;

        if (config->berth_index == SIZE_MAX)
            continue;
        entry = &config->config.extenders[config->berth_index];
        *ret_is_named = wiring_is_same_server(berth->url, entry->url_prefix);
        if (*ret_is_named)
            return entry;
        only = entry;
        n++;
    }
    *ret_is_named = false;
    return n == 1 && facts->n_berths == 1 && !address_is_loopback(only->url_prefix) ? only : NULL;
}

void collect_probes(Collector *collector) {
    InstallationFacts *facts = collector->facts;

    for (size_t i = 0; i < facts->n_berths; i++) {
        BerthFact *berth = &facts->berths[i];
        const ExtenderEntry *entry;
        bool is_named;

        if (!str_is_empty(berth->error) || collect_is_late(collector))
            continue;
        entry = find_entry(facts, berth, &is_named);
        if (entry && !str_is_empty(choose_verb(entry)))
            probe(collector, entry, is_named, berth);
    }
}
