/*
 * The five-term predicate over 5,000 records, one at a time in the scalar machine.
 *
 *     bench/expression ROUNDS
 *
 * Prints JSON: CPU nanoseconds per record (the best round), the same for compiling, the
 * size of the program, and the numbers of records that were true, false and errors. The peer
 * (bench/cel-peer) must print the same numbers for the same data.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "cel/program.h"
#include "samples.h"

#define RECORDS 5000u
#define COMPILES 200u
#define BUDGET ((size_t)64 * 1024 * 1024)

static const char expression[] = "node.labels['tier'] == 'gpu' && "
                                 "node.allocatable.cpu - node.requested.cpu >= pod.cpu && "
                                 "(!has(node.metrics.cpu) || node.metrics.cpu < 0.8) && "
                                 "!node.unschedulable && "
                                 "node.labels['zone'] in ['zone-a', 'zone-b', 'zone-c']";

/* --- the data: the peer makes the same from the same numbers ---------------------- */

typedef struct Node {
    CelRecord record, allocatable, requested, metrics; /* as an expression sees them */
    CelMap labels;
    CelEntry entries[2];
    int64_t allocatable_cpu, requested_cpu;
    double metrics_cpu; /* negative: not measured */
    bool unschedulable;
} Node;

static uint64_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

#define PART(member, head) ((const Node *)((const char *)(head)-offsetof(Node, member)))

static CelValue get_allocatable(const CelRecord *record, uint32_t field, CelRun *run) {
    (void)field, (void)run;
    return cel_int(PART(allocatable, record)->allocatable_cpu);
}

static CelValue get_requested(const CelRecord *record, uint32_t field, CelRun *run) {
    (void)field, (void)run;
    return cel_int(PART(requested, record)->requested_cpu);
}

static CelValue get_metrics(const CelRecord *record, uint32_t field, CelRun *run) {
    double load = PART(metrics, record)->metrics_cpu;

    (void)field, (void)run;
    return load < 0 ? cel_absent() : cel_double(load);
}

static CelValue get_node(const CelRecord *record, uint32_t field, CelRun *run) {
    const Node *node = PART(record, record);

    (void)run;
    switch (field) {
    case 0:
        return cel_map(&node->labels);
    case 1:
        return cel_record(&node->allocatable);
    case 2:
        return cel_record(&node->requested);
    case 3:
        return cel_record(&node->metrics);
    default:
        return cel_bool(node->unschedulable);
    }
}

static CelValue get_pod(const CelRecord *record, uint32_t field, CelRun *run) {
    (void)record, (void)field, (void)run;
    return cel_int(2000);
}

static const CelField cpu_field[] = {{.name = STR("cpu"), .type = &cel_int_type, .always = true}};
static const CelField load_field[] = {{.name = STR("cpu"), .type = &cel_double_type}};
static const CelRecordType allocatable_type = {STR("Allocatable"), cpu_field, 1, get_allocatable},
                           requested_type = {STR("Requested"), cpu_field, 1, get_requested},
                           metrics_type = {STR("Metrics"), load_field, 1, get_metrics},
                           pod_type = {STR("Pod"), cpu_field, 1, get_pod};
static CelField node_fields[] = {
    {.name = STR("labels"), .always = true, .max_size = 100},
    {.name = STR("allocatable"), .always = true},
    {.name = STR("requested"), .always = true},
    {.name = STR("metrics"), .always = true},
    {.name = STR("unschedulable"), .type = &cel_bool_type, .always = true},
};
static const CelRecordType node_type = {
    STR("Node"), node_fields, ELEMENTS_OF(node_fields), get_node};

static void fill(Node *nodes) {
    static const char *const tiers[] = {"gpu", "cpu"}, *const zones[] = {
                                                           "zone-a", "zone-b", "zone-c", "zone-d"};
    uint64_t state = 42;

    for (size_t i = 0; i < RECORDS; i++) {
        Node *node = &nodes[i];
        uint32_t n = 0;
        uint64_t tier = next_random(&state) % 100, zone = next_random(&state) % 4;

        *node = (Node){.record = {&node_type},
            .allocatable = {&allocatable_type},
            .requested = {&requested_type},
            .metrics = {&metrics_type}};
        if (tier >= 5) /* 5 % lack the label, which is an error */
            node->entries[n++] = (CelEntry){
                cel_string(STR("tier")), cel_string(str_from_c(tiers[tier < 60 ? 0 : 1]))};
        node->entries[n++] =
            (CelEntry){cel_string(STR("zone")), cel_string(str_from_c(zones[zone]))};
        node->labels = (CelMap){.n = n, .depth = 1, .entries = node->entries};
        node->allocatable_cpu = 64000;
        node->requested_cpu = (int64_t)(next_random(&state) % 65000);
        node->metrics_cpu =
            next_random(&state) % 10 == 0 ? -1 : (double)(next_random(&state) % 1000) / 1000;
        node->unschedulable = next_random(&state) % 50 == 0;
    }
}

/* --- measuring ------------------------------------------------------------------------ */

static CelEnv *make_env(Arena *arena) {
    CelEnv *env = cel_env_new(arena);

    node_fields[0].type = cel_map_of(arena, &cel_string_type, &cel_string_type);
    node_fields[1].type = cel_record_of(arena, &allocatable_type);
    node_fields[2].type = cel_record_of(arena, &requested_type);
    node_fields[3].type = cel_record_of(arena, &metrics_type);
    if (!env ||
        cel_env_add_variable(env, STR("node"), cel_record_of(arena, &node_type), 0, 0, NULL) < 0 ||
        cel_env_add_variable(env, STR("pod"), cel_record_of(arena, &pod_type), 0, 1, NULL) < 0)
        return NULL;
    return env;
}

static CelProgram *compile(const CelEnv *env, Arena *arena) {
    DiagList diags = DIAG_LIST_IN(arena);
    CelProgram *program = NULL;

    return cel_compile(
               env, STR("bench"), STR(expression), &(CelOptions){0}, arena, &diags, &program) == 0
               ? program
               : NULL;
}

static double measure_compile(const CelEnv *env) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    double best = INFINITY;

    for (size_t i = 0; arena && i < COMPILES; i++) {
        double start = cpu_nsec(), took;

        if (!compile(env, arena))
            return -1;
        took = cpu_nsec() - start;
        best = took < best ? took : best;
        arena_reset(arena);
    }
    return best;
}

int main(int argc, char *argv[]) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET), *scratch = arena_new(BUDGET);
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 20;
    CelEnv *env = arena ? make_env(arena) : NULL;
    CelProgram *program = env ? compile(env, arena) : NULL;
    Node *nodes = program ? ARENA_ARRAY(arena, Node, RECORDS) : NULL;
    CelRecord pod = {&pod_type};
    size_t counts[3] = {0};
    double best = INFINITY;

    if (!nodes || !scratch)
        return EXIT_FAILURE;
    fill(nodes);
    for (long round = 0; round < rounds; round++) {
        double start = cpu_nsec(), took;

        counts[0] = counts[1] = counts[2] = 0;
        for (size_t i = 0; i < RECORDS; i++) {
            CelValue variables[] = {cel_record(&nodes[i].record), cel_record(&pod)};
            CelRun run = CEL_RUN(scratch);
            CelValue v = cel_run(program->code, &run, variables);

            counts[v.kind == CEL_ERROR ? 2 : !v.boolean]++;
            arena_reset(scratch);
        }
        took = cpu_nsec() - start;
        best = took < best ? took : best;
    }
    (void)printf(
        "{\"ns\": %.1f, \"compile_ns\": %.0f, \"bytes\": %zu, \"true\": %zu, \"false\": %zu, "
        "\"errors\": %zu}\n",
        best / RECORDS, measure_compile(env), program->code->size, counts[0], counts[1], counts[2]);
    return EXIT_SUCCESS;
}
