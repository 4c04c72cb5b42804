/* berth publish: lists or removes the resources and labels that policies publish on nodes. */

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
    *VEC_PUSH(list, arena) = (Published){
        .removal = {.target = target, .node = node->name, .name = name, .n = PUBLISH_REMOVED},
        .offered = offered,
        .requested = requested,
    };
}

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

static void show(const PublishedList *list) {
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
        terminal_text_failed("the list", &out);
    terminal_output(buf_str(&out));
}

/* Returns false after a warning, if it is still there. */
static bool remove_one(Client *client, const PublishChange *removal) {
    _cleanup_(arena_freep) Arena *arena = terminal_arena("the request", BUDGET);
    _cleanup_(buf_done) Buf path = BUF_INIT(WRITE_MAX), body = BUF_INIT(WRITE_MAX);
    char error[BLOCKING_CLIENT_ERROR_MAX] = "";
    BlockingRequest request = {.method = "PATCH", .content_type = PUBLISH_CONTENT_TYPE};
    BlockingReply reply = {0};
    int r;

    publish_path(removal, &path);
    publish_body(removal, &body);
    request.path = url_text(&path);
    request.body = buf_str(&body);
    r = blocking_client_request_with(client, &request, arena, &reply, error);
    if (terminal_check(r, "the request", arena) == 0 && reply.status == 200)
        return true;
    if (r == 0)
        blocking_client_explain(&reply, arena, error);
    terminal_warn("node %.*s, %.*s: %s", STR_FMT(removal->node), STR_FMT(removal->name), error);
    return false;
}

static int clear(const Settings *settings, const PublishedList *list) {
    _cleanup_(access_freep) Access *access = cluster_source_access(&settings->source);
    _cleanup_(client_freep) Client *client = terminal_need(client_new(access), "the client");
    size_t n_removed = 0;

    while (n_removed < list->n && remove_one(client, &list->items[n_removed].removal))
        n_removed++;
    (void)printf("removed %zu\n", n_removed);
    return n_removed == list->n ? EXIT_FINE : EXIT_UNREACHABLE;
}

static int run(void *context, const Arguments *arguments) {
    const Settings *settings = context;
    _cleanup_(snapshot_unrefp) Snapshot *snapshot =
        cluster_source_load(&settings->source, /* related= */ 0);
    PublishedList list = find_published(snapshot_table(snapshot), arguments->arena);

    if (settings->clears)
        return clear(settings, &list);
    show(&list);
    return EXIT_FINE;
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
    .memory_for = "the list",
    .settings_size = sizeof(Settings),
    .check = check,
    .run = run,
};
