/* Reads one context of a kubeconfig: its cluster, its user and the plugin that the user names. */

#include "kube/kubeconfig.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/diag.h"
#include "base/message.h"
#include "base/origin.h"
#include "kube/access.h"
#include "yaml/document.h"

#define TREE_BUDGET (64 * ACCESS_FILE_MAX)
#define CLUSTER_EXTENSION STR("client.authentication.k8s.io/exec")
#define NAMES_SHOWN 12u

/*
 * Tree: the YAML of all files of a kubeconfig, and the first error (r, and the message in error);
 * later errors are dropped. So a reader is a list of steps that checks r at the end.
 *
 * Results of tree_find…() are in the arena; those of tree_read…() are owned by the caller.
 */

/* One file, parsed. */
typedef struct TreeFile {
    const char *path;
    const YamlNode *root; /* NULL: an empty file */
} TreeFile;

typedef struct Tree {
    Arena *arena;
    TreeFile *files;
    size_t n_files;
    char *error; /* ACCESS_ERROR_MAX */
    int r;       /* 0, or a negative errno */
} Tree;

/* The keys of a list and of the object in each item: "contexts" and "context". */
typedef struct TreeSection {
    const char *list, *body;
} TreeSection;

typedef struct TreeEntry {
    const TreeFile *file; /* NULL: not found */
    const YamlNode *body; /* NULL: none, or null */
    Str name;
} TreeEntry;

static Place tree_file_place(const TreeFile *file) {
    return (Place){.file = str_from_c(file->path)};
}

/* --- complaints --- */

/* Sets the error, unless there is one. @place with line 0: the whole file. */
__attribute__((format(printf, 3, 4))) static void tree_refuse(
    Tree *tree, Place place, const char *format, ...) {
    char what[ACCESS_ERROR_MAX], where[64] = "";
    va_list arguments;

    if (tree->r < 0)
        return;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    if (place.line > 0)
        (void)snprintf(where, sizeof(where), ":%zu:%zu", place.line, place.column);
    tree->r = message_fail(-EINVAL, tree->error, "%.*s%s: %s", STR_FMT(place.file), where, what);
}

static void tree_lack_memory(Tree *tree) {
    if (tree->r == 0)
        tree->r = message_fail(-ENOMEM, tree->error, "out of memory for the kubeconfig");
}

/* --- nodes --- */

/* NULL if it does not exist, is null, or has another kind, which is an error. @mapping may be
 * NULL. */
static const YamlNode *tree_find(
    Tree *tree, const YamlNode *mapping, const char *key, YamlKind kind) {
    const YamlNode *node = yaml_find(mapping, str_from_c(key));

    if (!node || node->kind == YAML_NULL)
        return NULL;
    if (node->kind == kind)
        return node;
    tree_refuse(tree, node->place, "%s must be %s, not %s%s", key, yaml_kind_name(kind),
        yaml_kind_name(node->kind),
        kind == YAML_STRING && node->kind < YAML_STRING ? "; put it in quotes" : "");
    return NULL;
}

/* Finds a string. An empty one counts as not given, as in kubectl. */
static const YamlNode *tree_find_text(Tree *tree, const YamlNode *mapping, const char *key) {
    const YamlNode *node = tree_find(tree, mapping, key, YAML_STRING);

    return node && node->text.len > 0 ? node : NULL;
}

static bool tree_read_bool(Tree *tree, const YamlNode *mapping, const char *key) {
    const YamlNode *node = tree_find(tree, mapping, key, YAML_BOOL);

    return node && node->boolean;
}

static char *tree_copy(Tree *tree, Str text) {
    char *copied = secret_copy(text);

    if (!copied)
        tree_lack_memory(tree);
    return copied;
}

static char *tree_read_text(Tree *tree, const YamlNode *mapping, const char *key) {
    const YamlNode *node = tree_find_text(tree, mapping, key);

    return node ? tree_copy(tree, node->text) : NULL;
}

/* --- values --- */

/* Resolves a path relative to the file that names it. */
static char *tree_resolve(Tree *tree, const TreeFile *file, Str path) {
    const char *slash = strrchr(file->path, '/');
    int folder = slash && path.ptr[0] != '/' ? (int)(slash - file->path) + 1 : 0;
    char *resolved = NULL;

    if (asprintf(&resolved, "%.*s%.*s", folder, file->path, STR_FMT(path)) < 0) {
        tree_lack_memory(tree);
        return NULL;
    }
    return resolved;
}

static void tree_read_path(Tree *tree, const TreeEntry *entry, const char *key, Secret *ret) {
    const YamlNode *node = tree_find_text(tree, entry->body, key);

    if (node)
        ret->path = tree_resolve(tree, entry->file, node->text);
}

/* Reads a value that is PEM in base64. */
static void read_data(Tree *tree, const TreeEntry *entry, const char *key, Secret *ret) {
    _cleanup_(secret_buf_done) Buf pem = BUF_INIT(ACCESS_FILE_MAX);
    const YamlNode *node = tree_find_text(tree, entry->body, key);
    const char *complaint;

    if (!node)
        return;
    (void)buf_reserve(
        &pem, node->text.len / 4 * 3 + 3); /* one allocation: growing would leave copies */
    if (!base64_decode(node->text, &pem)) {
        tree_refuse(tree, node->place, "%s is no base64; %.*s takes a file's name", key,
            (int)(strlen(key) - strlen("-data")), key);
        return;
    }
    if (buf_error(&pem) == -ENOMEM) {
        tree_lack_memory(tree);
        return;
    }
    complaint = buf_error(&pem) ? "is too large" : secret_complaint(SECRET_PEM, buf_str(&pem));
    if (complaint)
        tree_refuse(tree, node->place, "%s %s", key, complaint);
    else
        ret->text = tree_copy(tree, buf_str(&pem));
}

/* Reads a certificate or a key from a file (@key) or inline (@key "-data"); both are an error. */
static void tree_read_pem(Tree *tree, const TreeEntry *entry, const char *key, Secret *ret) {
    char data_key[64];
    const YamlNode *data;

    (void)snprintf(data_key, sizeof(data_key), "%s-data", key);
    data = tree_find_text(tree, entry->body, data_key);
    ret->kind = SECRET_PEM;
    if (data && tree_find_text(tree, entry->body, key))
        tree_refuse(tree, data->place, "%s and %s are both given; remove one", key, data_key);
    tree_read_path(tree, entry, key, ret);
    read_data(tree, entry, data_key, ret);
}

/* --- files --- */

static void complain_of_syntax(Tree *tree, const TreeFile *file, const DiagList *diags) {
    for (size_t i = 0; i < diags->diags.n; i++) {
        const Diag *diag = &diags->diags.items[i];
        Str text = diag->text;

        if (diag->level != DIAG_ERROR)
            continue;
        if (str_has_prefix(text, STR("alias "))) /* never repeat a value, which may be secret */
            text = STR("an alias is not supported");
        else if (str_has_prefix(text, STR("tag ")))
            text = STR("a tag is not supported");
        tree_refuse(tree, diag->place, "%.*s%s%.*s", STR_FMT(text), diag->hint.len > 0 ? "; " : "",
            STR_FMT(diag->hint));
        return;
    }
    tree_refuse(tree, tree_file_place(file), "is no YAML");
}

static void check_word(Tree *tree, const YamlNode *root, const char *key, const char *word) {
    const YamlNode *node = tree_find_text(tree, root, key);

    if (node && !str_is(node->text, word))
        tree_refuse(tree, node->place, "this is no kubeconfig: %s is \"%.*s\", not \"%s\"", key,
            STR_FMT(str_take(node->text, 64)), word);
}

static void parse_file(Tree *tree, const KubeconfigFile *from, TreeFile *file) {
    DiagList diags = DIAG_LIST_IN(tree->arena);
    YamlStream stream = {0};
    int r;

    file->path = from->path;
    if (tree->r < 0)
        return;
    r = yaml_parse(str_from_c(from->path), from->text, tree->arena, &diags, &stream);
    file->root = stream.n_documents > 0 ? stream.documents[0] : NULL;
    if (r == -ENOMEM)
        tree_lack_memory(tree);
    else if (r < 0)
        complain_of_syntax(tree, file, &diags);
    else if (stream.n_documents > 1)
        tree_refuse(tree, stream.documents[1]->place, "a second document; a kubeconfig is one");
    else if (file->root && file->root->kind != YAML_MAPPING)
        tree_refuse(tree, file->root->place, "this is no kubeconfig: it is %s",
            yaml_kind_name(file->root->kind));
    check_word(tree, file->root, "kind", "Config");
    check_word(tree, file->root, "apiVersion", "v1");
}

static void wipe(const YamlNode *node) {
    if (!node)
        return;
    secret_wipe(node->text);
    for (size_t i = 0; i < node->n; i++)
        wipe(node->kind == YAML_MAPPING ? node->pairs[i].value : node->items[i]);
}

/* --- entries --- */

static const YamlNode *list_of(Tree *tree, const TreeFile *file, const TreeSection *section) {
    return tree_find(tree, file->root, section->list, YAML_SEQUENCE);
}

static const YamlNode *entry_name(Tree *tree, const YamlNode *item, const TreeSection *section) {
    const YamlNode *name;

    if (item->kind != YAML_MAPPING) {
        tree_refuse(tree, item->place, "an entry of %s must be a mapping with name and %s",
            section->list, section->body);
        return NULL;
    }
    name = tree_find_text(tree, item, "name");
    if (!name)
        tree_refuse(tree, item->place, "an entry of %s has no name", section->list);
    return name;
}

/* Whether @file has the entry; two with the same name in one file are an error. */
static bool find_in_file(
    Tree *tree, const TreeFile *file, const TreeSection *section, Str name, TreeEntry *ret) {
    const YamlNode *list = list_of(tree, file, section);
    bool found = false;

    for (size_t i = 0; list && i < list->n && tree->r == 0; i++) {
        const YamlNode *at = entry_name(tree, list->items[i], section);

        if (!at || !str_eq(at->text, name))
            continue;
        if (found)
            tree_refuse(tree, at->place, "a second entry of %s is called \"%.*s\"", section->list,
                STR_FMT(name));
        found = true;
        *ret = (TreeEntry){
            .file = file,
            .name = at->text,
            .body = tree_find(tree, list->items[i], section->body, YAML_MAPPING),
        };
    }
    return found;
}

/* The names in the list: "dev, staging". */
static Str tree_list_names(Tree *tree, const TreeSection *section) {
    _cleanup_(buf_done) Buf names = BUF_INIT(ACCESS_ERROR_MAX);
    size_t n = 0;

    for (size_t i = 0; i < tree->n_files; i++) {
        const YamlNode *list = list_of(tree, &tree->files[i], section);

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
    return arena_copy(tree->arena, n == 0 ? STR("none") : buf_str(&names));
}

/* "a.yaml", "a.yaml and 2 more files" */
static Str list_files(Tree *tree) {
    const char *first = tree->files[0].path;

    if (tree->n_files == 1)
        return str_from_c(first);
    return arena_printf(tree->arena, "%s and %zu more file%s", first, tree->n_files - 1,
        tree->n_files > 2 ? "s" : "");
}

/* Finds the first entry with that name, or sets an error. @place: where the name is used. */
static TreeEntry tree_find_entry(Tree *tree, const TreeSection *section, Str name, Place place) {
    TreeEntry entry = {0};

    for (size_t i = 0; i < tree->n_files && tree->r == 0; i++)
        if (find_in_file(tree, &tree->files[i], section, name, &entry))
            return entry;
    if (tree->r == 0)
        tree_refuse(tree, place, "%s \"%.*s\" is not in %.*s; it has: %.*s", section->body,
            STR_FMT(str_take(name, 128)), STR_FMT(list_files(tree)),
            STR_FMT(tree_list_names(tree, section)));
    return entry;
}

/* --- the plugin that a user names -------------------------------------------------------- */

/* A list in the plugin's settings; *ret gets memory for its items. NULL: none, or an error. */
static const YamlNode *read_list(
    Tree *tree, const YamlNode *body, const char *key, unsigned max, size_t size, void *ret) {
    const YamlNode *list = tree_find(tree, body, key, YAML_SEQUENCE);
    void *room = list && list->n <= max ? calloc(list->n + 1, size) : NULL;

    memcpy(ret, &room, sizeof(room));
    if (list && list->n > max)
        tree_refuse(tree, list->place, "more than %u %s%s", max,
            strcmp(key, "env") == 0 ? "variables in " : "", key);
    else if (list && !room)
        tree_lack_memory(tree);
    return room ? list : NULL;
}

static void read_args(Tree *tree, const YamlNode *body, ExecSpec *spec) {
    const YamlNode *list =
        read_list(tree, body, "args", EXEC_ARGS_MAX, sizeof(*spec->args), &spec->args);

    for (; list && spec->n_args < list->n && tree->r == 0; spec->n_args++) {
        const YamlNode *item = list->items[spec->n_args];

        if (item->kind != YAML_STRING)
            tree_refuse(tree, item->place, "an argument must be a string; put it in quotes");
        else
            spec->args[spec->n_args] = tree_copy(tree, item->text);
    }
}

static void read_variable(Tree *tree, const YamlNode *item, ExecVariable *ret) {
    const YamlNode *name = item->kind == YAML_MAPPING ? tree_find_text(tree, item, "name") : NULL;
    const YamlNode *value =
        item->kind == YAML_MAPPING ? tree_find(tree, item, "value", YAML_STRING) : NULL;

    if (!name || str_find(name->text, '=') != SIZE_MAX) {
        tree_refuse(tree, item->place, "an entry of env must have a name (without =) and a value");
        return;
    }
    ret->name = tree_copy(tree, name->text);
    ret->value = tree_copy(tree, value ? value->text : STR_NULL);
}

static void read_env(Tree *tree, const YamlNode *body, ExecSpec *spec) {
    const YamlNode *list =
        read_list(tree, body, "env", EXEC_ENV_MAX, sizeof(*spec->env), &spec->env);

    for (; list && spec->n_env < list->n && tree->r == 0; spec->n_env++)
        read_variable(tree, list->items[spec->n_env], &spec->env[spec->n_env]);
}

/* Reads the cluster's extension for plugins. */
static void read_cluster_config(Tree *tree, const TreeEntry *cluster, ExecSpec *spec) {
    _cleanup_(buf_done) Buf json = BUF_INIT(ACCESS_FILE_MAX);
    const YamlNode *list = tree_find(tree, cluster->body, "extensions", YAML_SEQUENCE);

    for (size_t i = 0; list && i < list->n; i++) {
        const YamlNode *name = yaml_find(list->items[i], STR("name"));
        const YamlNode *extension = yaml_find(list->items[i], STR("extension"));

        if (!name || !extension || !str_eq(name->text, CLUSTER_EXTENSION))
            continue;
        yaml_to_json(extension, &json);
        spec->cluster_config = buf_error(&json) ? NULL : tree_copy(tree, buf_str(&json));
        return;
    }
}

static void check_exec(Tree *tree, const YamlNode *body) {
    const YamlNode *version = tree_find_text(tree, body, "apiVersion");
    const YamlNode *mode = tree_find_text(tree, body, "interactiveMode");

    if (!tree_find_text(tree, body, "command"))
        tree_refuse(tree, body->place, "exec has no command");
    if (!version)
        tree_refuse(tree, body->place, "exec has no apiVersion");
    else if (!exec_is_api_version(version->text))
        tree_refuse(tree, version->place,
            "apiVersion \"%.*s\" of exec is not supported; "
            "client.authentication.k8s.io/v1 and v1beta1 are",
            STR_FMT(str_take(version->text, 64)));
    if (mode && str_is(mode->text, "Always"))
        tree_refuse(tree, mode->place,
            "the plugin wants a terminal to ask on (interactiveMode: Always), which berth does "
            "not have");
    else if (mode && !str_is(mode->text, "Never") && !str_is(mode->text, "IfAvailable"))
        tree_refuse(tree, mode->place, "interactiveMode must be Never, IfAvailable or Always");
}

/* *ret is owned by the caller, and unchanged if there is no plugin or an error. */
static void read_exec(Tree *tree, const TreeEntry *user, const TreeEntry *cluster, ExecSpec **ret) {
    _cleanup_(exec_spec_freep) ExecSpec *spec = NULL;
    const YamlNode *body = tree_find(tree, user->body, "exec", YAML_MAPPING);
    const YamlNode *command;

    if (!body)
        return;
    check_exec(tree, body);
    command = tree_find_text(tree, body, "command");
    spec = calloc(1, sizeof(*spec));
    if (!spec)
        tree_lack_memory(tree);
    if (tree->r < 0 || !spec || !command)
        return;
    spec->api_version = tree_read_text(tree, body, "apiVersion");
    spec->command = str_find(command->text, '/') == SIZE_MAX
                        ? tree_copy(tree, command->text)
                        : tree_resolve(tree, user->file, command->text);
    spec->install_hint = tree_read_text(tree, body, "installHint");
    spec->wants_cluster = tree_read_bool(tree, body, "provideClusterInfo");
    read_args(tree, body, spec);
    read_env(tree, body, spec);
    read_cluster_config(tree, cluster, spec);
    *ret = TAKE_PTR(spec);
}

static const TreeSection contexts = {"contexts", "context"};
static const TreeSection clusters = {"clusters", "cluster"};
static const TreeSection users = {"users", "user"};

/* --- a context --- */

static TreeEntry find_context(Tree *tree, const char *wanted) {
    if (wanted)
        return tree_find_entry(
            tree, &contexts, str_from_c(wanted), tree_file_place(&tree->files[0]));
    for (size_t i = 0; i < tree->n_files; i++) {
        const YamlNode *node = tree_find_text(tree, tree->files[i].root, "current-context");

        if (node)
            return tree_find_entry(tree, &contexts, node->text, node->place);
    }
    tree_refuse(tree, tree_file_place(&tree->files[0]),
        "no current-context is set; name a context, or set one with kubectl config use-context; "
        "there are: %.*s",
        STR_FMT(tree_list_names(tree, &contexts)));
    return (TreeEntry){0};
}

static void read_server(Tree *tree, const TreeEntry *cluster, Kubeconfig *config) {
    const YamlNode *node = tree_find_text(tree, cluster->body, "server");
    const char *complaint;
    Str url;

    if (!node) {
        tree_refuse(tree, cluster->body ? cluster->body->place : tree_file_place(cluster->file),
            "cluster \"%.*s\" has no server", STR_FMT(cluster->name));
        return;
    }
    complaint = origin_complaint(node->text);
    if (complaint)
        tree_refuse(tree, node->place, "server %s%s", complaint,
            strcmp(complaint, "has a user in it") == 0 ? "; put it into the user's entry" : "");
    url = node->text;
    while (str_has_suffix(url, STR("/")))
        url.len--;
    config->server = tree_copy(tree, url);
}

static void read_cluster(Tree *tree, const TreeEntry *cluster, Kubeconfig *config) {
    static const Str schemes[] = {
        STR("http://"), STR("https://"), STR("socks5://"), STR("socks5h://")};
    const YamlNode *name = tree_find_text(tree, cluster->body, "tls-server-name");
    const YamlNode *proxy;

    read_server(tree, cluster, config);
    tree_read_pem(tree, cluster, "certificate-authority", &config->ca);
    config->is_insecure = tree_read_bool(tree, cluster->body, "insecure-skip-tls-verify");
    if (config->is_insecure && secret_is_given(&config->ca))
        tree_refuse(tree, cluster->body->place,
            "cluster \"%.*s\" has both a certificate-authority and insecure-skip-tls-verify; "
            "remove one",
            STR_FMT(cluster->name));
    if (name && !origin_is_host_name(name->text))
        tree_refuse(tree, name->place, "tls-server-name is no host name");
    config->tls_server_name = tree_read_text(tree, cluster->body, "tls-server-name");
    config->proxy_url = tree_read_text(tree, cluster->body, "proxy-url");
    proxy = tree_find_text(tree, cluster->body, "proxy-url");
    for (size_t i = 0; proxy && i < ELEMENTS_OF(schemes); i++)
        if (str_has_prefix(proxy->text, schemes[i]))
            return;
    if (proxy)
        tree_refuse(tree, proxy->place, "proxy-url must begin with http://, https:// or socks5://");
}

/* --- the user --- */

static void check_user(Tree *tree, const TreeEntry *user, const Kubeconfig *config) {
    const YamlNode *provider = yaml_find(user->body, STR("auth-provider"));

    if (provider && provider->kind != YAML_NULL)
        tree_refuse(tree, provider->place,
            "auth-provider is no longer supported, in kubectl since 1.26; use exec with the "
            "plugin of your provider");
    if (secret_is_given(&config->client_cert) != secret_is_given(&config->client_key))
        tree_refuse(tree, user->body->place, "user \"%.*s\" has a %s", STR_FMT(user->name),
            secret_is_given(&config->client_cert) ? "client-certificate without a client-key"
                                                  : "client-key without a client-certificate");
    if (config->user && secret_is_given(&config->token))
        tree_refuse(tree, user->body->place,
            "user \"%.*s\" has both a token and a username; remove one", STR_FMT(user->name));
    if (config->user && strchr(config->user, ':'))
        tree_refuse(tree, user->body->place, "a username cannot have a colon in it");
}

static void read_user(
    Tree *tree, const TreeEntry *user, const TreeEntry *cluster, Kubeconfig *config) {
    const YamlNode *token;
    const char *complaint;

    tree_read_pem(tree, user, "client-certificate", &config->client_cert);
    tree_read_pem(tree, user, "client-key", &config->client_key);
    token = tree_find_text(tree, user->body, "token");
    complaint = token ? secret_complaint(SECRET_TOKEN, token->text) : NULL;
    if (complaint)
        tree_refuse(tree, token->place, "token %s", complaint);
    config->token.kind = SECRET_TOKEN;
    config->token.text = token ? tree_copy(tree, token->text) : NULL;
    tree_read_path(tree, user, "tokenFile", &config->token);
    config->user = tree_read_text(tree, user->body, "username");
    config->password = tree_read_text(tree, user->body, "password");
    check_user(tree, user, config);
    /* A token or user in the file has precedence over a plugin. */
    if (!config->user && !secret_is_given(&config->token))
        read_exec(tree, user, cluster, &config->exec);
}

static void read_context(Tree *tree, const char *wanted, Kubeconfig *config) {
    TreeEntry context = find_context(tree, wanted), cluster, user = {0};
    const YamlNode *cluster_name = tree_find_text(tree, context.body, "cluster");
    const YamlNode *user_name = tree_find_text(tree, context.body, "user");

    if (tree->r < 0)
        return;
    assert(context.file); /* find_context() succeeded */
    if (!cluster_name) {
        tree_refuse(tree, context.body ? context.body->place : tree_file_place(context.file),
            "context \"%.*s\" has no cluster", STR_FMT(context.name));
        return;
    }
    config->file = tree_copy(tree, str_from_c(context.file->path));
    config->context = tree_copy(tree, context.name);
    cluster = tree_find_entry(tree, &clusters, cluster_name->text, cluster_name->place);
    if (tree->r < 0)
        return;
    assert(cluster.file);
    read_cluster(tree, &cluster, config);
    if (user_name)
        user = tree_find_entry(tree, &users, user_name->text, user_name->place);
    /* Like kubectl, sends no credentials over plain HTTP. */
    if (user_name && tree->r == 0 && str_has_prefix(str_from_c(config->server), STR("https:")))
        read_user(tree, &user, &cluster, config);
}

int kubeconfig_read(const KubeconfigFile *files, size_t n_files, const char *context,
    Kubeconfig *ret, char *error) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TREE_BUDGET);
    _cleanup_(kubeconfig_done) Kubeconfig config = {0};
    Tree tree = {.arena = arena, .n_files = n_files, .error = error};

    assert(n_files > 0);
    if (arena)
        tree.files = ARENA_ARRAY(arena, TreeFile, n_files);
    if (!tree.files) {
        tree_lack_memory(&tree);
        return tree.r;
    }
    for (size_t i = 0; i < n_files; i++)
        parse_file(&tree, &files[i], &tree.files[i]);
    if (tree.r == 0)
        read_context(&tree, context, &config);
    for (size_t i = 0; i < tree.n_files; i++) /* the arena holds copies of values */
        wipe(tree.files[i].root);
    if (tree.r < 0)
        return tree.r;
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
