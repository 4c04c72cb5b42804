/* Finds names for completion in kubeconfigs, files, the API server and a running berth. */

#include "commands/complete-names.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/ascii.h"
#include "checkup/check.h"
#include "cli/berth-client.h"
#include "cluster/snapshot.h"
#include "input/objects.h"
#include "kube/access.h"
#include "kube/blocking-client.h"
#include "kube/secret.h"
#include "yaml/document.h"
#include "json/read.h"

#define NAMES_MAX 2000u /* more than anybody looks through */
#define PAGE_NAMES "500"
#define KUBECONFIGS_MAX 16u
#define PATH_SIZE 4096u
#define ASK_SEC 1

/* Whether @name may be shown to a shell and typed by it as it stands: letters, digits and "._/-@",
 * no dash in front. Others are never offered: names of pods and nodes are other people's text. */
static bool is_plain(Str name) {
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if (c == '-' && (i == 0 || name.ptr[i - 1] == '/'))
            return false;
        if (!ascii_is_alnum(c) && (c == '\0' || !strchr("._/-@", c)))
            return false;
    }
    return name.len > 0;
}

/* Once each; names come in clusters, so looking at all of them again would be slow only where
 * nobody looks: over NAMES_MAX. */
static void add(NameList *names, Str name, Arena *arena) {
    Str *at;

    if (names->n >= NAMES_MAX || !is_plain(name))
        return;
    for (size_t i = 0; i < names->n; i++)
        if (str_eq(names->items[i], name))
            return;
    name = arena_copy(arena, name);
    at = name.ptr ? VEC_PUSH(names, arena) : NULL;
    if (at)
        *at = name;
}

static void add_pod(NameList *names, Str namespace, Str name, Arena *arena) {
    Str both;

    if (!is_plain(namespace) || !is_plain(name)) /* a NUL would end it here */
        return;
    both = arena_printf(arena, "%.*s/%.*s", STR_FMT(namespace), STR_FMT(name));
    if (both.ptr)
        add(names, both, arena);
}

/* --- kubeconfigs ------------------------------------------------------------------ */

static void add_contexts_of(const char *path, Arena *arena, NameList *names) {
    char error[ACCESS_ERROR_MAX];
    DiagList diags = DIAG_LIST_IN(arena);
    const YamlNode *contexts;
    YamlStream stream = {0};
    FileMark mark;
    Str text = STR_NULL;

    if (secret_read_file(path, ACCESS_FILE_MAX, &text, &mark, error) < 0)
        return;
    if (yaml_parse(str_from_c(path), text, arena, &diags, &stream) == 0 && stream.n_documents > 0) {
        contexts = yaml_find(stream.documents[0], STR("contexts"));
        for (size_t i = 0; contexts && contexts->kind == YAML_SEQUENCE && i < contexts->n; i++) {
            const YamlNode *name = yaml_find(contexts->items[i], STR("name"));

            if (name)
                add(names, name->text, arena);
        }
    }
    secret_wipe(text);
    free((void *)(uintptr_t)text.ptr);
}

void complete_contexts(const CompleteOptions *options, Arena *arena, NameList *names) {
    const char *listed = getenv("KUBECONFIG"), *home = getenv("HOME");
    Str rest = str_from_c(options->kubeconfig ? options->kubeconfig : listed), path;
    char own[PATH_SIZE];

    if (options->kubeconfig) {
        add_contexts_of(options->kubeconfig, arena, names);
        return;
    }
    for (unsigned i = 0; i < KUBECONFIGS_MAX && str_split(&rest, ':', &path); i++) {
        Str copy = arena_copy(arena, path);

        if (copy.ptr && !str_is_empty(path))
            add_contexts_of(copy.ptr, arena, names);
    }
    if (!listed && home &&
        (size_t)snprintf(own, sizeof(own), "%s/.kube/config", home) < sizeof(own))
        add_contexts_of(own, arena, names);
}

/* --- the API server ---------------------------------------------------------------- */

/* The object's {"namespace":…, "name":…}. */
static void read_name(JsonReader *reader, Arena *arena, Str *ret_namespace, Str *ret_name) {
    Str key;

    *ret_namespace = *ret_name = STR_NULL;
    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("namespace")))
            json_string(reader, arena, ret_namespace);
        else if (json_key_is(reader, key, STR("name")))
            json_string(reader, arena, ret_name);
        else
            json_skip(reader, NULL);
    }
}

/* Names of the objects in the array behind @list, each behind its @field. */
static void add_named(Str json, Str list, Str field, bool is_pod, Arena *arena, NameList *names) {
    Str key, namespace, name;
    JsonReader reader;

    json_reader_init(&reader, json);
    json_object(&reader);
    while (json_key(&reader, &key)) {
        if (!json_key_is(&reader, key, list)) {
            json_skip(&reader, NULL);
            continue;
        }
        json_array(&reader);
        while (json_element(&reader)) {
            json_object(&reader);
            while (json_key(&reader, &key)) {
                if (!json_key_is(&reader, key, field)) {
                    json_skip(&reader, NULL);
                    continue;
                }
                read_name(&reader, arena, &namespace, &name);
                if (json_error(&reader) != JSON_OK)
                    return;
                if (is_pod)
                    add_pod(names, namespace, name, arena);
                else
                    add(names, name, arena);
            }
        }
    }
}

static void add_from_server(
    const CompleteOptions *options, const char *path, bool is_pod, Arena *arena, NameList *names) {
    _cleanup_(access_freep) Access *access = NULL;
    BlockingRequest request = {.path = path, .sec = ASK_SEC};
    char error[ACCESS_ERROR_MAX > BLOCKING_CLIENT_ERROR_MAX ? ACCESS_ERROR_MAX
                                                            : BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;

    if (access_from_kubeconfig(options->kubeconfig, options->context, &access, error) < 0)
        return;
    if (blocking_client_request(access, &request, arena, &reply, error) == 0 && reply.status == 200)
        add_named(reply.body, STR("items"), STR("metadata"), is_pod, arena, names);
}

/* --- files -------------------------------------------------------------------------- */

static void add_nodes_of(const char *path, Arena *arena, NameList *names) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    char error[OBJECTS_ERROR_MAX];
    const NodeTable *table;

    if (cluster_load(path, &snapshot, error) < 0)
        return;
    table = snapshot_table(snapshot);
    for (uint32_t row = 0; row < table->n_rows; row++)
        if (table_node(table, row))
            add(names, table_node(table, row)->name, arena);
}

/* --- names -------------------------------------------------------------- */

void complete_nodes(const CompleteOptions *options, Arena *arena, NameList *names) {
    if (options->cluster)
        add_nodes_of(options->cluster, arena, names);
    else
        add_from_server(options, "/api/v1/nodes?limit=" PAGE_NAMES, false, arena, names);
}

void complete_pods(const CompleteOptions *options, Str prefix, Arena *arena, NameList *names) {
    const char *path = "/api/v1/pods?limit=" PAGE_NAMES;
    size_t slash = str_find(prefix, '/');

    if (options->cluster)
        return; /* a pod of a file is given as a file */
    if (slash != SIZE_MAX && slash > 0 && is_plain(str_take(prefix, slash)))
        path = arena_printf(arena, "/api/v1/namespaces/%.*s/pods?limit=" PAGE_NAMES,
            STR_FMT(str_take(prefix, slash)))
                   .ptr;
    if (path)
        add_from_server(options, path, true, arena, names);
}

void complete_decided_pods(const CompleteOptions *options, Arena *arena, NameList *names) {
    ServerSource source = options->source;
    char error[BERTH_CLIENT_ERROR_MAX];
    Str reply = STR_NULL;

    if (server_source_open(&source, "berth") == 0 &&
        berth_client_get(
            &source.access, STR("/api/v1/decisions?limit=1000"), arena, &reply, error) == 0)
        add_named(reply, STR("decisions"), STR("pod"), true, arena, names);
}

static void add_check(
    const char *name, const char *about, Arena *arena, NameList *names, NameList *abouts) {
    Str *name_at = VEC_PUSH(names, arena), *about_at = VEC_PUSH(abouts, arena);

    if (!name_at || !about_at)
        return;
    *name_at = str_from_c(name);
    *about_at = str_from_c(about);
}

void complete_checks(Arena *arena, NameList *names, NameList *abouts) {
    for (int i = 0; i < _CHECK_GROUPS; i++)
        add_check(check_group_name((CheckGroup)i), "all of this group", arena, names, abouts);
    for (size_t i = 0; i < n_checks; i++)
        add_check(checks[i].code, checks[i].title, arena, names, abouts);
}
