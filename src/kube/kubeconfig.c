#include "kube/kubeconfig.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/origin.h"
#include "kube/access.h"
#include "kube/kubeconfig-exec.h"
#include "kube/kubeconfig-tree.h"

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
    tree_refuse(tree,
        tree_file_place(&tree->files[0]),
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
        tree_refuse(tree,
            cluster->body ? cluster->body->place : tree_file_place(cluster->file),
            "cluster \"%.*s\" has no server",
            STR_FMT(cluster->name));
        return;
    }
    complaint = origin_complaint(node->text);
    if (complaint)
        tree_refuse(tree,
            node->place,
            "server %s%s",
            complaint,
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
        tree_refuse(tree,
            cluster->body->place,
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
        tree_refuse(tree,
            provider->place,
            "auth-provider is no longer supported, in kubectl since 1.26; use exec with the "
            "plugin of your provider");
    if (secret_is_given(&config->client_cert) != secret_is_given(&config->client_key))
        tree_refuse(tree,
            user->body->place,
            "user \"%.*s\" has a %s",
            STR_FMT(user->name),
            secret_is_given(&config->client_cert) ? "client-certificate without a client-key"
                                                  : "client-key without a client-certificate");
    if (config->user && secret_is_given(&config->token))
        tree_refuse(tree,
            user->body->place,
            "user \"%.*s\" has both a token and a username; remove one",
            STR_FMT(user->name));
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
    /* What is said outright goes before what a plugin would have to be asked for. */
    if (!config->user && !secret_is_given(&config->token))
        kubeconfig_read_exec(tree, user, cluster, &config->exec);
}

static void read_context(Tree *tree, const char *wanted, Kubeconfig *config) {
    TreeEntry context = find_context(tree, wanted), cluster, user = {0};
    const YamlNode *cluster_name = tree_find_text(tree, context.body, "cluster");
    const YamlNode *user_name = tree_find_text(tree, context.body, "user");

    if (tree->r < 0)
        return;
    assert(context.file); /* it was found */
    if (!cluster_name) {
        tree_refuse(tree,
            context.body ? context.body->place : tree_file_place(context.file),
            "context \"%.*s\" has no cluster",
            STR_FMT(context.name));
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
    /* Over plain HTTP nobody is told who we are: kubectl does the same. */
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
