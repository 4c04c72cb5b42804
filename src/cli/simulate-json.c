/* The report as JSON, and placements line by line. Fields are stable: docs/simulate.md has them. */
#include "base/visible.h"
#include "cli/simulate-report.h"
#include "cli/simulate-shapes.h"
#include "json/write.h"

static void write_count(JsonWriter *writer, const char *key, size_t value) {
    json_write_key(writer, str_from_c(key));
    json_write_int(writer, (int64_t)value);
}

static void write_double(JsonWriter *writer, const char *key, double value) {
    json_write_key(writer, str_from_c(key));
    json_write_double(writer, value);
}

static void write_string(JsonWriter *writer, const char *key, Str value) {
    json_write_member(writer, str_from_c(key), value);
}

/* --- one policy ------------------------------------------------------------------------------- */

static void write_reasons(JsonWriter *writer, const Outcome *outcome) {
    json_write_key(writer, STR("pendingReasons"));
    json_write_array(writer);
    for (size_t i = 0; i < outcome->n_reasons; i++) {
        json_write_object(writer);
        write_string(writer, "reason", outcome->reasons[i].text);
        write_count(writer, "pods", outcome->reasons[i].n_pods);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_nodes(JsonWriter *writer, const Outcome *outcome) {
    json_write_key(writer, STR("nodesInUse"));
    json_write_object(writer);
    write_count(writer, "start", outcome->n_used_at_start);
    write_count(writer, "end", outcome->n_used);
    write_count(writer, "most", outcome->n_used_most);
    write_double(writer, "mean", outcome->n_used_mean);
    json_write_end_object(writer);
    write_count(writer, "nodesEmptied", outcome->n_emptied);
}

static void write_balance(const SimulateReport *report, JsonWriter *writer, const char *key,
    const BalanceFigures *figures) {
    json_write_key(writer, str_from_c(key));
    json_write_object(writer);
    write_double(writer, "mean", figures->mean);
    write_double(writer, "deviation", figures->deviation);
    write_double(writer, "variation", figures->mean > 0 ? figures->deviation / figures->mean : 0);
    write_double(writer, "highest", figures->highest);
    write_string(writer, "highestNode", node_of_row(report->scenario, figures->highest_row));
    json_write_end_object(writer);
}

static void write_fits(const SimulateReport *report, JsonWriter *writer, const Outcome *outcome) {
    json_write_key(writer, STR("fits"));
    json_write_array(writer);
    for (size_t i = 0; i < report->n_shapes; i++) {
        _cleanup_(buf_done) Buf shape = BUF_INIT(4096);

        shape_print(&report->shapes[i], &shape);
        json_write_object(writer);
        write_string(writer, "shape", buf_str(&shape));
        write_count(writer, "pods", outcome->shapes[i].n_fit);
        write_double(writer, "freeCpuOfNoUse", outcome->shapes[i].cpu_left);
        write_double(writer, "freeMemoryOfNoUse", outcome->shapes[i].memory_left);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_miss(const SimulateReport *report, JsonWriter *writer, const Miss *miss) {
    const Arrival *arrival = &report->scenario->arrivals[miss->arrival];

    json_write_object(writer);
    write_string(writer, "namespace", arrival->want->pod.namespace);
    write_string(writer, "name", arrival->name);
    write_string(writer, "node", node_of_row(report->scenario, arrival->was_on));
    json_write_key(writer, STR("feasible"));
    json_write_bool(writer, miss->choice.is_feasible);
    write_string(writer, "bestNode", node_of_row(report->scenario, miss->choice.any_best));
    json_write_key(writer, STR("points"));
    json_write_int(writer, miss->choice.asked_score);
    json_write_key(writer, STR("bestPoints"));
    json_write_int(writer, miss->choice.score);
    json_write_end_object(writer);
}

static void write_follow(const SimulateReport *report, JsonWriter *writer, const Outcome *outcome) {
    if (!report->follows)
        return;
    json_write_key(writer, STR("follow"));
    json_write_object(writer);
    write_count(writer, "pods", outcome->n_followed);
    write_count(writer, "best", outcome->n_best);
    write_count(writer, "feasible", outcome->n_feasible);
    write_count(writer, "notModelled", outcome->n_beyond);
    json_write_key(writer, STR("misses"));
    json_write_array(writer);
    for (size_t i = 0; i < outcome->n_misses; i++)
        write_miss(report, writer, &outcome->misses[i]);
    json_write_end_array(writer);
    json_write_end_object(writer);
}

static void write_pods(const SimulateReport *report, JsonWriter *writer, const Outcome *outcome) {
    static const char *const fates[] = {
        [FATE_WAITING] = "pending",
        [FATE_PLACED] = "placed",
        [FATE_ENDED] = "ended",
        [FATE_NOT_YET] = "not reached",
    };

    json_write_key(writer, STR("pods"));
    json_write_array(writer);
    for (size_t i = 0; i < outcome->n_pods; i++) {
        const Arrival *arrival = &report->scenario->arrivals[i];
        const PodFate *fate = &outcome->fates[i];

        json_write_object(writer);
        write_string(writer, "namespace", arrival->want->pod.namespace);
        write_string(writer, "name", arrival->name);
        write_string(writer, "fate", str_from_c(fates[fate->fate]));
        if (fate->row != NO_ROW)
            write_string(writer, "node", node_of_row(report->scenario, fate->row));
        if (report->scenario->is_timed && fate->row != NO_ROW)
            write_double(writer, "waited", (double)fate->waited);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_contender(const SimulateReport *report, JsonWriter *writer, size_t number) {
    const Contender *contender = &report->contenders[number];
    const Outcome *outcome = contender->outcome;

    json_write_object(writer);
    write_string(writer, "name", contender->name);
    json_write_key(writer, STR("complete"));
    json_write_bool(writer, !outcome->is_broken_off);
    write_count(writer, "reached", outcome->n_reached);
    write_count(writer, "placed", outcome->n_placed);
    write_count(writer, "ended", outcome->n_ended);
    write_count(writer, "pending", outcome->n_waiting);
    write_reasons(writer, outcome);
    write_count(writer, "attempts", outcome->n_attempts);
    write_nodes(writer, outcome);
    write_balance(report, writer, "cpu", &outcome->cpu);
    write_balance(report, writer, "memory", &outcome->memory);
    write_fits(report, writer, outcome);
    write_count(writer, "moves", outcome_moves(outcome, report->contenders[0].outcome));
    json_write_key(writer, STR("waiting"));
    json_write_object(writer);
    write_count(writer, "pods", outcome->n_waited);
    write_double(writer, "mean", outcome->wait_mean);
    write_double(writer, "most", outcome->wait_most);
    json_write_end_object(writer);
    write_count(writer, "metricsAbsent", contender->n_unfed);
    write_follow(report, writer, outcome);
    if (report->all)
        write_pods(report, writer, outcome);
    json_write_end_object(writer);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void write_scenario(const SimulateReport *report, JsonWriter *writer) {
    const Scenario *scenario = report->scenario;

    write_count(writer, "nodes", scenario->table->names->n_nodes);
    write_count(writer, "podsRunning", scenario->n_residents - scenario->n_lifted);
    write_count(writer, "podsToPlace", scenario->n_arrivals);
    write_count(writer, "podsPlacedAnew", scenario->n_lifted);
    write_double(writer, "lastArrival", scenario->last_at);
    write_count(writer, "seed", report->seed);
    json_write_key(writer, STR("weight"));
    json_write_int(writer, report->weight);
    json_write_key(writer, STR("notModelled"));
    json_write_object(writer);
    write_count(writer, "pods", scenario->n_any_beyond);
    for (unsigned i = 0; i < _BEYOND_MAX; i++)
        if (scenario->n_beyond[i] > 0)
            write_count(writer, beyond_name((Beyond)i), scenario->n_beyond[i]);
    json_write_end_object(writer);
}

void simulate_json(const SimulateReport *report, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    writer.indent = 2;
    json_write_object(&writer);
    write_scenario(report, &writer);
    json_write_key(&writer, STR("policies"));
    json_write_array(&writer);
    for (size_t i = 0; i < report->n; i++)
        write_contender(report, &writer, i);
    json_write_end_array(&writer);
    json_write_end_object(&writer);
    buf_append_char(out, '\n');
}

void simulate_placements(const SimulateReport *report, Buf *out) {
    buf_append(out, STR("POD"));
    for (size_t i = 0; i < report->n; i++) {
        buf_append_char(out, '\t');
        (void)visible_append(out, report->contenders[i].name);
    }
    buf_append_char(out, '\n');
    for (size_t k = 0; k < report->scenario->n_arrivals; k++) {
        const Arrival *arrival = &report->scenario->arrivals[k];

        (void)visible_append(out, arrival->want->pod.namespace);
        buf_append_char(out, '/');
        (void)visible_append(out, arrival->name);
        for (size_t i = 0; i < report->n; i++) {
            buf_append_char(out, '\t');
            (void)visible_append(
                out, node_of_row(report->scenario, report->contenders[i].outcome->fates[k].row));
        }
        buf_append_char(out, '\n');
    }
}
