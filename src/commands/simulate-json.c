/* The report as JSON, and placements line by line. Fields are stable: docs/simulate.md has them. */
#include "base/visible.h"
#include "commands/simulate-report.h"
#include "commands/simulate-shapes.h"
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

static void write_reasons(JsonWriter *writer, const SimulationResult *result) {
    json_write_key(writer, STR("pendingReasons"));
    json_write_array(writer);
    for (size_t i = 0; i < result->n_reasons; i++) {
        json_write_object(writer);
        write_string(writer, "reason", result->reasons[i].text);
        write_count(writer, "pods", result->reasons[i].n_pods);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_nodes(JsonWriter *writer, const SimulationResult *result) {
    json_write_key(writer, STR("nodesInUse"));
    json_write_object(writer);
    write_count(writer, "start", result->n_used_at_start);
    write_count(writer, "end", result->n_used);
    write_count(writer, "most", result->n_used_most);
    write_double(writer, "mean", result->n_used_mean);
    json_write_end_object(writer);
    write_count(writer, "nodesEmptied", result->n_emptied);
}

static void write_balance(const SimulateReport *report, JsonWriter *writer, const char *key,
    const BalanceFigures *figures) {
    json_write_key(writer, str_from_c(key));
    json_write_object(writer);
    write_double(writer, "mean", figures->mean);
    write_double(writer, "deviation", figures->deviation);
    write_double(writer, "variation", figures->mean > 0 ? figures->deviation / figures->mean : 0);
    write_double(writer, "highest", figures->highest);
    write_string(writer, "highestNode", node_of_row(report->input, figures->highest_row));
    json_write_end_object(writer);
}

static void write_fits(
    const SimulateReport *report, JsonWriter *writer, const SimulationResult *result) {
    json_write_key(writer, STR("fits"));
    json_write_array(writer);
    for (size_t i = 0; i < report->n_shapes; i++) {
        _cleanup_(buf_done) Buf shape = BUF_INIT(4096);

        shape_print(&report->shapes[i], &shape);
        json_write_object(writer);
        write_string(writer, "shape", buf_str(&shape));
        write_count(writer, "pods", result->shapes[i].n_fit);
        write_double(writer, "freeCpuOfNoUse", result->shapes[i].cpu_left);
        write_double(writer, "freeMemoryOfNoUse", result->shapes[i].memory_left);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_miss(
    const SimulateReport *report, JsonWriter *writer, const FollowMismatch *miss) {
    const Arrival *arrival = &report->input->arrivals[miss->arrival];

    json_write_object(writer);
    write_string(writer, "namespace", arrival->request->pod.namespace);
    write_string(writer, "name", arrival->name);
    write_string(writer, "node", node_of_row(report->input, arrival->current_row));
    json_write_key(writer, STR("feasible"));
    json_write_bool(writer, miss->choice.is_feasible);
    write_string(writer, "bestNode", node_of_row(report->input, miss->choice.any_best));
    json_write_key(writer, STR("points"));
    json_write_int(writer, miss->choice.inspected_score);
    json_write_key(writer, STR("bestPoints"));
    json_write_int(writer, miss->choice.score);
    json_write_end_object(writer);
}

static void write_follow(
    const SimulateReport *report, JsonWriter *writer, const SimulationResult *result) {
    if (!report->follows)
        return;
    json_write_key(writer, STR("follow"));
    json_write_object(writer);
    write_count(writer, "pods", result->n_followed);
    write_count(writer, "best", result->n_best);
    write_count(writer, "feasible", result->n_feasible);
    write_count(writer, "notModelled", result->n_unmodelled);
    json_write_key(writer, STR("misses"));
    json_write_array(writer);
    for (size_t i = 0; i < result->n_mismatches; i++)
        write_miss(report, writer, &result->mismatches[i]);
    json_write_end_array(writer);
    json_write_end_object(writer);
}

static void write_pods(
    const SimulateReport *report, JsonWriter *writer, const SimulationResult *result) {
    static const char *const pods[] = {
        [RESULT_PENDING] = "pending",
        [RESULT_PLACED] = "placed",
        [RESULT_ENDED] = "ended",
        [RESULT_NOT_ARRIVED] = "not reached",
    };

    json_write_key(writer, STR("pods"));
    json_write_array(writer);
    for (size_t i = 0; i < result->n_pods; i++) {
        const Arrival *arrival = &report->input->arrivals[i];
        const PodResult *pod_result = &result->pods[i];

        json_write_object(writer);
        write_string(writer, "namespace", arrival->request->pod.namespace);
        write_string(writer, "name", arrival->name);
        write_string(writer, "fate", str_from_c(pods[pod_result->kind]));
        if (pod_result->row != NO_ROW)
            write_string(writer, "node", node_of_row(report->input, pod_result->row));
        if (report->input->is_timed && pod_result->row != NO_ROW)
            write_double(writer, "waited", (double)pod_result->waited);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_contender(const SimulateReport *report, JsonWriter *writer, size_t number) {
    const PolicyRun *run = &report->runs[number];
    const SimulationResult *result = run->result;

    json_write_object(writer);
    write_string(writer, "name", run->name);
    json_write_key(writer, STR("complete"));
    json_write_bool(writer, !result->is_broken_off);
    write_count(writer, "reached", result->n_reached);
    write_count(writer, "placed", result->n_placed);
    write_count(writer, "ended", result->n_ended);
    write_count(writer, "pending", result->n_pending);
    write_reasons(writer, result);
    write_count(writer, "attempts", result->n_attempts);
    write_nodes(writer, result);
    write_balance(report, writer, "cpu", &result->cpu);
    write_balance(report, writer, "memory", &result->memory);
    write_fits(report, writer, result);
    write_count(writer, "moves", simulation_result_moves(result, report->runs[0].result));
    json_write_key(writer, STR("waiting"));
    json_write_object(writer);
    write_count(writer, "pods", result->n_waited);
    write_double(writer, "mean", result->wait_mean);
    write_double(writer, "most", result->wait_most);
    json_write_end_object(writer);
    write_count(writer, "metricsAbsent", run->n_unfed);
    write_follow(report, writer, result);
    if (report->all)
        write_pods(report, writer, result);
    json_write_end_object(writer);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void write_scenario(const SimulateReport *report, JsonWriter *writer) {
    const SimulationInput *input = report->input;

    write_count(writer, "nodes", input->table->names->n_nodes);
    write_count(writer, "podsRunning", input->n_existing - input->n_rescheduled);
    write_count(writer, "podsToPlace", input->n_arrivals);
    write_count(writer, "podsPlacedAnew", input->n_rescheduled);
    write_double(writer, "lastArrival", input->last_at);
    write_count(writer, "seed", report->seed);
    json_write_key(writer, STR("weight"));
    json_write_int(writer, report->weight);
    json_write_key(writer, STR("notModelled"));
    json_write_object(writer);
    write_count(writer, "pods", input->n_any_unmodelled);
    for (unsigned i = 0; i < UNMODELLED_MAX; i++)
        if (input->n_unmodelled[i] > 0)
            write_count(writer, unmodelled_name((UnmodelledFeature)i), input->n_unmodelled[i]);
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
        (void)visible_append(out, report->runs[i].name);
    }
    buf_append_char(out, '\n');
    for (size_t k = 0; k < report->input->n_arrivals; k++) {
        const Arrival *arrival = &report->input->arrivals[k];

        (void)visible_append(out, arrival->request->pod.namespace);
        buf_append_char(out, '/');
        (void)visible_append(out, arrival->name);
        for (size_t i = 0; i < report->n; i++) {
            buf_append_char(out, '\t');
            (void)visible_append(
                out, node_of_row(report->input, report->runs[i].result->pods[k].row));
        }
        buf_append_char(out, '\n');
    }
}
