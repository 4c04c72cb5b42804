/*
 * The report as a table: a line for each figure, a column for each policy.
 *
 * Lines are collected first, so that columns are as wide as they must be.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/vec.h"
#include "base/visible.h"
#include "cli/terminal.h"
#include "commands/simulate-report.h"

#define CELL_MAX 64
#define LABEL_MAX 64 /* columns; longer reasons are cut */
#define REASONS_SHOWN 8u
#define MISSES_SHOWN 5u

typedef struct Line {
    Str label;
    unsigned indent;
    Str cells[SIMULATE_RUNS_MAX];
} Line;

typedef struct Table {
    const SimulateReport *report;
    VEC(Line) lines;
} Table;

static Line *add_line(Table *table, unsigned indent, Str label) {
    Line *line = VEC_PUSH(&table->lines, table->report->scratch);

    line->label = label;
    line->indent = indent;
    return line;
}

__attribute__((format(printf, 4, 5))) static void set_cell(
    Table *table, Line *line, size_t i, const char *format, ...) {
    char text[CELL_MAX];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    line->cells[i] = arena_copy(table->report->scratch, str_from_c(text));
}

static void set_count(Table *table, Line *line, size_t i, size_t count) {
    set_cell(table, line, i, "%s", GROUPED(count));
}

static const SimulationResult *simulation_result_of(const Table *table, size_t i) {
    return table->report->runs[i].result;
}

/* Adds a line of counts: the size_t at @offset of each result. */
static void add_counts(Table *table, unsigned indent, const char *label, size_t offset) {
    Line *line = add_line(table, indent, str_from_c(label));

    for (size_t i = 0; i < table->report->n; i++) {
        size_t count;

        memcpy(&count, (const char *)simulation_result_of(table, i) + offset, sizeof(count));
        set_count(table, line, i, count);
    }
}

/* Adds a line of numbers: the double at @offset of each result, times @factor. */
static void add_numbers(Table *table, unsigned indent, const char *label, size_t offset,
    double factor, int decimals, const char *unit) {
    Line *line = add_line(table, indent, str_from_c(label));

    for (size_t i = 0; i < table->report->n; i++) {
        double number;

        memcpy(&number, (const char *)simulation_result_of(table, i) + offset, sizeof(number));
        set_cell(table, line, i, "%.*f%s", decimals, factor * number, unit);
    }
}

#define AT(member) offsetof(SimulationResult, member)

/* Adds the reasons for which pods are pending under any policy. */
static void add_reasons(Table *table) {
    size_t from = table->lines.n;

    for (size_t i = 0; i < table->report->n; i++) {
        const SimulationResult *result = simulation_result_of(table, i);

        for (size_t k = 0; k < result->n_reasons && k < REASONS_SHOWN; k++) {
            Str text = result->reasons[k].text;
            size_t at = from;

            while (at < table->lines.n && !str_eq(table->lines.items[at].label, text))
                at++;
            set_count(table,
                at < table->lines.n ? &table->lines.items[at] : add_line(table, 2, text), i,
                result->reasons[k].n_pods);
        }
    }
}

static void add_pods(Table *table) {
    add_counts(table, 0, "pods placed", AT(n_placed));
    if (table->report->input->has_lifetimes)
        add_counts(table, 1, "of these ended", AT(n_ended));
    if (table->report->settings->nominates)
        add_counts(table, 1, "on nominated nodes", AT(n_nominated));
    add_counts(table, 0, "pods pending", AT(n_pending));
    add_reasons(table);
}

static void add_nodes(Table *table) {
    add_counts(table, 0, "nodes in use at the end", AT(n_used));
    add_counts(table, 1, "at the start", AT(n_used_at_start));
    add_counts(table, 1, "at most", AT(n_used_most));
    add_numbers(table, 1, "on average", AT(n_used_mean), 1, 1, "");
    add_counts(table, 0, "nodes emptied", AT(n_emptied));
}

/* Adds the nodes that an autoscaler added, and their price. */
static void add_scaling(Table *table) {
    const SimulationInput *input = table->report->input;
    bool has_cost = input->autoscale_pool.price > 0;
    Line *line;

    if (input->autoscale_pool.n == 0)
        return;
    add_counts(table, 0, "nodes added", AT(n_added));
    add_counts(table, 1, "at the end", AT(n_added_left));
    if (input->is_timed)
        add_numbers(table, 1, "node-hours", AT(added_seconds), 1 / 3600.0, 2, "");
    if (input->is_timed && has_cost)
        add_numbers(table, 1, "cost", AT(added_seconds), input->autoscale_pool.price / 3600, 2, "");
    line = has_cost ? add_line(table, 1, STR("cost of an hour, at the end")) : NULL;
    for (size_t i = 0; line && i < table->report->n; i++)
        set_cell(table, line, i, "%.2f",
            (double)simulation_result_of(table, i)->n_added_left * input->autoscale_pool.price);
    add_counts(table, 0, "pods pending for which no node is added", AT(n_not_scaled));
}

/* @offset: of the BalanceFigures in a result. */
static void add_balance(Table *table, const char *label, size_t offset) {
    Line *line;

    add_numbers(table, 0, label, offset + offsetof(BalanceFigures, mean), 100, 1, " %");
    line = add_line(table, 1, STR("standard deviation (of the mean)"));
    for (size_t i = 0; i < table->report->n; i++) {
        BalanceFigures figures;

        memcpy(&figures, (const char *)simulation_result_of(table, i) + offset, sizeof(figures));
        set_cell(table, line, i, "%.1f %% (%.2f)", 100 * figures.deviation,
            figures.mean > 0 ? figures.deviation / figures.mean : 0);
    }
    add_numbers(table, 1, "fullest node", offset + offsetof(BalanceFigures, highest), 100, 1, " %");
}

static void add_shapes(Table *table) {
    const SimulateReport *report = table->report;

    if (report->n_shapes > 0)
        (void)add_line(table, 0, STR("more pods that would fit"));
    for (size_t s = 0; s < report->n_shapes; s++) {
        _cleanup_(buf_done) Buf label = BUF_INIT(1024);
        Line *line, *left;

        shape_print(&report->shapes[s], &label);
        line = add_line(table, 1, arena_copy(report->scratch, buf_str(&label)));
        for (size_t i = 0; i < report->n; i++)
            set_count(table, line, i, simulation_result_of(table, i)->shapes[s].n_fit);
        left = add_line(table, 2, STR("free cpu and memory that they leave"));
        for (size_t i = 0; i < report->n; i++) {
            const ShapeFigures *figures = &simulation_result_of(table, i)->shapes[s];

            set_cell(table, left, i, "%.0f %%, %.0f %%", 100 * figures->cpu_left,
                100 * figures->memory_left);
        }
    }
}

static void add_moves(Table *table) {
    const SimulateReport *report = table->report;
    Line *line;

    if (report->n > 1) {
        line = add_line(table, 0, STR("pods on another node than under the first"));
        set_cell(table, line, 0, "-");
        for (size_t i = 1; i < report->n; i++)
            set_count(table, line, i,
                simulation_result_moves(
                    simulation_result_of(table, i), simulation_result_of(table, 0)));
    }
    if (report->input->n_rescheduled == 0 || report->settings->follows)
        return;
    line = add_line(table, 0, STR("pods on another node than they run on"));
    for (size_t i = 0; i < report->n; i++) {
        size_t n = 0;

        for (size_t k = 0; k < report->input->n_arrivals; k++) {
            uint32_t was = report->input->arrivals[k].current_row;
            uint32_t is = simulation_result_of(table, i)->pods[k].row;

            n += was != NO_ROW && is != NO_ROW && was != is;
        }
        set_count(table, line, i, n);
    }
}

static void add_follow(Table *table) {
    Line *line;

    if (!table->report->settings->follows)
        return;
    add_counts(table, 0, "pods followed to their nodes", AT(n_followed));
    line = add_line(table, 1, STR("their node is among the best"));
    for (size_t i = 0; i < table->report->n; i++) {
        const SimulationResult *result = simulation_result_of(table, i);

        set_cell(table, line, i, "%zu (%.1f %%)", result->n_best,
            result->n_followed > 0 ? 100.0 * (double)result->n_best / (double)result->n_followed
                                   : 0);
    }
    add_counts(table, 1, "their node can take them", AT(n_feasible));
    add_counts(table, 1, "left out: they request features that are not modelled", AT(n_unmodelled));
}

static void print_head(const SimulateReport *report, Buf *out) {
    const SimulationInput *input = report->input;

    buf_printf(out, "%s nodes, %s pods on them; %s pod%s to place",
        GROUPED(input->table->names->n_nodes - input->autoscale_pool.n),
        GROUPED(input->n_existing - input->n_rescheduled), GROUPED(input->n_arrivals),
        PLURAL(input->n_arrivals));
    if (input->is_timed)
        buf_printf(out, ", the last after %.0f s", input->last_at);
    if (input->n_rescheduled > 0)
        buf_printf(
            out, "; %s of them already run and are placed again", GROUPED(input->n_rescheduled));
    buf_append(out, STR("\n\n"));
}

static void print_lines(const Table *table, Buf *out) {
    const SimulateReport *report = table->report;
    size_t label_width = 0, widths[SIMULATE_RUNS_MAX];

    for (size_t i = 0; i < table->lines.n; i++) {
        size_t width =
            visible_width(table->lines.items[i].label) + 2 * table->lines.items[i].indent;

        label_width = width > label_width ? width : label_width;
    }
    label_width = label_width > LABEL_MAX ? LABEL_MAX : label_width;
    for (size_t i = 0; i < report->n; i++) {
        widths[i] = visible_width(report->runs[i].name);
        for (size_t k = 0; k < table->lines.n; k++)
            if (table->lines.items[k].cells[i].len > widths[i])
                widths[i] = table->lines.items[k].cells[i].len;
    }
    buf_append_repeat(out, ' ', label_width);
    for (size_t i = 0; i < report->n; i++) {
        buf_append_repeat(out, ' ', 2 + widths[i] - visible_width(report->runs[i].name));
        (void)visible_append(out, report->runs[i].name);
    }
    buf_append_char(out, '\n');
    for (size_t k = 0; k < table->lines.n; k++) {
        const Line *line = &table->lines.items[k];
        size_t room = label_width - 2 * line->indent, last = 0;

        for (size_t i = 0; i < report->n; i++)
            last = line->cells[i].len > 0 ? i + 1 : last;
        buf_append_repeat(out, ' ', (size_t)2 * line->indent);
        visible_append_padded(out, visible_take(line->label, room), last > 0 ? room : 0);
        for (size_t i = 0; i < last; i++)
            buf_printf(out, "%*.*s", (int)widths[i] + 2, STR_FMT(line->cells[i]));
        buf_append_char(out, '\n');
    }
}

static void print_miss(const SimulateReport *report, const FollowMismatch *miss, Buf *out) {
    const Arrival *arrival = &report->input->arrivals[miss->arrival];

    visible_print(
        out, "  {} is on {}", arrival->name, node_of_row(report->input, arrival->current_row));
    if (!miss->choice.is_feasible) {
        buf_append(out, STR(", which cannot take it by this model\n"));
        return;
    }
    buf_printf(out, " (%lld points); ", (long long)miss->choice.inspected_score);
    (void)visible_append(out, node_of_row(report->input, miss->choice.any_best));
    buf_printf(out, " has %lld\n", (long long)miss->choice.score);
}

static void print_follow(const SimulateReport *report, Buf *out) {
    for (size_t i = 0; report->settings->follows && i < report->n; i++) {
        const PolicyRun *run = &report->runs[i];
        const SimulationResult *result = run->result;

        if (result->n_mismatches == 0)
            continue;
        visible_print(out, "\nNot among the best, by {}:\n", run->name);
        for (size_t k = 0; k < result->n_mismatches && k < MISSES_SHOWN; k++)
            print_miss(report, &result->mismatches[k], out);
        if (result->n_followed - result->n_best > MISSES_SHOWN)
            buf_printf(out, "  and %zu more\n", result->n_followed - result->n_best - MISSES_SHOWN);
    }
}

static void print_notes(const SimulateReport *report, Buf *out) {
    const SimulationInput *input = report->input;
    _cleanup_(buf_done) Buf notes = BUF_INIT(1024 * 1024);
    size_t n_not_scaled = 0;

    for (unsigned i = 0; i < UNMODELLED_MAX; i++)
        if (input->n_unmodelled[i] > 0)
            buf_printf(&notes, "  %zu %s %s: not modelled\n", input->n_unmodelled[i],
                input->n_unmodelled[i] == 1 ? "pod has" : "pods have", unmodelled_names[i]);
    if (input->lacks_services)
        buf_append(&notes,
            STR("  the files have no Services: pods that only a Service selects may be spread\n"));
    for (size_t i = 0; i < report->n; i++)
        n_not_scaled += report->runs[i].result->n_not_scaled;
    if (n_not_scaled > 0)
        buf_append(
            &notes, STR("  an autoscaler does not ask berth: pods that only rules without publish "
                        "reject get no new node\n"));
    if (input->n_left_pending > 0)
        buf_printf(&notes,
            "  %zu pending pods of the cluster are not placed; --pending places them first\n",
            input->n_left_pending);
    if (input->n_without_node > 0)
        buf_printf(&notes, "  %zu pods run on nodes that the file does not have: left out\n",
            input->n_without_node);
    for (size_t i = 0; i < report->n; i++) {
        const PolicyRun *run = &report->runs[i];

        if (run->n_unfed > 0) {
            visible_print(&notes, "  {}", run->name);
            buf_printf(&notes,
                " reads %zu metric%s without values: absent; --metrics provides them\n",
                run->n_unfed, PLURAL(run->n_unfed));
        }
        if (run->result->is_broken_off) {
            visible_print(&notes, "  {}", run->name);
            buf_printf(&notes, " was interrupted after %zu of %zu pods\n", run->result->n_reached,
                run->result->n_pods);
        }
    }
    if (notes.len > 0)
        buf_printf(out, "\nNotes\n%.*s", STR_FMT(buf_str(&notes)));
}

void simulate_table(const SimulateReport *report, Buf *out) {
    Table table = {.report = report};

    add_pods(&table);
    add_nodes(&table);
    add_scaling(&table);
    add_balance(&table, "cpu requested, mean of all nodes", AT(cpu));
    add_balance(&table, "memory requested, mean of all nodes", AT(memory));
    add_shapes(&table);
    add_moves(&table);
    if (report->input->is_timed) {
        add_counts(&table, 0, "pods that were pending, then placed", AT(n_waited));
        add_numbers(&table, 1, "pending until placed, mean of all", AT(wait_mean), 1, 1, " s");
        add_numbers(&table, 1, "longest", AT(wait_most), 1, 1, " s");
    }
    add_follow(&table);
    print_head(report, out);
    print_lines(&table, out);
    print_follow(report, out);
    print_notes(report, out);
}
