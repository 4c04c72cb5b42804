/*
 * An expression, a NUL, and bytes that become the values of its variables; sometimes of other kinds
 * than declared. No crash, no endless run, and the same answer in each mode: with and without
 * folding, traced, and, if the values have the declared kinds, unchecked.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fuzz.h"
#include "base/hash.h"
#include "cel/env.h"
#include "cel/explain.h"
#include "cel/program.h"
#include "cel/type.h"

#define ENV_BUDGET ((size_t)64 * 1024 * 1024)
#define RUN_BUDGET ((size_t)4 * 1024 * 1024)
#define FUEL 20000
#define DEPTH_MAX 3
#define PARTS_MAX 5
#define TEXT_MAX ((size_t)1 << 20)

/* --- names ----------------------------------------------------------------------------- */

typedef struct Node {
    CelRecord head;
    CelValue fields[3];
} Node;

static CelValue node_get(const CelRecord *record, uint32_t field, CelRun *run) {
    (void)run;
    return ((const Node *)record)->fields[field];
}

static CelField node_fields[] = {
    {.name = {"name", 4}, .type = &cel_string_type, .always = true},
    {.name = {"cpu", 3}, .type = &cel_int_type},
    {.name = {"labels", 6}, .type = &cel_dyn_type},
};
static const CelRecordType node_type = {{"Node", 4}, node_fields, 3, node_get};

enum { SLOT_X, SLOT_N, SLOT_S, SLOT_L, SLOT_M, SLOT_NODE, N_SLOTS };

/* Made once: building it is not tested here. */
static const CelEnv *environment(uint32_t *slots) {
    static const struct {
        Str name, type;
    } variables[N_SLOTS] = {
        {STR("x"), STR("dyn")},
        {STR("n"), STR("int")},
        {STR("s"), STR("string")},
        {STR("l"), STR("list(int)")},
        {STR("m"), STR("map(string, string)")},
        {STR("node"), STR("Node")},
    };
    static uint32_t kept[N_SLOTS];
    static CelEnv *env;

    if (!env) {
        Arena *arena = arena_new(ENV_BUDGET);

        hash_set_key(1);
        env = cel_env_new(arena);
        require(env && cel_env_add_record(env, &node_type) == 0);
        for (size_t i = 0; i < N_SLOTS; i++) {
            const CelType *type = cel_type_read(env, variables[i].type, arena);
            int r = cel_env_add_variable(env, variables[i].name, type, 0, 0, &kept[i]);

            require(type && r == 0);
        }
    }
    memcpy(slots, kept, sizeof(kept));
    return env;
}

/* --- data ------------------------------------------------------------------------------ */

typedef struct Reader {
    const uint8_t *data;
    size_t size;
    CelRun *run;
    bool is_honest; /* the values have the declared kinds */
} Reader;

static uint8_t next_byte(Reader *in) {
    if (in->size == 0)
        return 0;
    in->size--;
    return *in->data++;
}

static int64_t next_number(Reader *in) {
    static const int64_t odd[] = {INT64_MIN, INT64_MAX, INT64_C(1) << 53, -1};
    uint8_t byte = next_byte(in);

    return byte < 250 ? (int64_t)byte - 100 : odd[byte % 4];
}

static CelValue next_text(Reader *in) {
    static const Str texts[] = {STR(""), STR("a"), STR("abc"), STR("ä€😀"), STR("1Gi"),
        STR("10.0.0.1"), STR("2020-01-01T00:00:00Z"), STR("1.2.3"), STR("https://a/b?c=d")};

    return cel_string(texts[next_byte(in) % ELEMENTS_OF(texts)]);
}

static CelValue next_value(Reader *in, int depth);

/* The value of a variable: as declared, or of any kind. */
static CelValue next_int(Reader *in, int depth) {
    return in->is_honest ? cel_int(next_number(in)) : next_value(in, depth);
}

static CelValue next_string(Reader *in, int depth) {
    return in->is_honest ? next_text(in) : next_value(in, depth);
}

typedef CelValue Next(Reader *in, int depth);

/* Recursive: DEPTH_MAX deep. */
static CelValue next_list(Reader *in, int depth, Next *next) {
    uint32_t n = next_byte(in) % PARTS_MAX;
    CelValue *items = cel_list_begin(in->run, n);

    require(items);
    for (uint32_t i = 0; i < n; i++)
        items[i] = next(in, depth + 1);
    return cel_list_end(in->run, items, n);
}

static CelValue next_map(Reader *in, int depth, Next *next) {
    uint32_t n = next_byte(in) % PARTS_MAX;
    CelEntry *entries = cel_map_begin(in->run, n);
    CelValue map;

    require(entries);
    for (uint32_t i = 0; i < n; i++)
        entries[i] = (CelEntry){next_text(in), next(in, depth + 1)};
    map = cel_map_end(in->run, entries, n);
    if (map.kind == CEL_ERROR) /* a key came twice */
        map = cel_map_end(in->run, entries, 1);
    return map;
}

static CelValue next_value(Reader *in, int depth) {
    switch (next_byte(in) % (depth < DEPTH_MAX ? 11 : 8)) {
    case 0:
        return cel_null();
    case 1:
        return cel_bool(next_byte(in) % 2);
    case 2:
        return cel_int(next_number(in));
    case 3:
        return cel_uint((uint64_t)next_number(in));
    case 4:
        return cel_double((double)next_number(in) / 4);
    case 5:
        return next_text(in);
    case 6:
        return cel_duration(((int64_t)next_byte(in) - 100) * 1000000);
    case 7:
        return cel_timestamp(((int64_t)next_byte(in) - 100) * 1000000, 0);
    case 8:
        return next_list(in, depth, next_value);
    case 9:
        return next_map(in, depth, next_value);
    default:
        return cel_make_optional(in->run, next_value(in, depth + 1));
    }
}

static void fill(Reader *in, const uint32_t *slots, CelValue *variables, Node *node) {
    in->is_honest = next_byte(in) % 4 != 0;
    node->head.type = &node_type;
    node->fields[0] = next_string(in, 0);
    node->fields[1] = next_int(in, 0);
    node->fields[2] = next_byte(in) % 2 ? next_map(in, 0, next_value) : cel_absent();
    variables[slots[SLOT_X]] = next_byte(in) % 8 ? next_value(in, 0) : cel_record(&node->head);
    variables[slots[SLOT_N]] = next_int(in, 0);
    variables[slots[SLOT_S]] = next_string(in, 0);
    variables[slots[SLOT_L]] = next_list(in, 0, next_int);
    variables[slots[SLOT_M]] = next_map(in, 0, next_string);
    variables[slots[SLOT_NODE]] = cel_record(&node->head);
}

/* --- one expression, evaluated in several ways ----------------------------------------- */

typedef struct Case {
    const CelEnv *env;
    Str source;
    const CelValue *variables;
} Case;

typedef enum Mode { TYPED, UNFOLDED, EXPLAINED, UNTYPED, N_MODES } Mode;

static int eval(const Case *c, Mode mode, Arena *arena, CelRun *run, CelValue *ret) {
    CelOptions options = {
        .is_plain = true,
        .no_fold = mode == UNFOLDED,
        .no_check = mode == UNTYPED,
    };
    DiagList diags = DIAG_LIST_IN(arena);
    CelProgram *program;
    int r;

    if (mode == EXPLAINED) {
        Buf out = BUF_INIT(TEXT_MAX);

        r = cel_explain(
            c->env, STR("fuzz"), c->source, &options, c->variables, run, false, &diags, &out, ret);
        buf_done(&out);
        return r;
    }
    r = cel_compile(c->env, STR("fuzz"), c->source, &options, arena, &diags, &program);
    if (r == 0)
        *ret = cel_run(program->code, run, c->variables);
    return r;
}

/* The answer as text; empty: there is nothing to compare. */
static void answer(const Case *c, Mode mode, Buf *out) {
    _cleanup_(arena_freep) Arena *arena = arena_new(RUN_BUDGET);
    CelRun run = CEL_RUN(arena);
    CelValue v;

    run.fuel = FUEL;
    if (eval(c, mode, arena, &run, &v) != 0)
        return;
    require(run.fuel >= 0 && v.kind != CEL_ABSENT && v.kind < CEL_N_KINDS);
    if (run.limit)
        return;
    if (v.kind == CEL_ERROR)
        buf_append(out, STR("error"));
    else
        cel_value_print(v, &run, 2000, out);
    if (run.limit)
        buf_reset(out);
}

static void check_same(const Case *c, Mode mode, Str want) {
    Buf got = BUF_INIT(TEXT_MAX);

    answer(c, mode, &got);
    if (got.len > 0 && !str_eq(buf_str(&got), want)) {
        (void)fprintf(stderr, "%.*s\n  typed: %.*s\n  mode %d: %.*s\n", STR_FMT(c->source),
            STR_FMT(want), mode, STR_FMT(buf_str(&got)));
        abort();
    }
    buf_done(&got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    _cleanup_(arena_freep) Arena *arena = arena_new(RUN_BUDGET);
    const uint8_t *end = memchr(data, '\0', size);
    size_t len = end ? (size_t)(end - data) : size;
    CelRun run = CEL_RUN(arena);
    Reader in = {.data = data + len, .size = size - len, .run = &run};
    CelValue variables[64] = {0};
    uint32_t slots[N_SLOTS];
    Case c = {.env = environment(slots), .source = str_of((const char *)data, len)};
    Buf want = BUF_INIT(TEXT_MAX);
    Node node;

    (void)next_byte(&in); /* the NUL */
    fill(&in, slots, variables, &node);
    c.variables = variables;
    answer(&c, TYPED, &want);
    for (Mode mode = UNFOLDED; want.len > 0 && mode < (in.is_honest ? N_MODES : UNTYPED); mode++)
        check_same(&c, mode, buf_str(&want));
    if (want.len == 0) { /* rejected by the check; unchecked it must still end */
        answer(&c, UNTYPED, &want);
    }
    buf_done(&want);
    return 0;
}
