/* Reads the Node of a pool, and makes many of it. */

#include "simulate/autoscale-pool.h"

#include <errno.h>
#include <stdio.h>

#include "base/double.h"
#include "base/error.h"
#include "input/objects.h"
#include "simulate/simulation-input.h"

#define PRICE STR("berth.dev/price-per-hour")
#define MAX STR("berth.dev/max-nodes")
#define HOSTNAME STR("kubernetes.io/hostname")

typedef struct Draft {
    const char *path;
    char *error;
    Arena *arena;
    Node node;
    size_t n; /* Nodes in the file */
} Draft;

static int set_error(const Draft *draft, const char *what) {
    (void)snprintf(draft->error, SIMULATION_ERROR_MAX, "%s: %s", draft->path, what);
    return -EINVAL;
}

static int visit(void *context, const Object *object) {
    Draft *draft = context;
    Str text;
    JsonReader reader;

    if (!str_is(object->kind, "Node"))
        return set_error(draft, "expected one Node, as from kubectl get node NAME -o yaml");
    if (draft->n++ > 0)
        return set_error(draft, "there are several Nodes; expected one");
    text = arena_copy(draft->arena, object->json);
    if (!text.ptr)
        return -ENOMEM;
    json_reader_init(&reader, text);
    node_decode(&reader, draft->arena, &draft->node);
    return json_error(&reader) == JSON_OK ? 0 : object_failed(object, &reader);
}

/* Of an annotation; @ret stays if there is none. */
static bool read_number(const Node *node, Str key, double max, double *ret) {
    const Str *text = labels_find(&node->annotations, key);
    bool overflow;

    return !text || (double_parse(*text, ret, &overflow) && *ret >= 0 && *ret <= max);
}

/* A new node is ready, has no history, and has a name and hostname of its own. */
static int add_node(const Draft *draft, Store *store, size_t number, Str *ret_name) {
    static const Condition ready[] = {{.type = STR("Ready"), .status = STR("True")}};
    Label *labels = ARENA_ARRAY(draft->arena, Label, draft->node.labels.n + 1);
    Node node = draft->node;
    size_t n = 0;
    int r;

    node.name = arena_printf(draft->arena, "%.*s-%zu", STR_FMT(node.name), number + 1);
    if (!labels || !node.name.ptr)
        return -ENOMEM;
    for (size_t i = 0; i < node.labels.n; i++) {
        labels[n] = node.labels.items[i];
        if (str_eq(labels[n].key, HOSTNAME))
            labels[n].value = node.name;
        n++;
    }
    node.labels = (Labels){.items = labels, .n = n};
    node.uid = STR_NULL;
    node.created_at = 0;
    node.is_ready = true;
    node.is_unschedulable = false;
    node.conditions = ready;
    node.n_conditions = ELEMENTS_OF(ready);
    node.n_addresses = 0;
    *ret_name = node.name;
    if (store_find_node(store, node.name))
        return set_error(draft, "the cluster has nodes of that name; change the Node's name");
    r = store_apply_node(store, &node);
    return r == STORE_FULL ? set_error(draft, "more than 50,000 nodes, with those of the cluster")
                           : error_fold(r);
}

int autoscale_pool_read(
    const char *path, Store *store, Arena *arena, AutoscalePool *ret, char *error) {
    Draft draft = {.path = path, .error = error, .arena = arena};
    double max = AUTOSCALE_POOL_DEFAULT;
    int r = objects_each(path, visit, &draft, error);

    *ret = (AutoscalePool){0};
    if (r < 0)
        return r;
    if (draft.n == 0)
        return set_error(&draft, "expected one Node, as from kubectl get node NAME -o yaml");
    if (!read_number(&draft.node, PRICE, 1e9, &ret->price))
        return set_error(&draft, "berth.dev/price-per-hour is a number, 0 or more");
    if (!read_number(&draft.node, MAX, AUTOSCALE_POOL_MAX, &max) || max < 1)
        return set_error(&draft, "berth.dev/max-nodes is 1 to 10000");
    if (draft.node.allocatable.n == 0)
        return set_error(&draft, "the Node has no status.allocatable");
    ret->name = draft.node.name;
    ret->names = ARENA_ARRAY(arena, Str, (size_t)max);
    if (!ret->names)
        return -ENOMEM;
    for (ret->n = 0; r == 0 && ret->n < (size_t)max; ret->n++)
        r = add_node(&draft, store, ret->n, &ret->names[ret->n]);
    return r;
}

int autoscale_pool_find_rows(AutoscalePool *pool, const NodeTable *table, Arena *arena) {
    pool->rows = ARENA_ARRAY(arena, uint32_t, pool->n + 1);
    for (size_t i = 0; pool->rows && i < pool->n; i++)
        pool->rows[i] = table_find(table, pool->names[i]);
    return pool->rows ? 0 : -ENOMEM;
}
