#pragma once

/* Court: a scene with many nodes, and judges of it. For tests. */

#include <stdio.h>

#include "base/test-assert.h"
#include "judge/judge.h"
#include "policy/test-scene.h"

#define NODES 1500u

/* A scene with nodes n0, n1, …; every third has the label pool=a, node i the label n=i. */
typedef struct Court {
    TestScene scene;
    Facts facts;
    const NodeTable *table;
} Court;

static inline void court_set(Court *court, const char *text) {
    scene_init_text(&court->scene, text);
    court->table = &court->scene.table;
    assert_int_equal(facts_build(court->scene.program,
                         court->table,
                         &(FactsOptions){0},
                         court->scene.arena,
                         &court->facts),
        0);
}

static inline void court_init(Court *court, const char *policies, unsigned n_nodes) {
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)4 << 20);

    buf_printf(&text, "policies: {%s}\nnodes:\n", policies);
    for (unsigned i = 0; i < n_nodes; i++)
        buf_printf(&text,
            "  n%u: {labels: {n: '%u'%s}, allocatable: {cpu: %u}}\n",
            i,
            i,
            i % 3 == 0 ? ", pool: a" : "",
            i % 16 + 1);
    buf_append(&text, STR("pod: {namespace: here, labels: {app: web}, requests: {cpu: 1}}\n"));
    buf_append_char(&text, '\0');
    assert_int_equal(buf_error(&text), 0);
    court_set(court, text.data);
}

static inline void court_done(Court *court) {
    scene_done(&court->scene);
}

static inline Question court_question(const Court *court, const uint32_t *rows, size_t n) {
    return (Question){
        .program = court->scene.program,
        .table = court->table,
        .facts = &court->facts,
        .pod = &court->scene.pod,
        .rows = rows,
        .n = n,
        .now_nsec = court->scene.now,
        .arena = court->scene.arena,
    };
}

static inline Judge *court_open(const Court *court, const uint32_t *rows, size_t n) {
    Question question = court_question(court, rows, n);
    Judge *judge = NULL;

    assert_int_equal(judge_open(&question, &judge), 0);
    return judge;
}

static inline uint32_t row_of(const Court *court, unsigned number) {
    char name[16];

    (void)snprintf(name, sizeof(name), "n%u", number);
    return table_find(court->table, str_from_c(name));
}

/* Nodes n0 to n(@n - 1), in that order. */
static inline void court_rows(const Court *court, uint32_t *ret, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        ret[i] = row_of(court, i);
}

/* How many of them are @verdict. */
static inline size_t count_verdicts(const uint16_t *verdicts, size_t n, uint16_t verdict) {
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += verdicts[i] == verdict;
    return found;
}
