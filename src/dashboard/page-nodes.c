/*
 * Is the load balanced? One column of all nodes as a grid of colours, for eyes; the same as a
 * table, a page at a time, for everybody.
 *
 * For the modules: <div id="heat" data-column="used.cpu" data-src="/api/v1/nodes?column=…"> is to
 * be filled by heat.js; #nodes-summary and the table in #nodes are live.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/nodes-summary.h"
#include "dashboard/dashboard.h"
#include "dashboard/widgets.h"

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

/* --- parameters ----------------------------------------------------------------------------- */

static bool find_column(
    const NodesSummary *summary, Str name, const NodeColumn **ret, char *error) {
    for (size_t i = 0; i < summary->n_columns; i++) {
        *ret = &summary->columns[i];
        if (!name.ptr || str_eq(name, summary->columns[i].name))
            return true;
    }
    (void)snprintf(error, QUERY_ERROR_MAX, "there is no column with this name: choose one below");
    *ret = &summary->columns[0];
    return false;
}

static bool find_order(Str name, NodesOrder *ret, char *error) {
    for (size_t i = 0; i < ELEMENTS_OF(orders); i++) {
        *ret = (NodesOrder)i;
        if (!name.ptr || str_is(name, orders[i].name))
            return true;
    }
    (void)snprintf(error, QUERY_ERROR_MAX, "order must be name, highest or lowest");
    *ret = ORDER_NAME;
    return false;
}

static bool read_params(
    const PageContext *context, const NodesSummary *summary, NodesParams *ret, char *error) {
    int64_t page = 1;
    bool is_fine =
        find_column(summary, query_get(context->query, STR("column")), &ret->column, error) &&
        find_order(query_get(context->query, STR("order")), &ret->order, error) &&
        query_number(context->query, STR("page"), 1, 1000000, 1, &page, error);

    ret->page = (size_t)page;
    return is_fine;
}

/* --- choosing --------------------------------------------------------------------------------- */

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

/* --- the sentence ----------------------------------------------------------------------------- */

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

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The known values, sorted, in @arena; how many. */
static size_t sort_values(
    const NodeColumn *column, size_t n_nodes, Arena *arena, const double **ret) {
    double *values = ARENA_RAW(arena, double, n_nodes);
    size_t n = 0;

    for (size_t i = 0; values && i < n_nodes; i++)
        if (!isnan(column->values[i]))
            values[n++] = column->values[i];
    if (n > 1)
        qsort(values, n, sizeof(*values), compare_doubles);
    *ret = values;
    return n;
}

static void say_value(Html *html, const char *what, const NodeColumn *column, double value) {
    html_write(html, "%s<b>", what);
    draw_value(html, column, value);
    html_close(html);
}

static void say_states(Html *html, const NodesSummary *summary) {
    size_t n_not_ready = 0, n_cordoned = 0;

    for (size_t i = 0; i < summary->n; i++) {
        n_not_ready += !summary->is_ready[i];
        n_cordoned += summary->is_cordoned[i];
    }
    if (n_not_ready > 0)
        html_write(html, " %zu not ready.", n_not_ready);
    if (n_cordoned > 0)
        html_write(html, " %zu cordoned.", n_cordoned);
}

static void draw_summary(
    const PageContext *context, Html *html, const NodesSummary *summary, const NodeColumn *column) {
    const double *values;
    size_t n = sort_values(column, summary->n, context->arena, &values), n_high = 0;

    html_write(html, "<p id='nodes-summary' data-live>%zu%s%.*s", summary->n,
        summary->n == 1 ? " node; " : " nodes; ", STR_FMT(column->label));
    if (n == 0) {
        html_write(html, ": no values.");
    } else {
        say_value(html, ": lowest ", column, values[0]);
        say_value(html, ", median ", column, values[n / 2]);
        say_value(html, ", highest ", column, values[n - 1]);
        html_write(html, ".");
        if (n < summary->n)
            html_write(html, " No value on %zu.", summary->n - n);
        while (n_high < n && values[n - 1 - n_high] > HIGH_SHARE)
            n_high++;
        if (column->is_share)
            html_write(
                html, " Above 90 %%: <b>%zu</b>%s", n_high, n_high == 1 ? " node." : " nodes.");
    }
    say_states(html, summary);
    if (str_is(column->name, "rejected"))
        html_write(html, " Counted over the last %zu filters.", summary->n_decisions);
    html_close(html);
}

static void draw_grid(const PageContext *context, Html *html, const NodeColumn *column) {
    html_write(html, "<div id='heat' class='heat' data-column='%.*s'>", STR_FMT(column->name));
    html_attr(html, "data-src",
        arena_printf(context->arena, "/api/v1/nodes?column=%.*s", STR_FMT(column->name)));
    html_write(html, "<noscript><p class='quiet'>The grid needs JavaScript; the table has the same "
                     "values.</p></noscript></div>");
}

/* --- the table -------------------------------------------------------------------------------- */

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

static const NodeRank *rank_nodes(
    const PageContext *context, const NodesSummary *summary, const NodesParams *params) {
    NodeRank *ranks = ARENA_ARRAY(context->arena, NodeRank, summary->n);
    const double *values = params->column->values;

    for (size_t i = 0; ranks && i < summary->n; i++)
        ranks[i] = (NodeRank){
            .place = i,
            .key = params->order == ORDER_NAME      ? 0
                   : params->order == ORDER_HIGHEST ? -values[i]
                                                    : values[i],
        };
    if (ranks && summary->n > 1)
        qsort(ranks, summary->n, sizeof(*ranks), compare_ranks);
    return ranks;
}

static void draw_node(Html *html, const NodesSummary *summary, size_t place) {
    html_write(html, "<tr><th scope='row'>" NODE_LINK "</th><td>", NODE_FMT(summary->names[place]));
    html_write(html, summary->is_ready[place] ? "<span class='good'>✓ ready</span>"
                                              : "<strong class='bad'>✗ not ready</strong>");
    if (summary->is_cordoned[place])
        html_write(html, ", <strong class='warn'>cordoned</strong>");
    html_close(html);
    for (size_t i = 0; i < summary->n_columns; i++) {
        html_write(html, "<td class='number'>");
        draw_value(html, &summary->columns[i], summary->columns[i].values[place]);
        html_close(html);
    }
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
    for (size_t i = from; i < summary->n && i < from + PAGE_ROWS; i++)
        draw_node(html, summary, ranks[i].place);
    widget_table_end(html);
}

static void draw_page_link(Html *html, const NodesParams *params, size_t page, const char *text) {
    char number[24];
    const HtmlParameter parameters[] = {
        {"column", params->column->name},
        {params->order != ORDER_NAME ? "order" : NULL, str_from_c(orders[params->order].name)},
        {"page", (Str){number, (size_t)snprintf(number, sizeof(number), "%zu", page)}},
    };

    html_link(html, "/nodes", parameters, ELEMENTS_OF(parameters), str_from_c(text));
    html_write(html, " ");
}

static void draw_paging(Html *html, const NodesParams *params, size_t n) {
    size_t from = (params->page - 1) * PAGE_ROWS;
    size_t to = from + PAGE_ROWS < n ? from + PAGE_ROWS : n;

    if (n <= PAGE_ROWS)
        return;
    html_write(html, "<nav id='paging' aria-label='More nodes' data-live>%zu to %zu of %zu. ",
        from + 1, to, n);
    if (params->page > 1)
        draw_page_link(html, params, params->page - 1, "Previous 200");
    if (to < n)
        draw_page_link(html, params, params->page + 1, "Next 200");
    html_close(html);
}

/* --- the page --------------------------------------------------------------------------------- */

static unsigned draw_found(const PageContext *context, Html *html, const NodesSummary *summary,
    const NodesParams *params) {
    const NodeRank *ranks = rank_nodes(context, summary, params);
    size_t from = (params->page - 1) * PAGE_ROWS;

    draw_summary(context, html, summary, params->column);
    draw_grid(context, html, params->column);
    if (from >= summary->n) {
        widget_empty(html, "There are fewer nodes.", "Go back to the first page.");
        return 404;
    }
    if (!ranks)
        return widget_no_memory(html, "the table");
    draw_table(html, summary, ranks, from);
    draw_paging(html, params, summary->n);
    return 200;
}

unsigned page_nodes(const PageContext *context, Html *html) {
    char error[QUERY_ERROR_MAX];
    NodesParams params = {.order = ORDER_NAME};
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
