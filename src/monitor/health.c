/* /livez, /readyz and /healthz. */

#include "monitor/health.h"

#include <stdio.h>

#include "base/nsec.h"

#define HEALTH_NOTE_MAX (RELOAD_ERROR_MAX + 64u)

typedef struct Check {
    const char *name;
    bool livez;     /* also part of /livez */
    int config;     /* its ReloadKind; skipped if unused. -1: none */
    bool live;      /* only when the cluster is watched */
    bool lease;     /* ... and a Lease decides which replica binds */
    bool measuring; /* also if there are metrics */
    bool sandbox;   /* only if the process has one to show */
    /* Returns true if the check succeeds; may fill @note. NULL: it always succeeds. */
    bool (*check)(const HealthState *state, char *note);
} Check;

/* After a rejected reload the last good file answers requests. That is shown, but is no failure. */
static void note_degraded(const HealthState *state, ReloadKind kind, char *note) {
    ReloadState reload;

    reloads_get(state->reloads, kind, &reload);
    if (reload.is_used && !reload.is_good)
        (void)snprintf(
            note, HEALTH_NOTE_MAX, "degraded: the newest was rejected: %s", reload.error);
}

static void note_kind(
    const WatcherKindStatus *kind, const char *name, size_t n, int64_t now, Buf *out) {
    double age = (double)(now - kind->updated_at_nsec) / (double)NSEC_PER_SEC;

    if (out->len > 0)
        buf_append(out, STR("; "));
    buf_printf(out, "%s: ", name);
    if (kind->is_synced)
        buf_printf(out, "%zu, ", n);
    else
        buf_append(out, STR("not listed yet, "));
    if (kind->is_connected)
        buf_printf(out, "last update %.1f s ago", age);
    else if (kind->updated_at_nsec == 0)
        buf_printf(out, "no update yet: %s", kind->last_error);
    else
        buf_printf(out, "disconnected, last update %.1f s ago: %s", age, kind->last_error);
}

/* Succeeds when everything has been listed, and policies of the cluster are in force. After a lost
 * connection the last snapshot answers requests: that is shown, but is no failure. */
static bool check_sync(const HealthState *state, char *note) {
    const WatcherStatus *watcher = &state->live->watcher;
    _cleanup_(buf_done) Buf text = BUF_INIT(HEALTH_NOTE_MAX);

    note_kind(&watcher->kinds[WATCHER_NODES], "nodes", watcher->n_nodes, state->now_nsec, &text);
    note_kind(&watcher->kinds[WATCHER_PODS], "pods", watcher->n_pods, state->now_nsec, &text);
    for (unsigned i = 0; i < _RELATED_KINDS; i++)
        if (watcher->related_wanted & RELATED_BIT(i))
            note_kind(&watcher->kinds[_WATCHER_KINDS + i], related_kind_name((RelatedKind)i),
                watcher->n_related[i], state->now_nsec, &text);
    if (watcher->watches_policies)
        note_kind(&watcher->kinds[WATCHER_POLICIES], watcher_kind_name(WATCHER_POLICIES),
            watcher->n_policies, state->now_nsec, &text);
    (void)snprintf(note, HEALTH_NOTE_MAX, "%.*s", STR_FMT(buf_str(&text)));
    return state->live->is_synced && !state->program->is_partial;
}

/* Always succeeds: a replica that does not bind decides as well as any other, and acquires the
 * Lease when it gets binds. */
static bool check_lease(const HealthState *state, char *note) {
    const LeaseStatus *lease = &state->live->watcher.lease;

    if (lease->is_held)
        (void)snprintf(note, HEALTH_NOTE_MAX, "held");
    else if (lease->error[0])
        (void)snprintf(note, HEALTH_NOTE_MAX, "not held: %s", lease->error);
    else if (lease->holder[0])
        (void)snprintf(note, HEALTH_NOTE_MAX, "held by %s when last seen", lease->holder);
    else
        (void)snprintf(note, HEALTH_NOTE_MAX, "not held, not requested");
    return true;
}

/* Always succeeds: rules define what happens if a metric is absent. But it is shown. */
static bool check_sources(const HealthState *state, char *note) {
    const MeasuringStatus *measuring = state->measuring;
    size_t n = 0, n_answered = 0, failing = SIZE_MAX;
    const char *trouble = "";

    for (size_t i = 0; i < state->program->n_gauges && i < MEASURING_SHOWN_MAX; i++) {
        bool is_answered = i < measuring->n && measuring->items[i].state == POLL_OK;

        if (state->program->gauges[i].source == GAUGE_ANNOTATION)
            continue;
        n++;
        n_answered += is_answered;
        if (failing == SIZE_MAX && !is_answered)
            failing = i;
    }
    if (note[0] || n == 0)
        return true;
    if (failing < measuring->n)
        trouble = measuring->items[failing].error[0]
                      ? measuring->items[failing].error
                      : poll_state_name(measuring->items[failing].state);
    (void)snprintf(note, HEALTH_NOTE_MAX, "%zu of %zu metrics answered%s%.*s%s%s", n_answered, n,
        failing != SIZE_MAX ? "; " : "",
        STR_FMT(failing != SIZE_MAX ? state->program->gauges[failing].name : STR_NULL),
        trouble[0] ? ": " : "", trouble);
    return true;
}

/* Always succeeds: old kernels lack parts of it. */
static bool check_sandbox(const HealthState *state, char *note) {
    const char *active = state->sandbox->active, *missing = state->sandbox->missing;

    (void)snprintf(note, HEALTH_NOTE_MAX, "%s%s%s", active,
        active[0] && missing[0] ? "; not active: " : "", missing);
    return true;
}

static bool check_shutdown(const HealthState *state, char *note) {
    if (state->is_draining)
        (void)snprintf(note, HEALTH_NOTE_MAX, "draining");
    return !state->is_draining;
}

static const Check checks[] = {
    {.name = "ping", .livez = true, .config = -1},
    {.name = "policy", .config = RELOAD_POLICY},
    {.name = "cluster", .config = RELOAD_CLUSTER},
    {.name = "sync", .config = -1, .live = true, .check = check_sync},
    {.name = "lease", .config = -1, .live = true, .lease = true, .check = check_lease},
    {.name = "certificates", .config = RELOAD_CERTIFICATES},
    {.name = "sources", .config = RELOAD_SOURCES, .measuring = true, .check = check_sources},
    {.name = "pages-token", .config = RELOAD_PAGES_TOKEN},
    {.name = "sandbox", .config = -1, .sandbox = true, .check = check_sandbox},
    {.name = "shutdown", .config = -1, .check = check_shutdown},
};

static bool is_used(const Check *check, const HealthState *state) {
    ReloadState reload;

    if (check->live)
        return state->live && (!check->lease || state->live->watcher.has_lease);
    if (check->sandbox)
        return state->sandbox != NULL;
    if (check->measuring && state->program->n_gauges > 0)
        return true;
    if (check->config < 0)
        return true;
    reloads_get(state->reloads, (ReloadKind)check->config, &reload);
    return reload.is_used;
}

/* Whether the query has @name; with @value, unless that is NULL. */
static bool query_has(Str query, const char *name, const char *value) {
    Str part;

    while (!str_is_empty(query) && str_split(&query, '&', &part)) {
        size_t equals = str_find(part, '=');

        if (str_is(str_take(part, equals), name) &&
            (!value || (equals != SIZE_MAX && str_is(str_skip(part, equals + 1), value))))
            return true;
    }
    return false;
}

unsigned health_page(const char *probe, Str query, const HealthState *state, Buf *out) {
    bool is_livez = str_is(STR("livez"), probe), all_ok = true;

    for (size_t i = 0; i < ELEMENTS_OF(checks); i++) {
        char note[HEALTH_NOTE_MAX] = "";
        const char *shown = note;
        bool ok;

        if ((is_livez && !checks[i].livez) || !is_used(&checks[i], state))
            continue;
        if (query_has(query, "exclude", checks[i].name)) {
            buf_printf(out, "[+]%s excluded: ok\n", checks[i].name);
            continue;
        }
        if (checks[i].config >= 0)
            note_degraded(state, (ReloadKind)checks[i].config, note);
        ok = !checks[i].check || checks[i].check(state, note);
        all_ok &= ok;
        if (!state->shows_reasons)
            shown = ok ? "" : "reason withheld";
        buf_printf(out, "[%c]%s %s%s%s\n", ok ? '+' : '-', checks[i].name, ok ? "ok" : "failed",
            shown[0] ? ": " : "", shown);
    }
    if (all_ok && !query_has(query, "verbose", NULL)) {
        buf_reset(out);
        buf_append(out, STR("ok"));
    } else {
        buf_printf(out, "%s check %s\n", probe, all_ok ? "passed" : "failed");
    }
    return all_ok ? 200 : 500;
}
