/* The report as JSON, and placements line by line. Fields are stable: docs/simulate.md has them. */
#include "base/visible.h"
#include "commands/simulate-report.h"
#include "json/write.h"

static void write_string(JsonWriter *writer, const char *key, Str value) {
    json_write_member(writer, str_from_c(key), value);
}

void shape_print(const Resources *shape, Buf *out) {
    for (size_t i = 0; i < shape->n; i++) {
        buf_printf(out, "%s%.*s=", i > 0 ? "," : "", STR_FMT(shape->items[i].name));
        resource_amount_print(shape->items[i].name, shape->items[i].amount, out);
    }
}

static void write_nodes(JsonWriter *writer, const SimulationResult *result) {
    json_member_object(writer, "nodesInUse");
    json_member_int(writer, "start", (int64_t)result->n_used_at_start);
    json_member_int(writer, "end", (int64_t)result->n_used);
    json_member_int(writer, "most", (int64_t)result->n_used_most);
    json_member_double(writer, "mean", result->n_used_mean);
    json_write_end_object(writer);
    json_member_int(writer, "nodesEmptied", (int64_t)result->n_emptied);
}

static void write_scaling(
    const SimulateReport *report, JsonWriter *writer, const SimulationResult *result) {
    const SimulationInput *input = report->input;
    double hours = result->added_seconds / 3600;

    if (input->autoscale_pool.n == 0)
        return;
    json_member_object(writer, "autoscale");
    json_member_int(writer, "nodesAdded", (int64_t)result->n_added);
    json_member_int(writer, "nodesAtEnd", (int64_t)result->n_added_left);
    if (input->is_timed) {
        json_member_double(writer, "nodeHours", hours);
        json_member_double(writer, "cost", hours * input->autoscale_pool.price);
    }
    json_member_double(
        writer, "costPerHour", (double)result->n_added_left * input->autoscale_pool.price);
    json_member_int(writer, "pendingWithoutNode", (int64_t)result->n_not_scaled);
    json_write_end_object(writer);
}

static void write_balance(const SimulateReport *report, JsonWriter *writer, const char *key,
    const BalanceFigures *figures) {
    json_member_object(writer, key);
    json_member_double(writer, "mean", figures->mean);
    json_member_double(writer, "deviation", figures->deviation);
    json_member_double(
        writer, "variation", figures->mean > 0 ? figures->deviation / figures->mean : 0);
    json_member_double(writer, "highest", figures->highest);
    write_string(writer, "highestNode", node_of_row(report->input, figures->highest_row));
    json_write_end_object(writer);
}

static void write_fits(
    const SimulateReport *report, JsonWriter *writer, const SimulationResult *result) {
    json_member_array(writer, "fits");
    for (size_t i = 0; i < report->n_shapes; i++) {
        _cleanup_(buf_done) Buf shape = BUF_INIT(4096);

        shape_print(&report->shapes[i], &shape);
        json_write_object(writer);
        write_string(writer, "shape", buf_str(&shape));
        json_member_int(writer, "pods", (int64_t)result->shapes[i].n_fit);
        json_member_double(writer, "freeCpuOfNoUse", result->shapes[i].cpu_left);
        json_member_double(writer, "freeMemoryOfNoUse", result->shapes[i].memory_left);
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
    json_member_bool(writer, "feasible", miss->choice.is_feasible);
    write_string(writer, "bestNode", node_of_row(report->input, miss->choice.any_best));
    json_member_int(writer, "points", (int64_t)miss->choice.inspected_score);
    json_member_int(writer, "bestPoints", (int64_t)miss->choice.score);
    json_write_end_object(writer);
}

static void write_follow(
    const SimulateReport *report, JsonWriter *writer, const SimulationResult *result) {
    if (!report->follows)
        return;
    json_member_object(writer, "follow");
    json_member_int(writer, "pods", (int64_t)result->n_followed);
    json_member_int(writer, "best", (int64_t)result->n_best);
    json_member_int(writer, "feasible", (int64_t)result->n_feasible);
    json_member_int(writer, "notModelled", (int64_t)result->n_unmodelled);
    json_member_array(writer, "misses");
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

    json_member_array(writer, "pods");
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
            json_member_double(writer, "waited", (double)pod_result->waited);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_contender(const SimulateReport *report, JsonWriter *writer, size_t number) {
    const PolicyRun *run = &report->runs[number];
    const SimulationResult *result = run->result;

    json_write_object(writer);
    write_string(writer, "name", run->name);
    json_member_bool(writer, "complete", !result->is_broken_off);
    json_member_int(writer, "reached", (int64_t)result->n_reached);
    json_member_int(writer, "placed", (int64_t)result->n_placed);
    json_member_int(writer, "ended", (int64_t)result->n_ended);
    json_member_int(writer, "pending", (int64_t)result->n_pending);
    json_member_array(writer, "pendingReasons");
    for (size_t i = 0; i < result->n_reasons; i++) {
        json_write_object(writer);
        write_string(writer, "reason", result->reasons[i].text);
        json_member_int(writer, "pods", (int64_t)result->reasons[i].n_pods);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
    json_member_int(writer, "attempts", (int64_t)result->n_attempts);
    if (report->nominates)
        json_member_int(writer, "nominated", (int64_t)result->n_nominated);
    if (result->n_scored > 0)
        json_member_double(writer, "scoreMean", result->score_sum / (double)result->n_scored);
    write_nodes(writer, result);
    write_scaling(report, writer, result);
    write_balance(report, writer, "cpu", &result->cpu);
    write_balance(report, writer, "memory", &result->memory);
    write_fits(report, writer, result);
    json_member_int(
        writer, "moves", (int64_t)simulation_result_moves(result, report->runs[0].result));
    json_member_object(writer, "waiting");
    json_member_int(writer, "pods", (int64_t)result->n_waited);
    json_member_double(writer, "mean", result->wait_mean);
    json_member_double(writer, "most", result->wait_most);
    json_write_end_object(writer);
    json_member_int(writer, "metricsAbsent", (int64_t)run->n_unfed);
    write_follow(report, writer, result);
    if (report->all)
        write_pods(report, writer, result);
    json_write_end_object(writer);
}

static void write_scenario(const SimulateReport *report, JsonWriter *writer) {
    const SimulationInput *input = report->input;

    json_member_int(
        writer, "nodes", (int64_t)(input->table->names->n_nodes - input->autoscale_pool.n));
    json_member_int(writer, "podsRunning", (int64_t)input->n_existing - input->n_rescheduled);
    json_member_int(writer, "podsToPlace", (int64_t)input->n_arrivals);
    json_member_int(writer, "podsPlacedAnew", (int64_t)input->n_rescheduled);
    json_member_double(writer, "lastArrival", input->last_at);
    json_member_int(writer, "seed", (int64_t)report->seed);
    json_member_int(writer, "weight", (int64_t)report->weight);
    json_member_object(writer, "notModelled");
    json_member_int(writer, "pods", (int64_t)input->n_any_unmodelled);
    for (unsigned i = 0; i < UNMODELLED_MAX; i++)
        if (input->n_unmodelled[i] > 0)
            json_member_int(writer, unmodelled_name((UnmodelledFeature)i), input->n_unmodelled[i]);
    json_write_end_object(writer);
}

void simulate_json(const SimulateReport *report, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    writer.indent = 2;
    json_write_object(&writer);
    write_scenario(report, &writer);
    json_member_array(&writer, "policies");
    for (size_t i = 0; i < report->n; i++)
        write_contender(report, &writer, i);
    json_write_end_array(&writer);
    json_write_end_object(&writer);
    buf_append_char(out, '\n');
}

void simulate_placements(const SimulateReport *report, Buf *out) {
    buf_append(out, STR("POD"));
    for (size_t i = 0; i < report->n; i++) {
        visible_print(out, "\t{}", report->runs[i].name);
    }
    buf_append_char(out, '\n');
    for (size_t k = 0; k < report->input->n_arrivals; k++) {
        const Arrival *arrival = &report->input->arrivals[k];

        visible_print(out, "{}/{}", arrival->request->pod.namespace, arrival->name);
        for (size_t i = 0; i < report->n; i++) {
            visible_print(
                out, "\t{}", node_of_row(report->input, report->runs[i].result->pods[k].row));
        }
        buf_append_char(out, '\n');
    }
}
