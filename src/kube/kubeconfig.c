/* Reads one context of a kubeconfig: its cluster, its user and the plugin that the user names. */

#include "kube/kubeconfig.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/origin.h"
#include "kube/access.h"
#include "kube/kubeconfig-tree.h"

/* --- the plugin that a user names -------------------------------------------------------- */

#define CLUSTER_EXTENSION STR("client.authentication.k8s.io/exec")

static void read_args(Tree *tree, const YamlNode *body, ExecSpec *spec) {
    const YamlNode *list = tree_find(tree, body, "args", YAML_SEQUENCE);

    if (!list)
        return;
    if (list->n > EXEC_ARGS_MAX) {
        tree_refuse(tree, list->place, "more than %u args", EXEC_ARGS_MAX);
        return;
    }
    spec->args = calloc(list->n + 1, sizeof(*spec->args));
    if (!spec->args) {
        tree_lack_memory(tree);
        return;
    }
    for (; spec->n_args < list->n && tree->r == 0; spec->n_args++) {
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
    const YamlNode *list = tree_find(tree, body, "env", YAML_SEQUENCE);

    if (!list)
        return;
    if (list->n > EXEC_ENV_MAX) {
        tree_refuse(tree, list->place, "more than %u variables in env", EXEC_ENV_MAX);
        return;
    }
    spec->env = calloc(list->n + 1, sizeof(*spec->env));
    if (!spec->env) {
        tree_lack_memory(tree);
        return;
    }
    for (; spec->n_env < list->n && tree->r == 0; spec->n_env++)
        read_variable(tree, list->items[spec->n_env], &spec->env[spec->n_env]);
}

/* The cluster's extension for plugins. */
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

/* *ret is the caller's; it stays as it was when there is no plugin, or when it is refused. */
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

#define TREE_BUDGET (64 * ACCESS_FILE_MAX)

static const TreeSection contexts = {"contexts", "context"};
static const TreeSection clusters = {"clusters", "cluster"};
static const TreeSection users = {"users", "user"};

/* --- a context --- */

static TreeEntry find_context(Tree *tree, const char *wanted) {
    if (wanted)
        return tree_find_entry(
            tree, contexts, str_from_c(wanted), tree_file_place(&tree->files[0]));
    for (size_t i = 0; i < tree->n_files; i++) {
        const YamlNode *node = tree_find_text(tree, tree->files[i].root, "current-context");

        if (node)
            return tree_find_entry(tree, contexts, node->text, node->place);
    }
    tree_refuse(tree, tree_file_place(&tree->files[0]),
        "no current-context is set; name a context, or set one with kubectl config use-context; "
        "there are: %.*s",
        STR_FMT(tree_list_names(tree, contexts)));
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
    const YamlNode *name = tree_find_text(tree, cluster->body, "tls-server-name");

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
}

static void check_proxy(Tree *tree, const TreeEntry *cluster) {
    static const Str schemes[] = {
        STR("http://"), STR("https://"), STR("socks5://"), STR("socks5h://")};
    const YamlNode *node = tree_find_text(tree, cluster->body, "proxy-url");

    for (size_t i = 0; node && i < ELEMENTS_OF(schemes); i++)
        if (str_has_prefix(node->text, schemes[i]))
            return;
    if (node)
        tree_refuse(tree, node->place, "proxy-url must begin with http://, https:// or socks5://");
}

/* --- the user --- */

static void read_token(Tree *tree, const TreeEntry *user, Kubeconfig *config) {
    const YamlNode *node = tree_find_text(tree, user->body, "token");
    const char *complaint = node ? secret_complaint(SECRET_TOKEN, node->text) : NULL;

    config->token.kind = SECRET_TOKEN;
    if (complaint)
        tree_refuse(tree, node->place, "token %s", complaint);
    config->token.text = tree_read_text(tree, user->body, "token");
    tree_read_path(tree, user, "tokenFile", &config->token);
}

static bool has_colon(const char *text) {
    return text && strchr(text, ':');
}

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
    if (has_colon(config->user))
        tree_refuse(tree, user->body->place, "a username cannot have a colon in it");
}

static void read_user(
    Tree *tree, const TreeEntry *user, const TreeEntry *cluster, Kubeconfig *config) {
    tree_read_pem(tree, user, "client-certificate", &config->client_cert);
    tree_read_pem(tree, user, "client-key", &config->client_key);
    read_token(tree, user, config);
    config->user = tree_read_text(tree, user->body, "username");
    config->password = tree_read_text(tree, user->body, "password");
    check_user(tree, user, config);
    /* A token or user in the file goes before a plugin. */
    if (!config->user && !secret_is_given(&config->token))
        read_exec(tree, user, cluster, &config->exec);
}

static void read_context(Tree *tree, const char *wanted, Kubeconfig *config) {
    TreeEntry context = find_context(tree, wanted), cluster, user = {0};
    const YamlNode *cluster_name = tree_find_text(tree, context.body, "cluster");
    const YamlNode *user_name = tree_find_text(tree, context.body, "user");

    if (tree->r < 0)
        return;
    assert(context.file); /* it was found */
    if (!cluster_name) {
        tree_refuse(tree, context.body ? context.body->place : tree_file_place(context.file),
            "context \"%.*s\" has no cluster", STR_FMT(context.name));
        return;
    }
    config->file = tree_copy(tree, str_from_c(context.file->path));
    config->context = tree_copy(tree, context.name);
    cluster = tree_find_entry(tree, clusters, cluster_name->text, cluster_name->place);
    if (tree->r < 0)
        return;
    assert(cluster.file);
    read_cluster(tree, &cluster, config);
    check_proxy(tree, &cluster);
    if (user_name)
        user = tree_find_entry(tree, users, user_name->text, user_name->place);
    /* Over plain HTTP no credentials are sent: kubectl does the same. */
    if (user_name && tree->r == 0 && str_has_prefix(str_from_c(config->server), STR("https:")))
        read_user(tree, &user, &cluster, config);
}

int kubeconfig_read(const KubeconfigFile *files, size_t n_files, const char *context,
    Kubeconfig *ret, char *error) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TREE_BUDGET);
    _cleanup_(kubeconfig_done) Kubeconfig config = {0};
    Tree tree = {.arena = arena, .error = error};

    assert(n_files > 0);
    if (!arena) {
        tree_lack_memory(&tree);
        return tree.r;
    }
    tree_parse(&tree, files, n_files);
    if (tree.r == 0)
        read_context(&tree, context, &config);
    tree_wipe(&tree);
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
