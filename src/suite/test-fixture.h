#pragma once

/* A folder with policies and a test file, which is run. */

#include "base/test-folder.h"
#include "suite/coverage.h"

#define BUDGET ((size_t)512 << 20)
#define TEXT_MAX ((size_t)1 << 20)

typedef struct Fixture {
    Folder folder;
    Arena *arena;
    Zones *zones;
    Coverage coverage;
    DiagList diags;
    Suite suite;
    int r;
} Fixture;

#define POLICY(name, spec)                                                                         \
    STR("apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: " name "}\n"      \
        "spec:\n" spec)

/* The same on one line, for test files. */
#define INLINE(name, spec)                                                                         \
    "{apiVersion: berth.dev/v1alpha1, kind: PlacementPolicy, metadata: {name: " name               \
    "}, spec: {" spec "}}"

/* Files that tests name. */
static inline void fixture_write_files(Folder *folder) {
    (void)folder_write(folder, "p.yaml",
        POLICY("p",
            "  metrics: [{name: load, prometheus: {query: node_load}}]\n"
            "  filters:\n"
            "    - {name: pool, reason: node is not in the pool, nodeLabels: {pool: x}}\n"
            "    - {name: cool, reason: node is hot, expression: metrics.load < 0.5, onMissing: "
            "allow}\n"
            "  scores: [{name: size, expression: \"double(node.metadata.labels['size'])\"}]\n"));
    (void)folder_write(
        folder, "third.yaml", POLICY("third", "  scores: [{name: s, expression: 100.0 / 3.0}]\n"));
    (void)folder_write(folder, "room.yaml",
        POLICY("room", "  filters: [{name: room, reason: no room, headroom: {cpu: 0}}]\n"));
    (void)folder_write(folder, "narrow.yaml",
        POLICY("narrow",
            "  narrow: {to: 1}\n"
            "  scores: [{name: size, expression: \"double(node.metadata.labels['size'])\"}]\n"));
    (void)folder_write(folder, "teams.yaml",
        POLICY("teams",
            "  match: {namespaceSelector: {matchLabels: {team: a}}}\n"
            "  filters: [{name: late, reason: too early, unresolvable: true, expression: \"now > "
            "timestamp('2026-06-01T00:00:00Z')\"}]\n"));
    (void)folder_write(folder, "m.yaml", STR("metrics: {load: {a: 0.7}}\n"));
    (void)folder_write(folder, "c.yaml",
        STR("kind: Node\nmetadata: {name: a}\nstatus: {allocatable: {cpu: 2}}\n"));
    (void)folder_write(folder, "web.yaml",
        STR("kind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: "
            "c, resources: {requests: {cpu: 2}}}]}}}\n---\nkind: Pod\nmetadata: {name: "
            "other}\nspec: {containers: [{name: c}]}\n"));
}

/* The scene of most tests: of five nodes a, b and c are in the pool. */
#define SCENE                                                                                      \
    "policies: p.yaml\n"                                                                           \
    "nodes:\n"                                                                                     \
    "  a: {labels: {pool: x, size: 10}}\n"                                                         \
    "  b: {labels: {pool: x, size: 40}}\n"                                                         \
    "  c: {labels: {pool: x, size: 40}}\n"                                                         \
    "  d: {labels: {pool: y, size: 90}}\n"                                                         \
    "  e: {labels: {size: 90}}\n"

static inline void fixture_init(Fixture *fixture) {
    *fixture = (Fixture){.arena = arena_new(BUDGET), .zones = zones_new()};
    fixture->coverage.arena = fixture->arena;
    folder_init(&fixture->folder);
    fixture_write_files(&fixture->folder);
}

static inline void fixture_run(Fixture *fixture, const char *text) {
    fixture->diags = DIAG_LIST_IN(fixture->arena);
    fixture->r =
        suite_run(folder_write(&fixture->folder, "t.test.yaml", str_from_c(text)), fixture->zones,
            coverage_note, &fixture->coverage, fixture->arena, &fixture->diags, &fixture->suite);
}

static inline void fixture_done(Fixture *fixture) {
    folder_done(&fixture->folder);
    zones_free(fixture->zones);
    arena_free(fixture->arena);
}
