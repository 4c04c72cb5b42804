/* Reports gauges whose values have expired. Only a gauge with values can lose them, so the last
 * state is kept by number. Gauges of a new program take the state of equal ones (gauge_equal()). */

#include "monitor/expiry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/loads.h"
#include "live/gauge-state.h"
#include "policy/program.h"

void expiry_done(Expiry *expiry) {
    program_unref(expiry->program);
    free(expiry->items);
}

static GaugePresence known(const Expiry *expiry, const Gauge *gauge) {
    for (size_t i = 0; expiry->program && i < expiry->program->n_gauges; i++)
        if (gauge_equal(&expiry->program->gauges[i], gauge))
            return expiry->items[i];
    return PRESENCE_NONE;
}

/* False: out of memory; the next call tries again. */
static bool follow(Expiry *expiry, Program *program) {
    GaugePresence *items;

    if (program == expiry->program)
        return true;
    items = calloc(program->n_gauges + 1, sizeof(*items));
    if (!items)
        return false;
    for (size_t i = 0; i < program->n_gauges; i++)
        items[i] = known(expiry, &program->gauges[i]);
    free(expiry->items);
    program_unref(expiry->program);
    expiry->items = items;
    expiry->program = program_ref(program);
    return true;
}

/* Whether values have expired: the last answer has values for known nodes, but none is in force. */
static bool has_aged(const View *view, size_t gauge) {
    const Measurements *measurements = view->measurements;
    const Measurement *measurement =
        measurements && gauge < measurements->n ? measurements->items[gauge] : NULL;

    if (view->program->gauges[gauge].source == GAUGE_ANNOTATION)
        return true;
    for (size_t row = 0; measurement && row < measurement->names->n_rows; row++)
        if (!isnan(measurement->values[row]) &&
            table_find(view->table, measurement->names->names[row]) < view->table->n_rows)
            return true;
    return false;
}

static GaugePresence presence_of(const View *view, size_t gauge, GaugePresence was) {
    LoadsFigures figures;

    loads_figures(view->table->loads, view->table, gauge, &figures);
    if (figures.n_present > 0)
        return PRESENCE_HAS;
    if (figures.n_nodes == 0 || was != PRESENCE_HAS) /* no nodes, or unchanged */
        return was;
    return has_aged(view, gauge) ? PRESENCE_GONE : PRESENCE_NONE;
}

/* Writes a line to the log and to @changes, and an Event. */
static void report(Changes *changes, Live *live, const View *view, size_t gauge, bool is_gone) {
    const Gauge *about = &view->program->gauges[gauge];
    Str policy = gauge_policy(view->program, gauge);
    char what[CHANGES_TEXT_MAX], text[CHANGES_TEXT_MAX];

    if (is_gone)
        log_warn("metric expired: no value on any node", LOG_STR("policy", policy),
            LOG_STR("metric", about->name), LOG_STR("source", gauge_source_name(about)),
            LOG_INT("max_age_ms", about->max_age_nsec / NSEC_PER_MSEC));
    else
        log_info("metric has values again", LOG_STR("policy", policy),
            LOG_STR("metric", about->name), LOG_STR("source", gauge_source_name(about)));
    (void)snprintf(
        what, sizeof(what), "metric %.*s of policy %.*s", STR_FMT(about->name), STR_FMT(policy));
    (void)snprintf(text, sizeof(text),
        is_gone ? "older than %.0f s on every node: expired"
                : "has values younger than %.0f s again",
        (double)about->max_age_nsec / (double)NSEC_PER_SEC);
    changes_note(changes, is_gone ? CHANGE_METRIC_OLD : CHANGE_METRIC_BACK, clock_wall_nsec(),
        str_from_c(what), str_from_c(text));
    if (live && is_gone)
        live_note_stale(live, policy, about->name, gauge_source_name(about));
}

void expiry_look(Expiry *expiry, const View *view, Changes *changes, Live *live) {
    if (!follow(expiry, view->program))
        return;
    for (size_t i = 0; i < view->program->n_gauges; i++) {
        GaugePresence was = expiry->items[i], is = presence_of(view, i, was);

        expiry->items[i] = is;
        if ((was == PRESENCE_GONE && is == PRESENCE_HAS) ||
            (was == PRESENCE_HAS && is == PRESENCE_GONE))
            report(changes, live, view, i, is == PRESENCE_GONE);
    }
}
