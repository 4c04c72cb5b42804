/* The plugin that a user of a kubeconfig names (kube/exec.h). */

#include "kube/kubeconfig-exec.h"

#include <stdlib.h>

#include "kube/access.h"

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

/* What the cluster has to say to plugins. */
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
        tree_refuse(tree,
            version->place,
            "apiVersion \"%.*s\" of exec is not supported; "
            "client.authentication.k8s.io/v1 and v1beta1 are",
            STR_FMT(str_take(version->text, 64)));
    if (mode && str_is(mode->text, "Always"))
        tree_refuse(tree,
            mode->place,
            "the plugin wants a terminal to ask on (interactiveMode: Always), which berth does "
            "not have");
    else if (mode && !str_is(mode->text, "Never") && !str_is(mode->text, "IfAvailable"))
        tree_refuse(tree, mode->place, "interactiveMode must be Never, IfAvailable or Always");
}

void kubeconfig_read_exec(
    Tree *tree, const TreeEntry *user, const TreeEntry *cluster, ExecSpec **ret) {
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
