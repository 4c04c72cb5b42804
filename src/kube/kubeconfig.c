#include "kube/kubeconfig.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/diag.h"
#include "base/error.h"
#include "base/origin.h"
#include "kube/access.h"
#include "kube/message.h"
#include "yaml/document.h"

#define TREE_BUDGET (64 * ACCESS_FILE_MAX)
#define NAMES_SHOWN 12u
#define CLUSTER_EXTENSION STR("client.authentication.k8s.io/exec")

/* One file, parsed. */
typedef struct Layer {
    const char *path;
    const YamlNode *root; /* NULL: an empty file */
} Layer;

/* The first error sticks, and nothing is done after it: reading is a list of steps. */
typedef struct Reading {
    Arena *arena;
    Layer *layers;
    size_t n_layers;
    char *error;
    int r;
} Reading;

/* An entry of contexts, clusters or users. */
typedef struct Entry {
    const Layer *layer;
    const YamlNode *body; /* NULL: none, or null */
    Str name;
} Entry;

/* --- complaints --- */

__attribute__((format(printf, 3, 4))) static void refuse(
    Reading *reading, Place place, const char *format, ...) {
    char what[ACCESS_ERROR_MAX], where[64] = "";
    va_list arguments;

    if (reading->r < 0)
        return;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    if (place.line > 0)
        (void)snprintf(where, sizeof(where), ":%zu:%zu", place.line, place.column);
    reading->r =
        message_fail(-EINVAL, reading->error, "%.*s%s: %s", STR_FMT(place.file), where, what);
}

static void out_of_memory(Reading *reading) {
    if (reading->r == 0)
        reading->r = message_fail(-ENOMEM, reading->error, "kubeconfig: out of memory");
}

static Place place_of_file(const Layer *layer) {
    return (Place){.file = str_from_c(layer->path)};
}

/* --- nodes --- */

/* A mapping's value; NULL when it is not there or null. */
static const YamlNode *find(const YamlNode *mapping, const char *key) {
    const YamlNode *node = yaml_find(mapping, str_from_c(key));

    return node && node->kind != YAML_NULL ? node : NULL;
}

static const YamlNode *find_of_kind(
    Reading *reading, const YamlNode *mapping, const char *key, YamlKind kind) {
    const YamlNode *node = find(mapping, key);

    if (!node || node->kind == kind)
        return node;
    refuse(reading,
        node->place,
        "%s must be %s, not %s%s",
        key,
        yaml_kind_name(kind),
        yaml_kind_name(node->kind),
        kind == YAML_STRING && node->kind < YAML_STRING ? "; put it in quotes" : "");
    return NULL;
}

/* Empty counts as not given, as it does for kubectl. */
static const YamlNode *find_text(Reading *reading, const YamlNode *mapping, const char *key) {
    const YamlNode *node = find_of_kind(reading, mapping, key, YAML_STRING);

    return node && node->text.len > 0 ? node : NULL;
}

static bool read_bool(Reading *reading, const YamlNode *mapping, const char *key) {
    const YamlNode *node = find_of_kind(reading, mapping, key, YAML_BOOL);

    return node && node->boolean;
}

static char *copy(Reading *reading, Str text) {
    char *copied = secret_copy(text);

    if (!copied)
        out_of_memory(reading);
    return copied;
}

static char *read_text(Reading *reading, const YamlNode *mapping, const char *key) {
    const YamlNode *node = find_text(reading, mapping, key);

    return node ? copy(reading, node->text) : NULL;
}

/* --- values --- */

/* A path, relative to the file that names it. */
static char *resolve_path(Reading *reading, const Layer *layer, Str path) {
    const char *slash = strrchr(layer->path, '/');
    int folder = slash && path.ptr[0] != '/' ? (int)(slash - layer->path) + 1 : 0;
    char *resolved = NULL;

    if (asprintf(&resolved, "%.*s%.*s", folder, layer->path, STR_FMT(path)) < 0) {
        out_of_memory(reading);
        return NULL;
    }
    return resolved;
}

static void read_path(Reading *reading, const Entry *entry, const char *key, Secret *ret) {
    const YamlNode *node = find_text(reading, entry->body, key);

    if (node)
        ret->path = resolve_path(reading, entry->layer, node->text);
}

/* Base64 of PEM. */
static void read_data(Reading *reading, const Entry *entry, const char *key, Secret *ret) {
    _cleanup_(secret_buf_done) Buf pem = BUF_INIT(ACCESS_FILE_MAX);
    const YamlNode *node = find_text(reading, entry->body, key);
    const char *complaint;

    if (!node)
        return;
    (void)buf_reserve(&pem, node->text.len / 4 * 3 + 3); /* in one piece: nothing left behind */
    if (!base64_decode(node->text, &pem)) {
        refuse(reading,
            node->place,
            "%s is no base64; %.*s takes a file's name",
            key,
            (int)(strlen(key) - strlen("-data")),
            key);
        return;
    }
    if (buf_error(&pem) == -ENOMEM) {
        out_of_memory(reading);
        return;
    }
    complaint = buf_error(&pem) ? "is too large" : secret_complaint(SECRET_PEM, buf_str(&pem));
    if (complaint)
        refuse(reading, node->place, "%s %s", key, complaint);
    else
        ret->text = copy(reading, buf_str(&pem));
}

/* Given by file or inline; both are one too many. */
static void read_pem(Reading *reading, const Entry *entry, const char *key, Secret *ret) {
    char data_key[64];
    const YamlNode *data;

    (void)snprintf(data_key, sizeof(data_key), "%s-data", key);
    data = find_text(reading, entry->body, data_key);
    ret->kind = SECRET_PEM;
    if (data && find_text(reading, entry->body, key))
        refuse(reading, data->place, "%s and %s are both given; remove one", key, data_key);
    read_path(reading, entry, key, ret);
    read_data(reading, entry, data_key, ret);
}

/* --- files --- */

/* Nothing that may be a value is repeated. */
static Str show_diag(const Diag *diag) {
    if (str_has_prefix(diag->text, STR("alias ")))
        return STR("an alias is not supported");
    if (str_has_prefix(diag->text, STR("tag ")))
        return STR("a tag is not supported");
    return diag->text;
}

static void complain_of_syntax(Reading *reading, const Layer *layer, const DiagList *diags) {
    for (size_t i = 0; i < diags->diags.n; i++) {
        const Diag *diag = &diags->diags.items[i];

        if (diag->level != DIAG_ERROR)
            continue;
        refuse(reading,
            diag->place,
            "%.*s%s%.*s",
            STR_FMT(show_diag(diag)),
            diag->hint.len > 0 ? "; " : "",
            STR_FMT(diag->hint));
        return;
    }
    refuse(reading, place_of_file(layer), "is no YAML");
}

static void check_word(Reading *reading, const YamlNode *root, const char *key, const char *word) {
    const YamlNode *node = find_text(reading, root, key);

    if (node && !str_is(node->text, word))
        refuse(reading,
            node->place,
            "this is no kubeconfig: %s is \"%.*s\", not \"%s\"",
            key,
            STR_FMT(str_take(node->text, 64)),
            word);
}

static void layer_parse(Reading *reading, Layer *layer, const KubeconfigFile *file) {
    DiagList diags = DIAG_LIST_IN(reading->arena);
    YamlStream stream = {0};
    int r;

    layer->path = file->path;
    if (reading->r < 0)
        return;
    r = yaml_parse(str_from_c(file->path), file->text, reading->arena, &diags, &stream);
    layer->root = stream.n_documents > 0 ? stream.documents[0] : NULL;
    if (r == -ENOMEM)
        out_of_memory(reading);
    else if (r < 0)
        complain_of_syntax(reading, layer, &diags);
    else if (stream.n_documents > 1)
        refuse(reading, stream.documents[1]->place, "a second document; a kubeconfig is one");
    else if (layer->root && layer->root->kind != YAML_MAPPING)
        refuse(reading,
            layer->root->place,
            "this is no kubeconfig: it is %s",
            yaml_kind_name(layer->root->kind));
    check_word(reading, layer->root, "kind", "Config");
    check_word(reading, layer->root, "apiVersion", "v1");
}

static void parse_all(Reading *reading, const KubeconfigFile *files, size_t n_files) {
    reading->layers = ARENA_ARRAY(reading->arena, Layer, n_files);
    if (!reading->layers) {
        out_of_memory(reading);
        return;
    }
    reading->n_layers = n_files;
    for (size_t i = 0; i < n_files; i++)
        layer_parse(reading, &reading->layers[i], &files[i]);
}

/* Values that the tree holds copies of. */
static void wipe(const YamlNode *node) {
    if (!node)
        return;
    secret_wipe(node->text);
    for (size_t i = 0; i < node->n; i++)
        wipe(node->kind == YAML_MAPPING ? node->pairs[i].value : node->items[i]);
}

/* --- entries --- */

/* "contexts" and "context": a list and what is in it. */
typedef struct Section {
    const char *list, *body;
} Section;

static const Section contexts = {"contexts", "context"};
static const Section clusters = {"clusters", "cluster"};
static const Section users = {"users", "user"};

static const YamlNode *layer_list(Reading *reading, const Layer *layer, Section section) {
    return find_of_kind(reading, layer->root, section.list, YAML_SEQUENCE);
}

static const YamlNode *entry_name(Reading *reading, const YamlNode *item, Section section) {
    const YamlNode *name;

    if (item->kind != YAML_MAPPING) {
        refuse(reading,
            item->place,
            "an entry of %s must be a mapping with name and %s",
            section.list,
            section.body);
        return NULL;
    }
    name = find_text(reading, item, "name");
    if (!name)
        refuse(reading, item->place, "an entry of %s has no name", section.list);
    return name;
}

/* Whether @layer has it; two of one name in one file are an error, also here. */
static bool find_in_layer(
    Reading *reading, const Layer *layer, Section section, Str name, Entry *ret) {
    const YamlNode *list = layer_list(reading, layer, section);
    bool found = false;

    for (size_t i = 0; list && i < list->n && reading->r == 0; i++) {
        const YamlNode *at = entry_name(reading, list->items[i], section);

        if (!at || !str_eq(at->text, name))
            continue;
        if (found)
            refuse(reading,
                at->place,
                "a second entry of %s is called \"%.*s\"",
                section.list,
                STR_FMT(name));
        found = true;
        *ret = (Entry){
            .layer = layer,
            .name = at->text,
            .body = find_of_kind(reading, list->items[i], section.body, YAML_MAPPING),
        };
    }
    return found;
}

/* "dev, staging": what there is instead. */
static Str list_names(Reading *reading, Section section) {
    _cleanup_(buf_done) Buf names = BUF_INIT(ACCESS_ERROR_MAX);
    size_t n = 0;

    for (size_t i = 0; i < reading->n_layers; i++) {
        const YamlNode *list = layer_list(reading, &reading->layers[i], section);

        for (size_t k = 0; list && k < list->n; k++) {
            const YamlNode *name = yaml_find(list->items[k], STR("name"));

            if (!name || name->text.len == 0 || n++ >= NAMES_SHOWN)
                continue;
            buf_append(&names, n > 1 ? STR(", ") : STR_NULL);
            buf_append(&names, str_take(name->text, 64));
        }
    }
    if (n > NAMES_SHOWN)
        buf_printf(&names, " and %zu more", n - NAMES_SHOWN);
    return arena_copy(reading->arena, n == 0 ? STR("none") : buf_str(&names));
}

/* "a.yaml", "a.yaml and 2 more files" */
static Str list_files(Reading *reading) {
    const char *first = reading->layers[0].path;

    if (reading->n_layers == 1)
        return str_from_c(first);
    return arena_printf(reading->arena,
        "%s and %zu more file%s",
        first,
        reading->n_layers - 1,
        reading->n_layers > 2 ? "s" : "");
}

/* @place: who asks for it; line 0 when nobody in a file does. */
static Entry find_entry(Reading *reading, Section section, Str name, Place place) {
    Entry entry = {0};

    for (size_t i = 0; i < reading->n_layers && reading->r == 0; i++)
        if (find_in_layer(reading, &reading->layers[i], section, name, &entry))
            return entry;
    if (reading->r == 0)
        refuse(reading,
            place,
            "%s \"%.*s\" is not in %.*s; it has: %.*s",
            section.body,
            STR_FMT(str_take(name, 128)),
            STR_FMT(list_files(reading)),
            STR_FMT(list_names(reading, section)));
    return entry;
}

/* --- a context --- */

static Entry find_context(Reading *reading, const char *wanted) {
    if (wanted)
        return find_entry(
            reading, contexts, str_from_c(wanted), place_of_file(&reading->layers[0]));
    for (size_t i = 0; i < reading->n_layers; i++) {
        const YamlNode *node = find_text(reading, reading->layers[i].root, "current-context");

        if (node)
            return find_entry(reading, contexts, node->text, node->place);
    }
    refuse(reading,
        place_of_file(&reading->layers[0]),
        "no current-context is set; name a context, or set one with kubectl config use-context; "
        "there are: %.*s",
        STR_FMT(list_names(reading, contexts)));
    return (Entry){0};
}

static void read_server(Reading *reading, const Entry *cluster, Kubeconfig *config) {
    const YamlNode *node = find_text(reading, cluster->body, "server");
    const char *complaint;
    Str url;

    if (!node) {
        refuse(reading,
            cluster->body ? cluster->body->place : place_of_file(cluster->layer),
            "cluster \"%.*s\" has no server",
            STR_FMT(cluster->name));
        return;
    }
    complaint = origin_complaint(node->text);
    if (complaint)
        refuse(reading,
            node->place,
            "server %s%s",
            complaint,
            strcmp(complaint, "has a user in it") == 0 ? "; put it into the user's entry" : "");
    url = node->text;
    while (str_has_suffix(url, STR("/")))
        url.len--;
    config->server = copy(reading, url);
}

static void read_cluster(Reading *reading, const Entry *cluster, Kubeconfig *config) {
    const YamlNode *name = find_text(reading, cluster->body, "tls-server-name");

    read_server(reading, cluster, config);
    read_pem(reading, cluster, "certificate-authority", &config->ca);
    config->is_insecure = read_bool(reading, cluster->body, "insecure-skip-tls-verify");
    if (config->is_insecure && secret_is_given(&config->ca))
        refuse(reading,
            cluster->body->place,
            "cluster \"%.*s\" has both a certificate-authority and insecure-skip-tls-verify; "
            "remove one",
            STR_FMT(cluster->name));
    if (name && !origin_is_host_name(name->text))
        refuse(reading, name->place, "tls-server-name is no host name");
    config->tls_server_name = read_text(reading, cluster->body, "tls-server-name");
    config->proxy_url = read_text(reading, cluster->body, "proxy-url");
}

static void check_proxy(Reading *reading, const Entry *cluster) {
    static const Str schemes[] = {
        STR("http://"), STR("https://"), STR("socks5://"), STR("socks5h://")};
    const YamlNode *node = find_text(reading, cluster->body, "proxy-url");

    for (size_t i = 0; node && i < ELEMENTS_OF(schemes); i++)
        if (str_has_prefix(node->text, schemes[i]))
            return;
    if (node)
        refuse(reading, node->place, "proxy-url must begin with http://, https:// or socks5://");
}

/* --- the plugin --- */

static void read_args(Reading *reading, const YamlNode *body, ExecSpec *spec) {
    const YamlNode *list = find_of_kind(reading, body, "args", YAML_SEQUENCE);

    if (!list)
        return;
    if (list->n > EXEC_ARGS_MAX) {
        refuse(reading, list->place, "more than %u args", EXEC_ARGS_MAX);
        return;
    }
    spec->args = calloc(list->n + 1, sizeof(*spec->args));
    if (!spec->args) {
        out_of_memory(reading);
        return;
    }
    for (; spec->n_args < list->n && reading->r == 0; spec->n_args++) {
        const YamlNode *item = list->items[spec->n_args];

        if (item->kind != YAML_STRING)
            refuse(reading, item->place, "an argument must be a string; put it in quotes");
        else
            spec->args[spec->n_args] = copy(reading, item->text);
    }
}

static void read_variable(Reading *reading, const YamlNode *item, ExecVariable *ret) {
    const YamlNode *name = item->kind == YAML_MAPPING ? find_text(reading, item, "name") : NULL;
    const YamlNode *value =
        item->kind == YAML_MAPPING ? find_of_kind(reading, item, "value", YAML_STRING) : NULL;

    if (!name || str_find(name->text, '=') != SIZE_MAX) {
        refuse(reading, item->place, "an entry of env must have a name (without =) and a value");
        return;
    }
    ret->name = copy(reading, name->text);
    ret->value = copy(reading, value ? value->text : STR_NULL);
}

static void read_env(Reading *reading, const YamlNode *body, ExecSpec *spec) {
    const YamlNode *list = find_of_kind(reading, body, "env", YAML_SEQUENCE);

    if (!list)
        return;
    if (list->n > EXEC_ENV_MAX) {
        refuse(reading, list->place, "more than %u variables in env", EXEC_ENV_MAX);
        return;
    }
    spec->env = calloc(list->n + 1, sizeof(*spec->env));
    if (!spec->env) {
        out_of_memory(reading);
        return;
    }
    for (; spec->n_env < list->n && reading->r == 0; spec->n_env++)
        read_variable(reading, list->items[spec->n_env], &spec->env[spec->n_env]);
}

/* What the cluster has to say to plugins. */
static void read_cluster_config(Reading *reading, const Entry *cluster, ExecSpec *spec) {
    _cleanup_(buf_done) Buf json = BUF_INIT(ACCESS_FILE_MAX);
    const YamlNode *list = find_of_kind(reading, cluster->body, "extensions", YAML_SEQUENCE);

    for (size_t i = 0; list && i < list->n; i++) {
        const YamlNode *name = yaml_find(list->items[i], STR("name"));
        const YamlNode *extension = yaml_find(list->items[i], STR("extension"));

        if (!name || !extension || !str_eq(name->text, CLUSTER_EXTENSION))
            continue;
        yaml_to_json(extension, &json);
        spec->cluster_config = buf_error(&json) ? NULL : copy(reading, buf_str(&json));
        return;
    }
}

static void check_exec(Reading *reading, const YamlNode *body) {
    const YamlNode *version = find_text(reading, body, "apiVersion");
    const YamlNode *mode = find_text(reading, body, "interactiveMode");

    if (!find_text(reading, body, "command"))
        refuse(reading, body->place, "exec has no command");
    if (!version)
        refuse(reading, body->place, "exec has no apiVersion");
    else if (!exec_is_api_version(version->text))
        refuse(reading,
            version->place,
            "apiVersion \"%.*s\" of exec is not supported; "
            "client.authentication.k8s.io/v1 and v1beta1 are",
            STR_FMT(str_take(version->text, 64)));
    if (mode && str_is(mode->text, "Always"))
        refuse(reading,
            mode->place,
            "the plugin wants a terminal to ask on (interactiveMode: Always), which berth does "
            "not have");
    else if (mode && !str_is(mode->text, "Never") && !str_is(mode->text, "IfAvailable"))
        refuse(reading, mode->place, "interactiveMode must be Never, IfAvailable or Always");
}

static void read_exec(Reading *reading, const Entry *user, const Entry *cluster, ExecSpec **ret) {
    _cleanup_(exec_spec_freep) ExecSpec *spec = NULL;
    const YamlNode *body = find_of_kind(reading, user->body, "exec", YAML_MAPPING);
    const YamlNode *command;

    if (!body)
        return;
    check_exec(reading, body);
    command = find_text(reading, body, "command");
    spec = calloc(1, sizeof(*spec));
    if (!spec)
        out_of_memory(reading);
    if (reading->r < 0 || !spec || !command)
        return;
    spec->api_version = read_text(reading, body, "apiVersion");
    spec->command = str_find(command->text, '/') == SIZE_MAX
                        ? copy(reading, command->text)
                        : resolve_path(reading, user->layer, command->text);
    spec->install_hint = read_text(reading, body, "installHint");
    spec->wants_cluster = read_bool(reading, body, "provideClusterInfo");
    read_args(reading, body, spec);
    read_env(reading, body, spec);
    read_cluster_config(reading, cluster, spec);
    *ret = TAKE_PTR(spec);
}

/* --- the user --- */

static void read_token(Reading *reading, const Entry *user, Kubeconfig *config) {
    const YamlNode *node = find_text(reading, user->body, "token");
    const char *complaint = node ? secret_complaint(SECRET_TOKEN, node->text) : NULL;

    config->token.kind = SECRET_TOKEN;
    if (complaint)
        refuse(reading, node->place, "token %s", complaint);
    config->token.text = read_text(reading, user->body, "token");
    read_path(reading, user, "tokenFile", &config->token);
}

static bool has_colon(const char *text) {
    return text && strchr(text, ':');
}

static void check_user(Reading *reading, const Entry *user, const Kubeconfig *config) {
    const YamlNode *provider = find(user->body, "auth-provider");

    if (provider)
        refuse(reading,
            provider->place,
            "auth-provider is no longer supported, in kubectl since 1.26; use exec with the "
            "plugin of your provider");
    if (secret_is_given(&config->client_cert) != secret_is_given(&config->client_key))
        refuse(reading,
            user->body->place,
            "user \"%.*s\" has a %s",
            STR_FMT(user->name),
            secret_is_given(&config->client_cert) ? "client-certificate without a client-key"
                                                  : "client-key without a client-certificate");
    if (config->user && secret_is_given(&config->token))
        refuse(reading,
            user->body->place,
            "user \"%.*s\" has both a token and a username; remove one",
            STR_FMT(user->name));
    if (has_colon(config->user))
        refuse(reading, user->body->place, "a username cannot have a colon in it");
}

static void read_user(
    Reading *reading, const Entry *user, const Entry *cluster, Kubeconfig *config) {
    read_pem(reading, user, "client-certificate", &config->client_cert);
    read_pem(reading, user, "client-key", &config->client_key);
    read_token(reading, user, config);
    config->user = read_text(reading, user->body, "username");
    config->password = read_text(reading, user->body, "password");
    check_user(reading, user, config);
    /* What is said outright goes before what a plugin would have to be asked for. */
    if (!config->user && !secret_is_given(&config->token))
        read_exec(reading, user, cluster, &config->exec);
}

static void read_context(Reading *reading, const char *wanted, Kubeconfig *config) {
    Entry context = find_context(reading, wanted), cluster, user = {0};
    const YamlNode *cluster_name = find_text(reading, context.body, "cluster");
    const YamlNode *user_name = find_text(reading, context.body, "user");

    if (reading->r < 0)
        return;
    assert(context.layer); /* it was found */
    if (!cluster_name) {
        refuse(reading,
            context.body ? context.body->place : place_of_file(context.layer),
            "context \"%.*s\" has no cluster",
            STR_FMT(context.name));
        return;
    }
    config->file = copy(reading, str_from_c(context.layer->path));
    config->context = copy(reading, context.name);
    cluster = find_entry(reading, clusters, cluster_name->text, cluster_name->place);
    if (reading->r < 0)
        return;
    assert(cluster.layer);
    read_cluster(reading, &cluster, config);
    check_proxy(reading, &cluster);
    if (user_name)
        user = find_entry(reading, users, user_name->text, user_name->place);
    /* Over plain HTTP nobody is told who we are: kubectl does the same. */
    if (user_name && reading->r == 0 && str_has_prefix(str_from_c(config->server), STR("https:")))
        read_user(reading, &user, &cluster, config);
}

int kubeconfig_read(const KubeconfigFile *files, size_t n_files, const char *context,
    Kubeconfig *ret, char *error) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TREE_BUDGET);
    _cleanup_(kubeconfig_done) Kubeconfig config = {0};
    Reading reading = {.arena = arena, .error = error};

    assert(n_files > 0);
    if (!arena) {
        out_of_memory(&reading);
        return reading.r;
    }
    parse_all(&reading, files, n_files);
    if (reading.r == 0)
        read_context(&reading, context, &config);
    for (size_t i = 0; i < reading.n_layers; i++)
        wipe(reading.layers[i].root);
    if (reading.r < 0)
        return error_trace(reading.r);
    *ret = config;
    config = (Kubeconfig){0};
    return 0;
}

void kubeconfig_done(Kubeconfig *config) {
    secret_done(&config->ca);
    secret_done(&config->client_cert);
    secret_done(&config->client_key);
    secret_done(&config->token);
    secret_free(config->password);
    secret_free(config->proxy_url);
    exec_spec_free(config->exec);
    free(config->file);
    free(config->context);
    free(config->server);
    free(config->user);
    free(config->tls_server_name);
    *config = (Kubeconfig){0};
}
