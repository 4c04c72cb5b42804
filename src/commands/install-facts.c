/* Reads the facts about a cluster for `berth install plan`. */

#include "commands/install-facts.h"

#include <stdio.h>

#include "base/url.h"
#include "checkup/berths.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "collect/collect.h"
#include "model/node.h"
#include "json/fields.h"

#define PATH_MAX_LEN ((size_t)1024)

typedef struct FactReader {
    Collector collector;
    InstallFacts *facts;
} FactReader;

static void note_failure(FactReader *reader, const char *what, const char *error) {
    collect_note(&reader->collector, "cannot read %s: %s\n", what, error);
}

/* --- lists ------------------------------------------------------------------------------- */

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

typedef struct NodeList {
    InstallFacts *facts;
    size_t n, n_remaining; /* of this page, and after it */
} NodeList;

static void read_node(JsonReader *reader, Arena *arena, void *target) {
    static const NodeParts parts = {.taints = true};
    NodeList *list = target;
    Node node;

    node_decode_parts(reader, arena, &parts, &node);
    list->n++;
    if (list->facts)
        add_control_plane(&node, list->facts);
}

/* Reads a NodeList; its nodes are counted, and kept as control planes if @facts is given. */
static bool read_nodes(Str body, Arena *arena, InstallFacts *facts, size_t *ret_n) {
    static const JsonField fields[] = {
        {"metadata.remainingItemCount", JSON_FIELD_COUNT, offsetof(NodeList, n_remaining)},
        {"items", JSON_FIELD_ARRAY, .read = read_node},
    };
    NodeList list = {.facts = facts};
    JsonReader reader;

    json_reader_init(&reader, body);
    JSON_READ_FIELDS(&reader, arena, fields, &list);
    json_end(&reader);
    *ret_n = list.n + list.n_remaining;
    return json_error(&reader) == JSON_OK;
}

/* --- subjects ------------------------------------------------------------------------------ */

/* False: they cannot be read, which is noted. */
static bool list_nodes(FactReader *reader, const char *path, bool is_control_plane, size_t *ret_n) {
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;
    InstallFacts *facts = is_control_plane ? reader->facts : NULL;

    if (!collect_get(&reader->collector, path, &reply, error))
        note_failure(reader, "nodes", error);
    else if (!read_nodes(reply.body, reader->collector.arena, facts, ret_n))
        note_failure(reader, "nodes", "the answer is no list of nodes");
    else
        return true;
    return false;
}

/* A page of one node has the number of all (remainingItemCount). Control planes are selected by
 * their label, which was "master" up to 1.23. */
static void find_nodes(FactReader *reader) {
    static const char *const by_label[] = {
        "/api/v1/nodes?labelSelector=node-role.kubernetes.io%2Fcontrol-plane&limit=32",
        "/api/v1/nodes?labelSelector=node-role.kubernetes.io%2Fmaster&limit=32",
    };
    InstallFacts *facts = reader->facts;
    size_t n;
    bool is_known =
        list_nodes(reader, "/api/v1/nodes?limit=1", /* is_control_plane= */ false, &facts->n_nodes);

    for (size_t i = 0; is_known && facts->n_control_planes == 0 && i < ELEMENTS_OF(by_label); i++)
        is_known = list_nodes(reader, by_label[i], /* is_control_plane= */ true, &n);
    facts->are_nodes_known = is_known;
}

static void find_schedulers(FactReader *reader) {
    static const char path[] =
        "/api/v1/namespaces/kube-system/pods?labelSelector=component%3Dkube-scheduler&limit=32";
    InstallFacts *facts = reader->facts;
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;

    facts->schedulers = ARENA_ARRAY(reader->collector.arena, SchedulerPod, INSTALL_SCHEDULERS_MAX);
    if (!facts->schedulers)
        return;
    if (!collect_get(&reader->collector, path, &reply, error))
        note_failure(reader, "kube-scheduler's pods", error);
    else if (!scheduler_pods_read(reply.body, reader->collector.arena, facts->schedulers,
                 INSTALL_SCHEDULERS_MAX, &facts->n_schedulers))
        note_failure(reader, "kube-scheduler's pods", "the answer is no list of pods");
    else
        facts->are_schedulers_known = true;
    for (size_t i = 0; facts->are_schedulers_known && i < facts->n_schedulers; i++)
        facts->n_static += facts->schedulers[i].pod.is_static;
}

static void find_berths(FactReader *reader) {
    const InstallationFacts *found = reader->collector.facts;
    InstallFacts *facts = reader->facts;

    collect_pods(&reader->collector);
    facts->are_berths_known = found->are_pods_known;
    facts->n_berths = found->n_pods;
    if (found->n_pods > 0)
        facts->berth_namespace = found->pods[0].namespace;
}

/* Whether there is an object at @path. */
static void find_object(
    FactReader *reader, const char *path, const char *what, bool *ret_is_known, bool *ret_has) {
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;
    int r = blocking_client_request_with(reader->collector.client, &(BlockingRequest){.path = path},
        reader->collector.arena, &reply, error);

    reader->collector.is_out_of_memory |= r < 0;
    *ret_has = r == 0 && reply.status == 200;
    *ret_is_known = r == 0 && (reply.status == 200 || reply.status == 404);
    if (*ret_is_known || r < 0)
        return;
    if (r == 0)
        blocking_client_explain(&reply, reader->collector.arena, error);
    note_failure(reader, what, error);
}

static void find_objects(FactReader *reader, const char *namespace) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_MAX_LEN);
    InstallFacts *facts = reader->facts;

    buf_append(&path, STR("/api/v1/namespaces/"));
    url_escape(&path, str_from_c(namespace));
    if (url_text(&path))
        find_object(reader, url_text(&path), "the namespace", &facts->is_namespace_known,
            &facts->has_namespace);
    reader->collector.is_out_of_memory |= !url_text(&path);
    find_object(reader, "/apis/rbac.authorization.k8s.io/v1/clusterroles/berth-decide",
        "ClusterRoles", &facts->is_role_known, &facts->has_role);
}

/* --- all of it --------------------------------------------------------------------------- */

static void find_all(FactReader *reader, const char *namespace) {
    InstallationFacts *facts = reader->collector.facts;

    collect_cluster(&reader->collector);
    if (!str_is_empty(facts->cluster_error))
        return;
    reader->facts->version = facts->cluster_version;
    reader->facts->minor = release_minor(facts->cluster_version);
    find_nodes(reader);
    find_schedulers(reader);
    find_berths(reader);
    find_objects(reader, namespace);
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
    r = cluster_source_access(source, &access);
    if (r != 0)
        return r;
    client = client_new(access);
    reader.collector.client = client;
    ret->was_read = true;
    ret->server = arena_copy(arena, str_from_c(access_server(access)));
    ret->origin = arena_copy(arena, str_from_c(access_origin(access)));
    progress_begin("reading the cluster");
    if (client)
        find_all(&reader, namespace);
    progress_end();
    if (!client || collect_has_failed(&reader.collector))
        return terminal_out_of_memory("the facts about the cluster", arena);
    if (str_is_empty(facts.cluster_error))
        return 0;
    (void)terminal_complain("%s cannot be reached", access_server(access));
    return terminal_complain("%s", arena_copy(arena, facts.cluster_error).ptr);
}

bool install_facts_are_managed(const InstallFacts *facts) {
    return facts->was_read && facts->are_schedulers_known && facts->n_schedulers == 0;
}
