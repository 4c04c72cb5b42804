/* berth publish: lists or removes the resources and labels that policies publish on nodes. */

#include <inttypes.h>
#include <stdio.h>

#include "base/url.h"
#include "cli/cluster-source.h"
#include "cli/terminal.h"
#include "commands/commands.h"
#include "kube/blocking-client.h"
#include "kube/publish-writer.h"
#include "policy/publish.h"

#define TEXT_MAX ((size_t)64 * 1024 * 1024)
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

typedef int PublishedVisit(void *context, const Published *published);

static int visit_resources(
    const NodeTable *table, uint32_t row, PublishedVisit *visit, void *context) {
    const Node *node = table_node(table, row);
    int r = 0;

    for (size_t i = 0; r == 0 && i < node->allocatable.n; i++) {
        const Resource *resource = &node->allocatable.items[i];
        size_t column = table_find_resource(table, resource->name);
        const Published published = {
            .removal = {.target = PUBLISH_TO_STATUS,
                .node = node->name,
                .name = resource->name,
                .n = PUBLISH_REMOVED},
            .offered = resource->amount,
            .requested =
                column == SIZE_MAX ? 0 : table_amount(table, row, column, AMOUNT_REQUESTED),
        };

        if (str_has_prefix(resource->name, STR(SLOTS_PREFIX)))
            r = visit(context, &published);
    }
    return r;
}

static int visit_labels(const Node *node, PublishedVisit *visit, void *context) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < node->labels.n; i++) {
        const Published published = {.removal = {.target = PUBLISH_TO_LABELS,
                                         .node = node->name,
                                         .name = node->labels.items[i].key,
                                         .n = PUBLISH_REMOVED}};

        if (str_has_prefix(published.removal.name, STR(CLOSED_PREFIX)))
            r = visit(context, &published);
    }
    return r;
}

/* Calls @visit for each until a call does not return 0. Returns the last result. */
static int each_published(const NodeTable *table, PublishedVisit *visit, void *context) {
    int r = 0;

    for (uint32_t row = 0; r == 0 && row < table->n_rows; row++) {
        const Node *node = table_node(table, row);

        if (node)
            r = visit_resources(table, row, visit, context);
        if (node && r == 0)
            r = visit_labels(node, visit, context);
    }
    return r;
}

typedef struct Printer {
    int node, name; /* widths */
    Buf *out;
} Printer;

static int measure(void *context, const Published *published) {
    Printer *printer = context;

    if (printer->node < (int)published->removal.node.len)
        printer->node = (int)published->removal.node.len;
    if (printer->name < (int)published->removal.name.len)
        printer->name = (int)published->removal.name.len;
    return 0;
}

static int print_one(void *context, const Published *published) {
    Printer *printer = context;

    buf_printf(printer->out, "%-*.*s  %-*.*s", printer->node, STR_FMT(published->removal.node),
        printer->name, STR_FMT(published->removal.name));
    if (published->removal.target == PUBLISH_TO_STATUS)
        buf_printf(printer->out, "  %5" PRId64 "  %9" PRId64 "\n", published->offered,
            published->requested);
    else
        buf_append(printer->out, STR("  label          -\n"));
    return 0;
}

static int show(const NodeTable *table) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    Printer printer = {.node = 4, .name = 9, .out = &out};

    (void)each_published(table, measure, &printer);
    buf_printf(&out, "%-*s  %-*s  %5s  %9s\n", printer.node, "NODE", printer.name, "PUBLISHED",
        "SLOTS", "REQUESTED");
    (void)each_published(table, print_one, &printer);
    if (buf_error(&out) < 0)
        return terminal_text_failed("the list", &out);
    return terminal_print(stdout, buf_str(&out)) ? EXIT_FINE : EXIT_UNREACHABLE;
}

typedef struct Remover {
    Client *client;
    Arena *arena;
    size_t n_removed;
} Remover;

/* 0 or an exit code. */
static int remove_one(void *context, const Published *published) {
    _cleanup_(buf_done) Buf path = BUF_INIT(WRITE_MAX), body = BUF_INIT(WRITE_MAX);
    char error[BLOCKING_CLIENT_ERROR_MAX] = "";
    Remover *remover = context;
    BlockingReply reply = {0};
    int r;

    publish_path(&published->removal, &path);
    publish_body(&published->removal, &body);
    r = blocking_client_request_with(remover->client,
        &(BlockingRequest){.method = "PATCH",
            .path = url_text(&path),
            .content_type = PUBLISH_CONTENT_TYPE,
            .body = buf_str(&body)},
        remover->arena, &reply, error);
    if (r < 0)
        return terminal_out_of_memory("the request", remover->arena);
    if (r == 0 && reply.status != 200)
        blocking_client_explain(&reply, remover->arena, error);
    if (r != 0 || reply.status != 200)
        return terminal_complain("node %.*s, %.*s: %s", STR_FMT(published->removal.node),
            STR_FMT(published->removal.name), error);
    arena_reset(remover->arena);
    remover->n_removed++;
    return 0;
}

static int clear(const Settings *settings, const NodeTable *table, Arena *arena) {
    _cleanup_(client_freep) Client *client = NULL;
    _cleanup_(access_freep) Access *access = NULL;
    Remover remover = {.arena = arena};
    int r = cluster_source_access(&settings->source, &access);

    if (r != 0)
        return r;
    client = remover.client = client_new(access);
    if (!client)
        return terminal_out_of_memory("the client", NULL);
    r = each_published(table, remove_one, &remover);
    (void)printf("removed %zu\n", remover.n_removed);
    return r;
}

static int run(void *context, const Arguments *arguments) {
    const Settings *settings = context;
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    int r = cluster_source_load(&settings->source, /* related= */ 0, &snapshot);

    if (r != 0)
        return r;
    return settings->clears ? clear(settings, snapshot_table(snapshot), arguments->arena)
                            : show(snapshot_table(snapshot));
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
    .budget = (size_t)64 * 1024 * 1024,
    .settings_size = sizeof(Settings),
    .check = check,
    .run = run,
};
