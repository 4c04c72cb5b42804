/* berth publish: shows what nodes offer because of policies, or removes it. */

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/url.h"
#include "cli/cluster-source.h"
#include "cli/terminal.h"
#include "commands/commands.h"
#include "kube/blocking-client.h"
#include "kube/publish-writer.h"
#include "policy/publish.h"

#define WHO "berth publish"
#define TEXT_MAX ((size_t)64 * 1024 * 1024)
#define WRITE_MAX ((size_t)4 * 1024)
#define BUDGET ((size_t)64 * 1024 * 1024)

typedef struct Settings {
    ClusterSource source;
    bool clears;
} Settings;

/* One extended resource of berth on one node. */
typedef struct Published {
    Str node, resource;
    int64_t offered, requested;
} Published;

/* Calls @visit for each, until it returns something else than 0, which is returned. */
static int each_published(const NodeTable *table,
    int (*visit)(void *context, const Published *published), void *context) {
    for (uint32_t row = 0; row < table->n_rows; row++) {
        const Node *node = table_node(table, row);

        for (size_t i = 0; node && i < node->allocatable.n; i++) {
            const Resource *resource = &node->allocatable.items[i];
            size_t column = table_find_resource(table, resource->name);
            Published published = {.node = node->name,
                .resource = resource->name,
                .offered = resource->amount,
                .requested =
                    column == SIZE_MAX ? 0 : table_amount(table, row, column, AMOUNT_REQUESTED)};
            int r =
                str_has_prefix(resource->name, STR(SLOTS_PREFIX)) ? visit(context, &published) : 0;

            if (r != 0)
                return r;
        }
    }
    return 0;
}

/* --- showing ---------------------------------------------------------------------------------- */

typedef struct Widths {
    int node, resource;
} Widths;

static int measure(void *context, const Published *published) {
    Widths *widths = context;

    if (widths->node < (int)published->node.len)
        widths->node = (int)published->node.len;
    if (widths->resource < (int)published->resource.len)
        widths->resource = (int)published->resource.len;
    return 0;
}

typedef struct Printer {
    Widths widths;
    Buf *out;
} Printer;

static int print_one(void *context, const Published *published) {
    Printer *printer = context;

    buf_printf(printer->out, "%-*.*s  %-*.*s  %7" PRId64 "  %9" PRId64 "\n", printer->widths.node,
        STR_FMT(published->node), printer->widths.resource, STR_FMT(published->resource),
        published->offered, published->requested);
    return 0;
}

static int show(const NodeTable *table) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    Printer printer = {.widths = {.node = 4, .resource = 8}, .out = &out};

    (void)each_published(table, measure, &printer.widths);
    buf_printf(&out, "%-*s  %-*s  %7s  %9s\n", printer.widths.node, "NODE", printer.widths.resource,
        "RESOURCE", "OFFERED", "REQUESTED");
    (void)each_published(table, print_one, &printer);
    if (buf_error(&out) < 0)
        return terminal_text_failed(WHO, "the list", &out);
    return terminal_print(stdout, buf_str(&out)) ? EXIT_FINE : EXIT_UNREACHABLE;
}

/* --- removing --------------------------------------------------------------------------------- */

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

    publish_path(published->node, &path);
    publish_body(published->resource, PUBLISH_REMOVED, &body);
    r = blocking_client_request_with(remover->client,
        &(BlockingRequest){.method = "PATCH",
            .path = url_text(&path),
            .content_type = PUBLISH_CONTENT_TYPE,
            .body = buf_str(&body)},
        remover->arena, &reply, error);
    if (r < 0)
        return terminal_out_of_memory(WHO, "the request", remover->arena);
    if (r == 0 && reply.status != 200)
        blocking_client_explain(&reply, remover->arena, error);
    if (r != 0 || reply.status != 200) {
        (void)fprintf(stderr, WHO ": node %.*s, %.*s: %s\n", STR_FMT(published->node),
            STR_FMT(published->resource), error);
        return EXIT_UNREACHABLE;
    }
    arena_reset(remover->arena);
    remover->n_removed++;
    return 0;
}

static int clear(const Settings *settings, const NodeTable *table) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    _cleanup_(client_freep) Client *client = NULL;
    _cleanup_(access_freep) Access *access = NULL;
    Remover remover = {.arena = arena};
    int r = cluster_source_access(&settings->source, WHO, &access);

    if (r != 0)
        return r;
    client = client_new(access);
    if (!arena || !client)
        return terminal_out_of_memory(WHO, "the client", NULL);
    remover.client = client;
    r = each_published(table, remove_one, &remover);
    (void)printf("removed %zu\n", remover.n_removed);
    return r;
}

static int run(void *context, const Arguments *arguments) {
    const Settings *settings = context;
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    int r = cluster_source_load(&settings->source, WHO, /* related= */ 0, &snapshot);

    (void)arguments;
    if (r != 0)
        return r;
    return settings->clears ? clear(settings, snapshot_table(snapshot))
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

    (void)arguments;
    if (settings->clears && settings->source.file)
        return "--clear needs an API server, not --cluster";
    return cluster_source_check(&settings->source);
}

const Command publish_command = {
    .name = "publish",
    .summary = "show or remove what policies publish on nodes",
    .usage = "[--kubeconfig FILE | --in-cluster | --cluster FILE] [--clear]",
    .about = "Lists the extended resources that `berth serve --publish` maintains on nodes "
             "(berth.dev/slots.POLICY), with how many of them pods request. With --clear it "
             "removes them; needs permission to patch nodes/status.",
    .options = options,
    .settings_size = sizeof(Settings),
    .check = check,
    .run = run,
};
