/* The options for a running berth, the environment and the configuration file. */

#include "cli/server-source.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/terminal.h"
#include "yaml/document.h"

bool server_source_is_given(const ServerSource *source) {
    const BerthAccess *access = &source->access;

    return access->server || access->ca || access->cert || access->key || access->token_file;
}

const char *server_source_check(const ServerSource *source) {
    if (server_source_is_given(source) &&
        (cluster_source_is_live(&source->cluster) || source->namespace))
        return "--server and its credentials are instead of --kubeconfig, --context, --in-cluster "
               "and --berth-namespace";
    if (!source->access.cert != !source->access.key)
        return "--cert and --key go together";
    return cluster_source_check(&source->cluster);
}

static const char *variable(const char *name) {
    const char *value = getenv(name);

    return value && value[0] != '\0' ? value : NULL;
}

#define CONFIG_MAX ((size_t)64 * 1024)

/* "$XDG_CONFIG_HOME/berth/config.yaml"; ptr NULL: there is no such file. */
static Str find_config(Arena *arena) {
    const char *folder = variable("XDG_CONFIG_HOME"), *home = variable("HOME");
    Str path = folder ? arena_printf(arena, "%s/berth/config.yaml", folder)
               : home ? arena_printf(arena, "%s/.config/berth/config.yaml", home)
                      : STR_NULL;

    return path.ptr && access(path.ptr, F_OK) == 0 ? path : STR_NULL;
}

static _Noreturn void refuse(Place place, const char *why, Str what) {
    terminal_fail(
        "%.*s:%zu:%zu: %s%.*s", STR_FMT(place.file), place.line, place.column, why, STR_FMT(what));
}

static void read_member(const YamlPair *pair, Str file, Arena *arena, BerthAccess *ret) {
    const struct {
        const char *name;
        const char **value;
        bool is_path;
    } known[] = {
        {"server", &ret->server, false},
        {"ca", &ret->ca, true},
        {"cert", &ret->cert, true},
        {"key", &ret->key, true},
        {"tokenFile", &ret->token_file, true},
    };
    bool is_relative;
    Str folder;

    for (size_t i = 0; i < ELEMENTS_OF(known); i++) {
        if (!str_is(pair->key->text, known[i].name))
            continue;
        if (pair->value->kind != YAML_STRING || str_is_empty(pair->value->text))
            refuse(pair->value->place, "expected a string for ", pair->key->text);
        /* a path is relative to the file */
        is_relative = known[i].is_path && !str_has_prefix(pair->value->text, STR("/"));
        folder = is_relative ? str_folder(file) : STR_NULL;
        *known[i].value =
            arena_printf(arena, "%.*s%.*s", STR_FMT(folder), STR_FMT(pair->value->text)).ptr;
        return;
    }
    refuse(pair->key->place, "expected one of server, ca, cert, key and tokenFile, not ",
        pair->key->text);
}

static void load_config(Arena *arena, BerthAccess *ret) {
    _cleanup_(buf_done) Buf file = BUF_INIT(CONFIG_MAX);
    Str path = find_config(arena);
    DiagList diags = DIAG_LIST_IN(arena);
    YamlStream stream = {0};
    const YamlNode *root;
    int r;

    if (!path.ptr)
        return;
    terminal_read_file(path.ptr, &file);
    r = yaml_parse(path, arena_copy(arena, buf_str(&file)), arena, &diags, &stream);
    if (r == -ENOMEM)
        terminal_out_of_memory("the configuration file", arena);
    if (r < 0)
        terminal_exit_for(EXIT_FAILED, &diags);
    root = stream.n_documents > 0 ? stream.documents[0] : NULL;
    if (root && root->kind != YAML_MAPPING)
        refuse(root->place, "expected a mapping, like server: URL", STR_NULL);
    for (size_t i = 0; root && i < root->n; i++)
        read_member(&root->pairs[i], path, arena, ret);
}

bool server_source_is_cluster(const ServerSource *source, Arena *arena) {
    if (server_source_is_given(source))
        return false;
    if (cluster_source_is_live(&source->cluster) || source->namespace)
        return true;
    if (variable(SERVER_SOURCE_VARIABLE))
        return false;
    return strcmp(program_name, PROGRAM_PLUGIN) == 0 ||
           (source->prefers_cluster && !find_config(arena).ptr);
}

void server_source_check_token(const ServerSource *source) {
    _cleanup_(buf_done) Buf token = BUF_INIT(ACCESS_TOKEN_MAX);

    if (source->access.token_file)
        terminal_read_file(source->access.token_file, &token);
}

void server_source_open(ServerSource *source, Arena *arena) {
    BerthAccess config = {0};
    const char *wrong;

    if (!source->access.server)
        source->access.server = variable(SERVER_SOURCE_VARIABLE);
    if (!server_source_is_given(source))
        load_config(arena, &config);
    if (config.server) /* the credentials of the file are for the server of the file only */
        source->access = config;
    if (!source->access.server)
        source->access.server = SERVER_SOURCE_DEFAULT;
    wrong = server_source_check(source);
    if (wrong)
        terminal_fail("%s", wrong);
    server_source_check_token(source);
}
