/* The report as JSON. Fields are stable: docs/simulate.md has them. */
#include "commands/simulate-report.h"
#include "json/write.h"

void shape_print(const Resources *shape, Buf *out) {
    for (size_t i = 0; i < shape->n; i++) {
        buf_printf(out, "%s%.*s=", i > 0 ? "," : "", STR_FMT(shape->items[i].name));
        resource_amount_print(shape->items[i].name, shape->items[i].amount, out);
    }
}

static void write_scaling(
    const SimulateReport *report, JsonWriter *writer, const SimulationResult *result) {
    const SimulationInput *input = report->input;
    double hours = result->added_seconds / 3600;

    if (input->autoscale_pool.n == 0)
        return;
    json_write(writer, "autoscale: {nodesAdded: %zu, nodesAtEnd: %zu", result->n_added,
        result->n_added_left);
    if (input->is_timed)
        json_write(writer, "nodeHours: %g, cost: %g", hours, hours * input->autoscale_pool.price);
    json_write(writer, "costPerHour: %g, pendingWithoutNode: %zu}",
        (double)result->n_added_left * input->autoscale_pool.price, result->n_not_scaled);
}

static void write_balance(const SimulateReport *report, JsonWriter *writer, const char *key,
    const BalanceFigures *figures) {
    json_write(writer,
        "%s: {mean: %g, deviation: %g, variation: %g, highest: %g, highestNode: %.*s}", key,
        figures->mean, figures->deviation,
        figures->mean > 0 ? figures->deviation / figures->mean : 0, figures->highest,
        STR_FMT(node_of_row(report->input, figures->highest_row)));
}

static void write_fits(
    const SimulateReport *report, JsonWriter *writer, const SimulationResult *result) {
    json_member_array(writer, "fits");
    for (size_t i = 0; i < report->n_shapes; i++) {
        _cleanup_(buf_done) Buf shape = BUF_INIT(4096);

        shape_print(&report->shapes[i], &shape);
        json_write(writer, "{shape: %.*s, pods: %zu, freeCpuOfNoUse: %g, freeMemoryOfNoUse: %g}",
            STR_FMT(buf_str(&shape)), result->shapes[i].n_fit, result->shapes[i].cpu_left,
            result->shapes[i].memory_left);
    }
    json_write_end_array(writer);
}

static void write_miss(
    const SimulateReport *report, JsonWriter *writer, const FollowMismatch *miss) {
    const Arrival *arrival = &report->input->arrivals[miss->arrival];

    json_write(writer,
        "{namespace: %.*s, name: %.*s, node: %.*s, feasible: %i, bestNode: %.*s, points: %zu, "
        "bestPoints: %zu}",
        STR_FMT(arrival->request->pod.namespace), STR_FMT(arrival->name),
        STR_FMT(node_of_row(report->input, arrival->current_row)), miss->choice.is_feasible,
        STR_FMT(node_of_row(report->input, miss->choice.any_best)), miss->choice.inspected_score,
        miss->choice.score);
}

static void write_follow(
    const SimulateReport *report, JsonWriter *writer, const SimulationResult *result) {
    if (!report->settings->follows)
        return;
    json_write(writer, "follow: {pods: %zu, best: %zu, feasible: %zu, notModelled: %zu, misses: [",
        result->n_followed, result->n_best, result->n_feasible, result->n_unmodelled);
    for (size_t i = 0; i < result->n_mismatches; i++)
        write_miss(report, writer, &result->mismatches[i]);
    json_write(writer, "]}");
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

        json_write(writer, "{namespace: %.*s, name: %.*s, fate: %s",
            STR_FMT(arrival->request->pod.namespace), STR_FMT(arrival->name),
            pods[pod_result->kind]);
        if (pod_result->row != NO_ROW)
            json_write_member(writer, STR("node"), node_of_row(report->input, pod_result->row));
        if (report->input->is_timed && pod_result->row != NO_ROW)
            json_write(writer, "waited: %g", (double)pod_result->waited);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_run(const SimulateReport *report, JsonWriter *writer, size_t number) {
    const PolicyRun *run = &report->runs[number];
    const SimulationResult *result = run->result;

    json_write(writer,
        "{name: %.*s, complete: %i, reached: %zu, placed: %zu, ended: %zu, pending: %zu, "
        "pendingReasons: [",
        STR_FMT(run->name), !result->is_broken_off, result->n_reached, result->n_placed,
        result->n_ended, result->n_pending);
    for (size_t i = 0; i < result->n_reasons; i++)
        json_write(writer, "{reason: %.*s, pods: %zu}", STR_FMT(result->reasons[i].text),
            result->reasons[i].n_pods);
    json_write(writer, "], attempts: %zu", result->n_attempts);
    if (report->settings->nominates)
        json_member_int(writer, "nominated", (int64_t)result->n_nominated);
    if (result->n_scored > 0)
        json_write(writer, "scoreMean: %g", result->score_sum / (double)result->n_scored);
    json_write(writer, "nodesInUse: {start: %zu, end: %zu, most: %zu, mean: %g}, nodesEmptied: %zu",
        result->n_used_at_start, result->n_used, result->n_used_most, result->n_used_mean,
        result->n_emptied);
    write_scaling(report, writer, result);
    write_balance(report, writer, "cpu", &result->cpu);
    write_balance(report, writer, "memory", &result->memory);
    write_fits(report, writer, result);
    json_write(writer, "moves: %zu, waiting: {pods: %zu, mean: %g, most: %g}, metricsAbsent: %zu",
        simulation_result_moves(result, report->runs[0].result), result->n_waited,
        result->wait_mean, result->wait_most, run->n_unfed);
    write_follow(report, writer, result);
    if (report->settings->all)
        write_pods(report, writer, result);
    json_write_end_object(writer);
}

static void write_scenario(const SimulateReport *report, JsonWriter *writer) {
    const SimulationInput *input = report->input;

    json_write(writer,
        "{nodes: %zu, podsRunning: %zu, podsToPlace: %zu, podsPlacedAnew: %zu, lastArrival: %g, "
        "seed: %zu, weight: %zu, notModelled: {pods: %zu",
        input->table->names->n_nodes - input->autoscale_pool.n,
        input->n_existing - input->n_rescheduled, input->n_arrivals, input->n_rescheduled,
        input->last_at, report->settings->seed, report->settings->weight, input->n_any_unmodelled);
    for (unsigned i = 0; i < UNMODELLED_MAX; i++)
        json_write(writer, "%s?: %zu", unmodelled_names[i], input->n_unmodelled[i]);
}

void simulate_json(const SimulateReport *report, Buf *out) {
    JsonWriter writer = {.out = out, .indent = 2};

    write_scenario(report, &writer);
    json_write(&writer, "}, policies: [");
    for (size_t i = 0; i < report->n; i++)
        write_run(report, &writer, i);
    json_write(&writer, "]}\n");
}
