#include "api/routes.h"

#include "base/cleanup.h"

typedef struct RouteEntry {
    Str word;
    bool is_verb; /* last part of any path; otherwise the whole path */
    Route route;
} RouteEntry;

static const RouteEntry entries[] = {
    {STR("filter"), true, ROUTE_FILTER},
    {STR("predicates"), true, ROUTE_FILTER},
    {STR("prioritize"), true, ROUTE_PRIORITIZE},
    {STR("priority"), true, ROUTE_PRIORITIZE},
    {STR("priorities"), true, ROUTE_PRIORITIZE},
    {STR("preempt"), true, ROUTE_PREEMPT},
    {STR("preemption"), true, ROUTE_PREEMPT},
    {STR("bind"), true, ROUTE_BIND},
    {STR("/livez"), false, ROUTE_LIVEZ},
    {STR("/readyz"), false, ROUTE_READYZ},
    {STR("/healthz"), false, ROUTE_HEALTHZ},
    {STR("/metrics"), false, ROUTE_METRICS},
    {STR("/api/v1/sources"), false, ROUTE_SOURCES},
    {STR("/api/v1/status"), false, ROUTE_STATUS},
    {STR("/api/v1/policies"), false, ROUTE_POLICIES},
    {STR("/api/v1/nodes"), false, ROUTE_NODES},
    {STR("/api/v1/latency"), false, ROUTE_LATENCY},
    {STR("/api/v1/changes"), false, ROUTE_CHANGES},
    {STR("/api/v1/what-if"), false, ROUTE_WHAT_IF},
    {STR("/api/v1/bundle"), false, ROUTE_BUNDLE},
    {STR("/api/v1/events"), false, ROUTE_EVENTS},
    {STR("/version"), false, ROUTE_VERSION},
    {STR("/"), false, ROUTE_INDEX},
};

static const Str decisions_path = STR("/api/v1/decisions");

static Str without_slashes(Str path) {
    while (path.len > 1 && path.ptr[path.len - 1] == '/')
        path.len--;
    return path;
}

Str route_rest(Str path) {
    return str_skip(without_slashes(path), decisions_path.len + 1);
}

/* The list, or one part behind it. */
static bool is_decisions(Str path) {
    Str rest = str_skip(path, decisions_path.len);

    return str_has_prefix(path, decisions_path) &&
           (rest.len == 0 || (rest.ptr[0] == '/' && str_find(str_skip(rest, 1), '/') == SIZE_MAX));
}

Route route_find(Str path) {
    Str word;

    path = without_slashes(path);
    word = str_skip(path, str_find_last(path, '/') + 1);
    for (size_t i = 0; i < ELEMENTS_OF(entries); i++)
        if (str_eq(entries[i].word, entries[i].is_verb ? word : path))
            return entries[i].route;
    return is_decisions(path) ? ROUTE_DECISIONS : ROUTE_NONE;
}

bool route_is_verb(Route route) {
    return route <= ROUTE_BIND;
}

bool route_is_health(Route route) {
    return route == ROUTE_LIVEZ || route == ROUTE_READYZ || route == ROUTE_HEALTHZ;
}

bool route_is_slow(Route route) {
    return route == ROUTE_WHAT_IF || route == ROUTE_BUNDLE || route == ROUTE_POLICIES;
}

const char *route_method(Route route) {
    return route_is_verb(route) || route == ROUTE_WHAT_IF ? "POST" : "GET";
}

const char *const route_names[_ROUTE_MAX] = {
    [ROUTE_FILTER] = "filter",
    [ROUTE_PRIORITIZE] = "prioritize",
    [ROUTE_PREEMPT] = "preempt",
    [ROUTE_BIND] = "bind",
    [ROUTE_LIVEZ] = "health",
    [ROUTE_READYZ] = "health",
    [ROUTE_HEALTHZ] = "health",
    [ROUTE_METRICS] = "metrics",
    [ROUTE_DECISIONS] = "decisions",
    [ROUTE_SOURCES] = "sources",
    [ROUTE_STATUS] = "status",
    [ROUTE_POLICIES] = "pages",
    [ROUTE_NODES] = "pages",
    [ROUTE_LATENCY] = "pages",
    [ROUTE_CHANGES] = "pages",
    [ROUTE_WHAT_IF] = "pages",
    [ROUTE_BUNDLE] = "pages",
    [ROUTE_EVENTS] = "events",
    [ROUTE_VERSION] = "other",
    [ROUTE_INDEX] = "other",
    [ROUTE_DASHBOARD] = "dashboard",
    [ROUTE_NONE] = "other",
};
