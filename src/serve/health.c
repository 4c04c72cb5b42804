#include "serve/health.h"

#include <stdio.h>

#include "base/cleanup.h"

#define HEALTH_NOTE_MAX (RELOAD_ERROR_MAX + 64u)

typedef struct Check {
    const char *name;
    bool livez; /* also part of /livez */
    int config; /* the ReloadKind it is about, or -1: passed over when there is none */
    /* True when fine; @note may be filled either way. */
    bool (*check)(const HealthState *state, char *note);
} Check;

static bool check_ping(const HealthState *state, char *note) {
    (void)state;
    (void)note;
    return true;
}

/* A refused reload is no reason to take requests away: the last good one answers
 * them. But it must be seen. */
static void note_degraded(const HealthState *state, ReloadKind kind, char *note) {
    ReloadState reload;

    reloads_get(state->reloads, kind, &reload);
    if (reload.is_used && !reload.is_good)
        (void)snprintf(note, HEALTH_NOTE_MAX, "degraded: the newest was refused: %s", reload.error);
}

static bool check_policy(const HealthState *state, char *note) {
    note_degraded(state, RELOAD_POLICY, note);
    return true;
}

static bool check_cluster(const HealthState *state, char *note) {
    note_degraded(state, RELOAD_CLUSTER, note);
    return true;
}

static bool check_certificates(const HealthState *state, char *note) {
    note_degraded(state, RELOAD_CERTIFICATES, note);
    return true;
}

static bool check_shutdown(const HealthState *state, char *note) {
    if (state->is_draining)
        (void)snprintf(note, HEALTH_NOTE_MAX, "draining");
    return !state->is_draining;
}

static const Check checks[] = {
    {.name = "ping", .livez = true, .config = -1, .check = check_ping},
    {.name = "policy", .config = RELOAD_POLICY, .check = check_policy},
    {.name = "cluster", .config = RELOAD_CLUSTER, .check = check_cluster},
    {.name = "certificates", .config = RELOAD_CERTIFICATES, .check = check_certificates},
    {.name = "shutdown", .config = -1, .check = check_shutdown},
};

static bool is_used(const Check *check, const HealthState *state) {
    ReloadState reload;

    if (check->config < 0)
        return true;
    reloads_get(state->reloads, (ReloadKind)check->config, &reload);
    return reload.is_used;
}

static bool query_has(Str query, Str wanted) {
    Str part;

    while (!str_is_empty(query) && str_split(&query, '&', &part))
        if (str_eq(part, wanted) || (str_has_prefix(part, wanted) && part.ptr[wanted.len] == '='))
            return true;
    return false;
}

static bool is_excluded(Str query, const char *name) {
    Str part;

    while (!str_is_empty(query) && str_split(&query, '&', &part))
        if (str_has_prefix(part, STR("exclude=")) && str_is(str_skip(part, 8), name))
            return true;
    return false;
}

static void print_check(Buf *out, const Check *check, bool ok, const char *note) {
    buf_printf(out,
        "[%c]%s %s%s%s\n",
        ok ? '+' : '-',
        check->name,
        ok ? "ok" : "failed",
        note[0] ? ": " : "",
        note);
}

unsigned health_page(HealthProbe probe, Str query, const HealthState *state, Buf *out) {
    static const char *const probe_names[] = {
        [HEALTH_LIVEZ] = "livez", [HEALTH_READYZ] = "readyz", [HEALTH_HEALTHZ] = "healthz"};
    bool all_ok = true;
    bool verbose;

    for (size_t i = 0; i < ELEMENTS_OF(checks); i++) {
        char note[HEALTH_NOTE_MAX] = "";
        bool ok;

        if ((probe == HEALTH_LIVEZ && !checks[i].livez) || !is_used(&checks[i], state))
            continue;
        if (is_excluded(query, checks[i].name)) {
            buf_printf(out, "[+]%s excluded: ok\n", checks[i].name);
            continue;
        }
        ok = checks[i].check(state, note);
        all_ok &= ok;
        print_check(out, &checks[i], ok, note);
    }
    verbose = query_has(query, STR("verbose"));
    if (all_ok && !verbose) {
        buf_reset(out);
        buf_append(out, STR("ok"));
    } else {
        buf_printf(out, "%s check %s\n", probe_names[probe], all_ok ? "passed" : "failed");
    }
    return all_ok ? 200 : 500;
}
