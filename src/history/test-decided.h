#pragma once

/* Decisions on four nodes by two rules, for tests of the decision history. */

#include "history/test-view-fixture.h"

#define BYTES_MAX ((size_t)16 * 1024 * 1024)

static const char scene_text[] =
    "policies:\n"
    "  zones:\n"
    "    filters:\n"
    "      - {name: zone, nodeLabels: {zone: {in: [a, b]}}, reason: wrong zone, unresolvable: "
    "true}\n"
    "      - {name: disk, nodeLabels: {disk: ssd}, reason: slow disk}\n"
    "    scores:\n"
    "      - {name: near, nodeLabelPreference: {key: zone, values: {a: 100}, otherwise: 0}}\n"
    "nodes:\n"
    "  n1: {labels: {zone: a, disk: ssd}}\n"
    "  n2: {labels: {zone: b, disk: ssd}}\n"
    "  n3: {labels: {zone: b, disk: hdd}}\n"
    "  n4: {labels: {zone: c, disk: hdd}}\n";

/* Not sorted, with an unknown name. */
#define ALL_NAMES "\"NodeNames\":[\"n4\",\"n1\",\"n2\",\"n3\",\"gh\\u006fst\"]"

/* Sends a request for pod default/@pod, which ends with @rest, and records the decision. */
static inline void note(
    Decisions *decisions, const View *view, Verb verb, const char *pod, const char *rest) {
    _cleanup_(arena_freep) Arena *arena = arena_new(FIXTURE_BUDGET);
    Str body = arena_printf(arena,
        "{\"Pod\":{\"metadata\":{\"namespace\":\"default\",\"name\":\"%s\",\"uid\":\"uid-%s\"}},%"
        "s}",
        pod, pod, rest);

    fixture_request(decisions, view, verb, body,
        (PastTimes){.at_nsec = INT64_C(1700000000123456789), .duration_nsec = 42000});
}

static inline void note_bind(
    Decisions *decisions, const View *view, const char *pod, const char *node) {
    fixture_bind(decisions, view, pod, node, /* error= */ "", (PastTimes){.duration_nsec = -1});
}

static inline DecisionsFigures figures_of(Decisions *decisions) {
    DecisionsFigures figures;

    decisions_figures(decisions, &figures);
    return figures;
}

/* Bytes of everything except decisions: ring, rule names, node names. *ret_one: of a decision. */
static inline size_t fixed_bytes(const ViewFixture *fixture, size_t max, size_t *ret_one) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(max, BYTES_MAX);
    size_t first;

    note(decisions, fixture->view, VERB_FILTER, "a", ALL_NAMES);
    first = figures_of(decisions).bytes;
    note(decisions, fixture->view, VERB_FILTER, "a", ALL_NAMES);
    *ret_one = figures_of(decisions).bytes - first;
    return first - *ret_one;
}
