/*
 * A gauge that never had a value cannot lose it: what it has had since it is followed is kept, by
 * number, and taken along by gauge_equal() when a program takes the place of another.
 */

#include "serve/expiry.h"

#include <stdlib.h>

#include "base/log.h"
#include "cluster/loads.h"
#include "policy/program.h"

typedef enum Presence {
    PRESENCE_NEVER, /* no value yet */
    PRESENCE_HAS,
    PRESENCE_GONE,
} Presence;

struct Expiry {
    Program *program; /* whose gauges: a reference; NULL: none yet */
    Presence *items;  /* by number of the gauge */
};

Expiry *expiry_new(void) {
    return calloc(1, sizeof(Expiry));
}

Expiry *expiry_free(Expiry *expiry) {
    if (!expiry)
        return NULL;
    program_unref(expiry->program);
    free(expiry->items);
    free(expiry);
    return NULL;
}

static Presence known(const Expiry *expiry, const Gauge *gauge) {
    for (size_t i = 0; expiry->program && i < expiry->program->n_gauges; i++)
        if (gauge_equal(&expiry->program->gauges[i], gauge))
            return expiry->items[i];
    return PRESENCE_NEVER;
}

/* False: out of memory; there is another look soon. */
static bool follow(Expiry *expiry, Program *program) {
    Presence *items;

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

static ExpiryChange note(Presence *presence, const LoadsFigures *figures) {
    Presence was = *presence;

    if (figures->n_nodes == 0) /* nobody to have a value */
        return EXPIRY_SAME;
    if (figures->n_present > 0)
        *presence = PRESENCE_HAS;
    else if (was == PRESENCE_HAS)
        *presence = PRESENCE_GONE;
    if (was == PRESENCE_GONE && *presence == PRESENCE_HAS)
        return EXPIRY_BACK;
    return was == PRESENCE_HAS && *presence == PRESENCE_GONE ? EXPIRY_GONE : EXPIRY_SAME;
}

void expiry_look(Expiry *expiry, const View *view, ExpiryTold told, void *context) {
    if (!follow(expiry, view->program))
        return;
    for (size_t i = 0; i < view->program->n_gauges; i++) {
        LoadsFigures figures;
        ExpiryChange change;

        loads_figures(view->table->loads, view->table, i, &figures);
        change = note(&expiry->items[i], &figures);
        if (change != EXPIRY_SAME)
            told(context, view, i, change);
    }
}

void expiry_log(void *context, const View *view, size_t gauge, ExpiryChange change) {
    const Gauge *about = &view->program->gauges[gauge];

    (void)context;
    if (change == EXPIRY_GONE)
        log_warn("metric has grown too old: absent from now on",
            LOG_STR("metric", about->name),
            LOG_INT("max_age_ms", about->max_age_nsec / 1000000));
    else
        log_info("metric has values again", LOG_STR("metric", about->name));
}
