/*
 * Is the load balanced? One column of all nodes as a grid of colours; and the same as a table, a
 * page at a time, which screen readers can read.
 *
 * For the modules: heat.js fills <div id="heat" data-column="used.cpu"
 * data-src="/api/v1/nodes?column=…">; #nodes-summary and the table in #nodes are live.
 */

#include <math.h>
#include <stdlib.h>

#include "api/nodes-summary.h"
#include "dashboard/page-parts.h"

#define PAGE_ROWS 200u
#define HIGH_SHARE 0.9

typedef enum NodesOrder {
    ORDER_NAME,
    ORDER_HIGHEST,
    ORDER_LOWEST,
} NodesOrder;

static const struct {
    const char *name, *label;
} orders[] = {
    [ORDER_NAME] = {"name", "name"},
    [ORDER_HIGHEST] = {"highest", "highest first"},
    [ORDER_LOWEST] = {"lowest", "lowest first"},
};

typedef struct NodesParams {
    const NodeColumn *column;
    NodesOrder order;
    size_t page; /* from 1 */
} NodesParams;

/* False with @error: then @ret can still be used to draw the form. */
static bool read_params(
    const PageContext *context, const NodesSummary *summary, NodesParams *ret, char *error) {
    Str column = query_get(context->query, STR("column"));
    Str order = query_get(context->query, STR("order"));
    const NodeColumn *chosen = summary->columns;
    size_t k = 0;
    int64_t page = 1;

    while (order.ptr && k < ELEMENTS_OF(orders) && !str_is(order, orders[k].name))
        k++;
    *ret = (NodesParams){.column = chosen, .order = ORDER_NAME};
    if (column.ptr)
        chosen = nodes_summary_column(summary, column);
    if (!chosen)
        return query_fail(error, "there is no column with this name: choose one below");
    ret->column = chosen;
    if (k == ELEMENTS_OF(orders))
        return query_fail(error, "order must be name, highest or lowest");
    ret->order = (NodesOrder)k;
    if (!query_number(context->query, STR("page"), 1, 1000000, 1, &page, error))
        return false;
    ret->page = (size_t)page;
    return true;
}

static void open_select(Html *html, const char *name, const char *label) {
    html_write(
        html, "<label for='%s'>%s</label><select id='%s' name='%s'>", name, label, name, name);
}

static void draw_form(Html *html, const NodesSummary *summary, const NodesParams *params) {
    html_write(html, "<form class='filter' action='/nodes' method='get'>");
    open_select(html, "column", "Colour by");
    for (size_t i = 0; i < summary->n_columns; i++)
        widget_option(html, summary->columns[i].name, summary->columns[i].label,
            &summary->columns[i] == params->column);
    html_close(html);
    open_select(html, "order", "sort by");
    for (size_t i = 0; i < ELEMENTS_OF(orders); i++)
        widget_option(html, str_from_c(orders[i].name), str_from_c(orders[i].label),
            i == (size_t)params->order);
    html_write(html, "</><button>Show</button></>");
}

static void draw_value(Html *html, const NodeColumn *column, double value) {
    if (isnan(value))
        html_write(html, "–");
    else if (column->is_share)
        html_write(html, "%.0f %%", value * 100);
    else if (value >= 0 && value < 1e15 && value == floor(value))
        html_count(html, (uint64_t)value);
    else
        html_write(html, "%.4g", value);
}

/* A node and its sort key. */
typedef struct NodeRank {
    size_t place;
    double key; /* ascending; NaN: last */
} NodeRank;

static int compare_ranks(const void *a, const void *b) {
    const NodeRank *x = a, *y = b;

    if (isnan(x->key) != isnan(y->key))
        return isnan(x->key) ? 1 : -1;
    if (x->key < y->key || x->key > y->key)
        return x->key < y->key ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* NULL: out of memory. */
static const NodeRank *rank_nodes(const double *values, size_t n, NodesOrder order, Arena *arena) {
    NodeRank *ranks = ARENA_ARRAY(arena, NodeRank, n);

    for (size_t i = 0; ranks && i < n; i++)
        ranks[i] = (NodeRank){
            .place = i,
            .key = order == ORDER_NAME      ? 0
                   : order == ORDER_HIGHEST ? -values[i]
                                            : values[i],
        };
    if (ranks && n > 1)
        qsort(ranks, n, sizeof(*ranks), compare_ranks);
    return ranks;
}

static void say_value(Html *html, const char *what, const NodeColumn *column, double value) {
    html_write(html, "%s<b>", what);
    draw_value(html, column, value);
    html_close(html);
}

static void draw_summary(
    const PageContext *context, Html *html, const NodesSummary *summary, const NodeColumn *column) {
    const NodeRank *ranks = rank_nodes(column->values, summary->n, ORDER_LOWEST, context->arena);
    size_t n = 0, n_high = 0, n_not_ready = 0, n_cordoned = 0;

    while (ranks && n < summary->n && !isnan(ranks[n].key))
        n++;
    html_write(html, "<p id='nodes-summary' data-live>%zu%s%.*s", summary->n,
        summary->n == 1 ? " node; " : " nodes; ", STR_FMT(column->label));
    if (n == 0) {
        html_write(html, ": no values.");
    } else {
        say_value(html, ": lowest ", column, ranks[0].key);
        say_value(html, ", median ", column, ranks[n / 2].key);
        say_value(html, ", highest ", column, ranks[n - 1].key);
        html_write(html, ".");
        if (n < summary->n)
            html_write(html, " No value on %zu.", summary->n - n);
        while (n_high < n && ranks[n - 1 - n_high].key > HIGH_SHARE)
            n_high++;
        if (column->is_share)
            html_write(
                html, " Above 90 %%: <b>%zu</b>%s", n_high, n_high == 1 ? " node." : " nodes.");
    }
    for (size_t i = 0; i < summary->n; i++) {
        n_not_ready += !summary->is_ready[i];
        n_cordoned += summary->is_cordoned[i];
    }
    if (n_not_ready > 0)
        html_write(html, " %zu not ready.", n_not_ready);
    if (n_cordoned > 0)
        html_write(html, " %zu cordoned.", n_cordoned);
    if (str_is(column->name, "rejected"))
        html_write(html, " Counted over the last %zu filters.", summary->n_decisions);
    html_close(html);
}

static void draw_table(
    Html *html, const NodesSummary *summary, const NodeRank *ranks, size_t from) {
    _cleanup_(buf_done) Buf columns = BUF_INIT((size_t)64 * 1024);

    buf_append(&columns, STR("Node|State"));
    for (size_t i = 0; i < summary->n_columns; i++)
        buf_printf(&columns, "|#%.*s", STR_FMT(summary->columns[i].label));
    buf_append_char(&columns, '\0');
    widget_table(html, "nodes", "Nodes", buf_error(&columns) ? "Node|State" : columns.data);
    for (size_t i = from; i < summary->n && i < from + PAGE_ROWS; i++) {
        size_t place = ranks[i].place;

        html_write(html,
            summary->is_ready[place] ? "<tr><th scope='row'>" NODE_LINK
                                       "</th><td><span class='good'>✓ ready</span>"
                                     : "<tr><th scope='row'>" NODE_LINK
                                       "</th><td><strong class='bad'>✗ not ready</strong>",
            NODE_FMT(summary->names[place]));
        if (summary->is_cordoned[place])
            html_write(html, ", <strong class='warn'>cordoned</strong>");
        html_close(html);
        for (size_t k = 0; k < summary->n_columns; k++) {
            html_write(html, "<td class='number'>");
            draw_value(html, &summary->columns[k], summary->columns[k].values[place]);
            html_close(html);
        }
        html_close(html);
    }
    widget_table_end(html);
}

static unsigned draw_found(const PageContext *context, Html *html, const NodesSummary *summary,
    const NodesParams *params) {
    const NodeRank *ranks =
        rank_nodes(params->column->values, summary->n, params->order, context->arena);
    size_t from = (params->page - 1) * PAGE_ROWS;
    HtmlParameter parameters[] = {
        {"column", params->column->name},
        {params->order != ORDER_NAME ? "order" : NULL, str_from_c(orders[params->order].name)},
        {"page"},
    };

    draw_summary(context, html, summary, params->column);
    html_write(
        html, "<div id='heat' class='heat' data-column='%.*s'>", STR_FMT(params->column->name));
    html_attr(html, "data-src",
        arena_printf(context->arena, "/api/v1/nodes?column=%.*s", STR_FMT(params->column->name)));
    html_write(html, "<noscript><p class='quiet'>The grid needs JavaScript; the table has the same "
                     "values.</p></noscript></div>");
    if (from >= summary->n) {
        widget_empty(html, "There are fewer nodes.", "Go back to the first page.");
        return 404;
    }
    if (!ranks)
        return widget_no_memory(html, "the table");
    draw_table(html, summary, ranks, from);
    if (summary->n > PAGE_ROWS) {
        html_write(html, "<nav id='paging' aria-label='More nodes' data-live>%zu to %zu of %zu. ",
            from + 1, summary->n - from < PAGE_ROWS ? summary->n : from + PAGE_ROWS, summary->n);
        page_links_draw(html, "/nodes", parameters, ELEMENTS_OF(parameters), params->page,
            PAGE_ROWS, summary->n);
        html_close(html);
    }
    return 200;
}

unsigned page_nodes(const PageContext *context, Html *html) {
    char error[QUERY_ERROR_MAX];
    NodesParams params;
    NodesSummary summary;

    if (nodes_summary_make(context->api, context->arena, &summary) < 0)
        return widget_no_memory(html, "this page");
    if (summary.n == 0) {
        widget_empty(html, "berth knows no nodes.",
            "berth has no cluster: start berth serve with --kubeconfig or --cluster.");
        return 200;
    }
    if (!read_params(context, &summary, &params, error)) {
        (void)widget_problem(html, error);
        draw_form(html, &summary, &params);
        return 400;
    }
    draw_form(html, &summary, &params);
    return draw_found(context, html, &summary, &params);
}
