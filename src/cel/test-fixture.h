#pragma once

/* Shared by tests of the later stages: an environment with a variable of each type, and functions
 * that turn an expression into a graph, code or a value. */

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/test-assert.h"
#include "cel/env.h"
#include "cel/program.h"
#include "cel/type.h"

#define FIXTURE_BUDGET ((size_t)64 * 1024 * 1024)

/* node: {name: string (always there), cpu: int, labels: map(string, string)} */
typedef struct TestNode {
    CelRecord head;
    CelValue fields[3]; /* values of the host; they may be absent, or of a wrong kind */
} TestNode;

static inline CelValue test_node_get(const CelRecord *record, uint32_t field, CelRun *run) {
    (void)run;
    return ((const TestNode *)record)->fields[field];
}

typedef struct Fixture {
    Arena *arena; /* for all allocations */
    CelEnv *env;
    CelRecordType node_type;
    CelField node_fields[3];
    CelOptions options;
    CelValue variables[16];
    uint32_t n, s, d, l, m, node;
    DiagList diags;
    CelRun run;
} Fixture;

static inline void fixture_variable(
    Fixture *f, const char *name, const CelType *type, uint8_t group, uint32_t *ret) {
    assert_int_equal(cel_env_add_variable(f->env, str_from_c(name), type, 0, group, ret), 0);
}

static inline void fixture_init(Fixture *f) {
    const CelType *labels;

    *f = (Fixture){.arena = arena_new(FIXTURE_BUDGET)};
    assert_non_null(f->arena);
    f->diags = DIAG_LIST_IN(f->arena);
    f->run = CEL_RUN(f->arena);
    f->env = cel_env_new(f->arena);
    assert_non_null(f->env);
    labels = cel_map_of(f->arena, &cel_string_type, &cel_string_type);
    f->node_fields[0] = (CelField){.name = STR("name"), .type = &cel_string_type, .always = true};
    f->node_fields[1] = (CelField){.name = STR("cpu"), .type = &cel_int_type};
    f->node_fields[2] = (CelField){.name = STR("labels"), .type = labels};
    f->node_type = (CelRecordType){STR("Node"), f->node_fields, 3, test_node_get};
    assert_int_equal(cel_env_add_record(f->env, &f->node_type), 0);
    fixture_variable(f, "n", &cel_int_type, 0, &f->n);
    fixture_variable(f, "s", &cel_string_type, 1, &f->s);
    fixture_variable(f, "d", &cel_dyn_type, 2, &f->d);
    fixture_variable(f, "l", cel_list_of(f->arena, &cel_int_type), 0, &f->l);
    fixture_variable(f, "m", cel_map_of(f->arena, &cel_string_type, &cel_dyn_type), 0, &f->m);
    fixture_variable(f, "node", cel_record_of(f->arena, &f->node_type), 3, &f->node);
}

static inline void fixture_done(Fixture *f) {
    f->arena = arena_free(f->arena);
}

static inline CelChecked *fixture_check(Fixture *f, const char *source) {
    CelChecked *checked = NULL;

    assert_case(source, cel_compile_tree(f->env, STR("test"), str_from_c(source), &f->options,
                            f->arena, &f->diags, &checked) == 0);
    return checked;
}

/* The root of @source in @graph. */
static inline uint32_t fixture_lower(Fixture *f, CelGraph *graph, const char *source) {
    CelChecked *checked = fixture_check(f, source);
    uint32_t root = CEL_NO_NODE;

    assert_case(source, cel_lower(graph, checked, &f->options, &f->diags, &root) == 0);
    return root;
}

static inline const CelProgram *fixture_compile(Fixture *f, const char *source) {
    CelProgram *program = NULL;
    int r = cel_compile(
        f->env, STR("test"), str_from_c(source), &f->options, f->arena, &f->diags, &program);

    assert_case(source, r == 0);
    return program;
}

static inline CelValue fixture_eval(Fixture *f, const char *source) {
    const CelProgram *program = fixture_compile(f, source);

    f->run.limit = NULL;
    return cel_run(program->code, &f->run, f->variables);
}

/* The value as text, or "error@AT: TEXT". */
static inline void assert_eval(Fixture *f, const char *source, const char *want) {
    CelValue v = fixture_eval(f, source);
    Buf out = BUF_INIT(1 << 16);

    if (v.kind == CEL_ERROR)
        buf_printf(&out, "error@%u: %.*s", v.error->at, STR_FMT(v.error->text));
    else
        cel_value_print(v, &f->run, 0, &out);
    assert_text(source, buf_str(&out), want);
    buf_done(&out);
}
