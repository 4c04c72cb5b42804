#pragma once

/* JudgeFixture: a scene with many nodes, and judges for it. For tests. */

#include <stdio.h>

#include "base/test-assert.h"
#include "judge/judge.h"
#include "policy/test-scene.h"

#define NODES 1500u

/* A scene with nodes n0, n1, …: node i has the label n=i, and every third pool=a. */
typedef struct JudgeFixture {
    TestScene scene;
    NodeFacts facts;
    const NodeTable *table;
} JudgeFixture;

static inline void fixture_set(JudgeFixture *fixture, const char *text) {
    scene_init_text(&fixture->scene, text);
    fixture->table = &fixture->scene.table;
    assert_int_equal(facts_build(fixture->scene.program, fixture->table, &(FactsOptions){0},
                         fixture->scene.arena, &fixture->facts),
        0);
}

static inline void fixture_init(JudgeFixture *fixture, const char *policies, unsigned n_nodes) {
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)4 << 20);

    buf_printf(&text, "policies: {%s}\nnodes:\n", policies);
    for (unsigned i = 0; i < n_nodes; i++)
        buf_printf(&text, "  n%u: {labels: {n: '%u'%s}, allocatable: {cpu: %u}}\n", i, i,
            i % 3 == 0 ? ", pool: a" : "", i % 16 + 1);
    buf_append(&text, STR("pod: {namespace: here, labels: {app: web}, requests: {cpu: 1}}\n"));
    buf_append_char(&text, '\0');
    assert_int_equal(buf_error(&text), 0);
    fixture_set(fixture, text.data);
}

static inline void fixture_done(JudgeFixture *fixture) {
    scene_done(&fixture->scene);
}

static inline JudgeInput fixture_input(
    const JudgeFixture *fixture, const uint32_t *rows, size_t n) {
    return (JudgeInput){
        .program = fixture->scene.program,
        .table = fixture->table,
        .facts = &fixture->facts,
        .pod = &fixture->scene.pod,
        .rows = rows,
        .n = n,
        .now_nsec = fixture->scene.now,
        .arena = fixture->scene.arena,
    };
}

static inline Judge *fixture_open(const JudgeFixture *fixture, const uint32_t *rows, size_t n) {
    JudgeInput input = fixture_input(fixture, rows, n);
    Judge *judge = NULL;

    assert_int_equal(judge_open(&input, &judge), 0);
    return judge;
}

static inline uint32_t row_of(const JudgeFixture *fixture, unsigned number) {
    char name[16];

    (void)snprintf(name, sizeof(name), "n%u", number);
    return table_find(fixture->table, str_from_c(name));
}

/* Nodes n0 to n(@n - 1), in that order. */
static inline void fixture_rows(const JudgeFixture *fixture, uint32_t *ret, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        ret[i] = row_of(fixture, i);
}

/* The number of @verdicts that equal @verdict. */
static inline size_t count_verdicts(const uint16_t *verdicts, size_t n, uint16_t verdict) {
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += verdicts[i] == verdict;
    return found;
}
