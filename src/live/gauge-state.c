/* The state of a gauge: its poll, its source, its coverage. */

#include "live/gauge-state.h"

#include "load/source.h"

const char *gauge_kind_name(GaugeSource kind) {
    static const char *const names[] = {
        [GAUGE_PROMETHEUS] = "prometheus",
        [GAUGE_RESOURCES] = "resourceMetrics",
        [GAUGE_ANNOTATION] = "annotation",
        [GAUGE_CUSTOM] = "customMetrics",
    };

    return names[kind];
}

Str gauge_source_name(const Gauge *gauge) {
    switch (gauge->source) {
    case GAUGE_PROMETHEUS:
        return source_meant(gauge->from);
    case GAUGE_RESOURCES:
        return GAUGE_RESOURCES_NAME;
    case GAUGE_CUSTOM:
        return GAUGE_CUSTOM_NAME;
    case GAUGE_ANNOTATION:
        break;
    }
    return STR_NULL;
}

bool gauge_source_is_used(const Program *program, GaugeSource source) {
    for (size_t i = 0; i < program->n_gauges; i++)
        if (program->gauges[i].source == source)
            return true;
    return false;
}

Str gauge_policy(const Program *program, size_t number) {
    for (size_t i = 0; i < program->n_policies; i++) {
        const SchemaMetrics *metrics = &program->policies[i].scope->metrics;

        for (uint32_t field = 0; field < metrics->type.n_fields; field++)
            if (metrics->gauges[field] == number)
                return program->policies[i].name;
    }
    return STR_NULL;
}

GaugeState gauge_state(
    const View *view, const MeasuringStatus *status, size_t number, GaugeTime time) {
    GaugeState ret = {.gauge = &view->program->gauges[number]};

    loads_figures(view->table->loads, view->table, number, &ret.figures);
    if (ret.gauge->source == GAUGE_ANNOTATION) { /* read with the nodes: nothing can fail */
        ret.state = ret.figures.n_present > 0 ? "ok" : "absent";
        ret.at_nsec = ret.figures.oldest_nsec;
        ret.age_nsec = time.now_nsec - ret.at_nsec;
        return ret;
    }
    ret.state = poll_state_name(POLL_WAITING);
    if (number >= status->n)
        return ret;
    ret.poll = &status->items[number];
    ret.state = poll_state_name(ret.poll->state);
    ret.at_nsec = ret.poll->answered_at_nsec;
    ret.age_nsec = time.uptime_nsec - ret.poll->answered_uptime;
    return ret;
}
