/* berth publish: lists or removes the resources and labels that policies publish on nodes. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/url.h"
#include "base/vec.h"
#include "cli/cluster-source.h"
#include "cli/terminal.h"
#include "commands/commands.h"
#include "kube/api-writes.h"
#include "kube/blocking-client.h"
#include "policy/publish.h"

#define TEXT_MAX ((size_t)64 * 1024 * 1024)
#define BUDGET ((size_t)64 * 1024 * 1024)
#define WRITE_MAX ((size_t)4 * 1024)

typedef struct Settings {
    ClusterSource source;
    bool clears;
} Settings;

/* One resource or label of berth on one node. */
typedef struct Published {
    PublishChange removal; /* the request that would remove it */
    int64_t offered, requested;
} Published;

typedef VEC(Published) PublishedList;

static void add(PublishedList *list, PublishTarget target, const Node *node, Str name,
    int64_t offered, int64_t requested, Arena *arena) {
    Published *place = VEC_PUSH(list, arena);

    if (place)
        *place = (Published){
            .removal = {.target = target, .node = node->name, .name = name, .n = PUBLISH_REMOVED},
            .offered = offered,
            .requested = requested,
        };
}

/* Without memory it is cut, and the arena has failed. */
static PublishedList find_published(const NodeTable *table, Arena *arena) {
    PublishedList list = {0};

    for (uint32_t row = 0; row < table->n_rows; row++) {
        const Node *node = table_node(table, row);

        for (size_t i = 0; node && i < node->allocatable.n; i++) {
            const Resource *resource = &node->allocatable.items[i];
            size_t column = table_find_resource(table, resource->name);

            if (str_has_prefix(resource->name, STR(SLOTS_PREFIX)))
                add(&list, PUBLISH_TO_STATUS, node, resource->name, resource->amount,
                    column == SIZE_MAX ? 0 : table_amount(table, row, column, AMOUNT_REQUESTED),
                    arena);
        }
        for (size_t i = 0; node && i < node->labels.n; i++)
            if (str_has_prefix(node->labels.items[i].key, STR(CLOSED_PREFIX)))
                add(&list, PUBLISH_TO_LABELS, node, node->labels.items[i].key, 0, 0, arena);
    }
    return list;
}

static int show(const PublishedList *list) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    int node = 4, name = 9; /* widths */

    for (size_t i = 0; i < list->n; i++) {
        const PublishChange *one = &list->items[i].removal;

        node = node < (int)one->node.len ? (int)one->node.len : node;
        name = name < (int)one->name.len ? (int)one->name.len : name;
    }
    buf_printf(
        &out, "%-*s  %-*s  %5s  %9s\n", node, "NODE", name, "PUBLISHED", "SLOTS", "REQUESTED");
    for (size_t i = 0; i < list->n; i++) {
        const Published *one = &list->items[i];

        buf_printf(&out, "%-*.*s  %-*.*s", node, STR_FMT(one->removal.node), name,
            STR_FMT(one->removal.name));
        if (one->removal.target == PUBLISH_TO_STATUS)
            buf_printf(&out, "  %5" PRId64 "  %9" PRId64 "\n", one->offered, one->requested);
        else
            buf_append(&out, STR("  label          -\n"));
    }
    if (buf_error(&out) < 0)
        return terminal_text_failed("the list", &out);
    return terminal_print(stdout, buf_str(&out)) ? EXIT_FINE : EXIT_UNREACHABLE;
}

/* 0 or an exit code. */
static int remove_one(Client *client, const PublishChange *removal) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    _cleanup_(buf_done) Buf path = BUF_INIT(WRITE_MAX), body = BUF_INIT(WRITE_MAX);
    char error[BLOCKING_CLIENT_ERROR_MAX] = "";
    BlockingReply reply = {0};
    int r = -ENOMEM;

    publish_path(removal, &path);
    publish_body(removal, &body);
    if (arena)
        r = blocking_client_request_with(client,
            &(BlockingRequest){.method = "PATCH",
                .path = url_text(&path),
                .content_type = PUBLISH_CONTENT_TYPE,
                .body = buf_str(&body)},
            arena, &reply, error);
    if (r < 0)
        return terminal_out_of_memory("the request", arena);
    if (r == 0 && reply.status == 200)
        return 0;
    if (r == 0)
        blocking_client_explain(&reply, arena, error);
    return terminal_complain(
        "node %.*s, %.*s: %s", STR_FMT(removal->node), STR_FMT(removal->name), error);
}

static int clear(const Settings *settings, const PublishedList *list) {
    _cleanup_(client_freep) Client *client = NULL;
    _cleanup_(access_freep) Access *access = NULL;
    size_t n_removed = 0;
    int r = cluster_source_access(&settings->source, &access);

    if (r != 0)
        return r;
    client = client_new(access);
    if (!client)
        return terminal_out_of_memory("the client", NULL);
    for (; r == 0 && n_removed < list->n; n_removed += r == 0)
        r = remove_one(client, &list->items[n_removed].removal);
    (void)printf("removed %zu\n", n_removed);
    return r;
}

static int run(void *context, const Arguments *arguments) {
    const Settings *settings = context;
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    PublishedList list;
    int r = cluster_source_load(&settings->source, /* related= */ 0, &snapshot);

    if (r != 0)
        return r;
    list = find_published(snapshot_table(snapshot), arguments->arena);
    if (arena_has_failed(arguments->arena))
        return terminal_out_of_memory("the list", arguments->arena);
    return settings->clears ? clear(settings, &list) : show(&list);
}

/* clang-format off */
static const Option options[] = {
    CLUSTER_SOURCE_OPTIONS(Settings, source),
    {"clear", OPTION_FLAG, OPTION_AT(Settings, clears),
        .help = "remove it from all nodes; first stop berth, or start it without --publish"},
    {0},
};
/* clang-format on */

static const char *check(void *context, const Arguments *arguments) {
    const Settings *settings = context;

    if (settings->clears && settings->source.file)
        return "--clear needs an API server, not --cluster";
    return cluster_source_check(&settings->source);
}

const Command publish_command = {
    .name = "publish",
    .summary = "show or remove what policies publish on nodes",
    .usage = "[--kubeconfig FILE | --in-cluster | --cluster FILE] [--clear]",
    .about = "Lists what `berth serve --publish` maintains on nodes: extended resources "
             "(berth.dev/slots.POLICY), with how many of them pods request, and labels "
             "(closed.berth.dev/POLICY). With --clear it removes them; needs permission to patch "
             "nodes/status, and nodes for labels.",
    .options = options,
    .budget = TEXT_MAX,
    .settings_size = sizeof(Settings),
    .check = check,
    .run = run,
};
