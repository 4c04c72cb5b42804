/* Finds out what `berth install plan` says of a cluster. */

#include "commands/install-plan.h"

#include <errno.h>
#include <stdio.h>

#include "base/ascii.h"
#include "base/url.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "collect/collect.h"
#include "model/node.h"

#define WHO "berth install"
#define PATH_MAX_LEN ((size_t)1024)

typedef struct FactReader {
    Collector collector;
    InstallFacts *facts;
} FactReader;

static int note_failure(FactReader *reader, const char *what, const char *error) {
    collect_note(&reader->collector, "%s cannot be seen: %s\n", what, error);
    return 0;
}

/* --- lists ------------------------------------------------------------------------------- */

/* How many items are behind those of a page, by its metadata. */
static size_t read_remaining(JsonReader *reader) {
    int64_t n = 0;
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("remainingItemCount")))
            json_int64(reader, &n);
        else
            json_skip(reader, NULL);
    }
    return n > 0 ? (size_t)n : 0;
}

static bool is_tainted(const Node *node) {
    for (size_t i = 0; i < node->taints.n; i++)
        if (node->taints.items[i].effect == TAINT_NO_SCHEDULE ||
            node->taints.items[i].effect == TAINT_NO_EXECUTE)
            return true;
    return false;
}

static void add_control_plane(const Node *node, InstallFacts *facts) {
    if (facts->n_control_planes == INSTALL_CONTROL_PLANES_MAX)
        return;
    facts->control_planes[facts->n_control_planes++] = node->name;
    facts->n_tainted += is_tainted(node);
}

/* Reads a NodeList; its nodes are counted, and kept as control planes if @facts is given. */
static bool read_nodes(Str body, Arena *arena, InstallFacts *facts, size_t *ret_n) {
    static const NodeParts parts = {.taints = true};
    JsonReader reader;
    Str key;

    *ret_n = 0;
    json_reader_init(&reader, body);
    json_object(&reader);
    while (json_key(&reader, &key)) {
        if (json_key_is(&reader, key, STR("metadata"))) {
            *ret_n += read_remaining(&reader);
        } else if (json_key_is(&reader, key, STR("items"))) {
            json_array(&reader);
            while (json_element(&reader)) {
                Node node;

                node_decode_parts(&reader, arena, &parts, &node);
                ++*ret_n;
                if (facts)
                    add_control_plane(&node, facts);
            }
        } else {
            json_skip(&reader, NULL);
        }
    }
    json_end(&reader);
    return json_error(&reader) == JSON_OK;
}

/* --- subjects ------------------------------------------------------------------------------ */

/* 0 with the number of nodes; 1 when they cannot be seen, which is noted; or -ENOMEM. */
static int list_nodes(FactReader *reader, const char *path, bool is_control_plane, size_t *ret_n) {
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;
    int r = collect_get(&reader->collector, path, &reply, error);

    if (r < 0)
        return r;
    if (r == 0 && !read_nodes(reply.body, reader->collector.arena,
                      is_control_plane ? reader->facts : NULL, ret_n)) {
        (void)snprintf(error, sizeof(error), "the answer is no list of nodes");
        r = 1;
    }
    if (r != 0)
        (void)note_failure(reader, "nodes", error);
    return r;
}

/* A page of one node says how many there are; control planes are selected by their label, which
 * was "master" up to 1.23. */
static int find_nodes(FactReader *reader) {
    static const char *const by_label[] = {
        "/api/v1/nodes?labelSelector=node-role.kubernetes.io%2Fcontrol-plane&limit=32",
        "/api/v1/nodes?labelSelector=node-role.kubernetes.io%2Fmaster&limit=32",
    };
    InstallFacts *facts = reader->facts;
    size_t n;
    int r =
        list_nodes(reader, "/api/v1/nodes?limit=1", /* is_control_plane= */ false, &facts->n_nodes);

    for (size_t i = 0; r == 0 && facts->n_control_planes == 0 && i < ELEMENTS_OF(by_label); i++)
        r = list_nodes(reader, by_label[i], /* is_control_plane= */ true, &n);
    facts->are_nodes_known = r == 0;
    return r < 0 ? r : 0;
}

static int find_schedulers(FactReader *reader) {
    static const char path[] =
        "/api/v1/namespaces/kube-system/pods?labelSelector=component%3Dkube-scheduler&limit=32";
    InstallFacts *facts = reader->facts;
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;
    int r;

    facts->schedulers = ARENA_ARRAY(reader->collector.arena, SchedulerPod, INSTALL_SCHEDULERS_MAX);
    if (!facts->schedulers)
        return -ENOMEM;
    r = collect_get(&reader->collector, path, &reply, error);
    if (r < 0)
        return r;
    if (r != 0)
        return note_failure(reader, "kube-scheduler's pods", error);
    if (!scheduler_pods_read(reply.body, reader->collector.arena, facts->schedulers,
            INSTALL_SCHEDULERS_MAX, &facts->n_schedulers))
        return note_failure(reader, "kube-scheduler's pods", "the answer is no list of pods");
    facts->are_schedulers_known = true;
    for (size_t i = 0; i < facts->n_schedulers; i++)
        facts->n_static += facts->schedulers[i].pod.is_static;
    return 0;
}

static int find_berths(FactReader *reader) {
    const InstallationFacts *found = reader->collector.facts;
    InstallFacts *facts = reader->facts;
    int r = collect_pods(&reader->collector);

    if (r < 0)
        return r;
    facts->are_berths_known = found->are_pods_known;
    facts->n_berths = found->n_pods;
    if (found->n_pods > 0)
        facts->berth_namespace = found->pods[0].namespace;
    return 0;
}

/* Whether there is an object at @path. */
static int find_object(
    FactReader *reader, const char *path, const char *what, bool *ret_is_known, bool *ret_has) {
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;
    int r = blocking_client_request_with(reader->collector.client, &(BlockingRequest){.path = path},
        reader->collector.arena, &reply, error);

    if (r < 0)
        return r;
    *ret_has = r == 0 && reply.status == 200;
    *ret_is_known = r == 0 && (reply.status == 200 || reply.status == 404);
    if (*ret_is_known)
        return 0;
    if (r == 0)
        blocking_client_explain(&reply, reader->collector.arena, error);
    return note_failure(reader, what, error);
}

static int find_objects(FactReader *reader, const char *namespace) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_MAX_LEN);
    InstallFacts *facts = reader->facts;
    int r;

    buf_append(&path, STR("/api/v1/namespaces/"));
    url_escape(&path, str_from_c(namespace));
    if (!url_text(&path))
        return -ENOMEM;
    r = find_object(reader, url_text(&path), "the namespace", &facts->is_namespace_known,
        &facts->has_namespace);
    if (r == 0)
        r = find_object(reader, "/apis/rbac.authorization.k8s.io/v1/clusterroles/berth-decide",
            "ClusterRoles", &facts->is_role_known, &facts->has_role);
    return r;
}

/* 36 of "v1.36.4" and "v1.36+"; -1 when it is something else. */
static int minor_of(Str version) {
    int minor = 0;
    size_t i = 3;

    if (!str_has_prefix(version, STR("v1.")))
        return -1;
    for (; i < version.len && i < 6 && ascii_is_digit(version.ptr[i]); i++)
        minor = 10 * minor + (version.ptr[i] - '0');
    return i > 3 ? minor : -1;
}

/* --- all of it --------------------------------------------------------------------------- */

static int find_all(FactReader *reader, const char *namespace) {
    InstallationFacts *facts = reader->collector.facts;
    int r = collect_cluster(&reader->collector);

    if (r < 0 || !str_is_empty(facts->cluster_error))
        return r;
    reader->facts->version = facts->cluster_version;
    reader->facts->minor = minor_of(facts->cluster_version);
    r = find_nodes(reader);
    if (r == 0)
        r = find_schedulers(reader);
    if (r == 0)
        r = find_berths(reader);
    if (r == 0)
        r = find_objects(reader, namespace);
    return r;
}

int install_facts_collect(const ClusterSource *source, const char *namespace, Arena *arena,
    Buf *notes, InstallFacts *ret) {
    _cleanup_(access_freep) Access *access = NULL;
    _cleanup_(client_freep) Client *client = NULL;
    CollectOptions options = {0};
    InstallationFacts facts = {0};
    FactReader reader = {
        .collector = {.options = &options, .arena = arena, .facts = &facts, .notes = notes},
        .facts = ret,
    };
    int r;

    *ret = (InstallFacts){.minor = -1};
    if (!cluster_source_is_live(source))
        return 0;
    r = cluster_source_access(source, WHO, &access);
    if (r != 0)
        return r;
    client = client_new(access);
    reader.collector.client = client;
    ret->was_asked = true;
    ret->server = arena_copy(arena, str_from_c(access_server(access)));
    ret->origin = arena_copy(arena, str_from_c(access_origin(access)));
    r = client ? find_all(&reader, namespace) : -ENOMEM;
    if (r < 0 || arena_has_failed(arena))
        return terminal_out_of_memory(WHO);
    if (str_is_empty(facts.cluster_error))
        return 0;
    (void)fprintf(stderr, WHO ": %s cannot be reached\n", access_server(access));
    terminal_complain(WHO, arena_copy(arena, facts.cluster_error).ptr);
    return EXIT_UNREACHABLE;
}

bool install_facts_are_managed(const InstallFacts *facts) {
    return facts->was_asked && facts->are_schedulers_known && facts->n_schedulers == 0;
}
