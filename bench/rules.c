/*
 * Evaluates the rules of a policy over a whole cluster, as a request does.
 *
 *     bench/rules --cluster FILE --pod FILE --policy FILE [--order FILE] [--now SECONDS]
 *                 [--rounds N] [--subset N] [--cold] [--verdicts FILE] [--cel FILE]
 *
 * Rows are evaluated in the order of the names in --order, one per line (else in table order).
 * With --subset each round evaluates that many rows, chosen at random. With --cold each round
 * begins with overwritten processor caches.
 *
 * Prints JSON, CPU nanoseconds: the best round, the median and p99 of each:
 *     compile    from the policy's text to a program
 *     kept       facts computed from the cluster before any request
 *     filter     all filters, over all rows
 *     score      all scores, over the rows that passed
 *     score_all  all scores, over all rows
 *
 * --verdicts gets a line for each node: its name, the filter that rejects it or -, its score.
 * --cel gets the policy as JSON with the CEL expression of each rule, for bench/rules-peer, which
 * must return the same verdicts.
 */

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "input/file.h"
#include "input/objects.h"
#include "input/policies.h"
#include "input/workload.h"
#include "judge/judge.h"
#include "samples.h"
#include "json/write.h"

#define BUDGET ((size_t)1024 * 1024 * 1024)
#define ORDER_MAX ((size_t)64 * 1024 * 1024)
#define EVICT_SIZE ((size_t)64 * 1024 * 1024) /* more than any cache */
#define ROUNDS_MAX 10000u

typedef struct Options {
    const char *cluster, *pod, *policy, *order, *verdicts, *cel;
    int64_t now_sec;
    size_t n_rounds, n_subset;
    bool is_cold;
} Options;

typedef struct Bench {
    Options options;
    Arena *arena, *known, *request; /* the whole run; facts; one request */
    Snapshot *snapshot;
    Program *program;
    const NodeTable *table;
    NodeFacts facts;
    Pod pod;
    uint32_t *order, *asked; /* all rows; those of a round */
    size_t n_order, n_asked;
    uint16_t *verdicts;
    double *scores;
    uint64_t random;
    unsigned char *evict;
    Samples compile, kept, filter, score, score_all;
} Bench;

/* --- measuring ------------------------------------------------------------------------ */

static uint64_t next_random(Bench *bench) {
    bench->random = bench->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return bench->random >> 33;
}

/* Overwrites the contents of the processor's caches. */
static void evict(Bench *bench) {
    for (size_t i = 0; i < EVICT_SIZE; i += 64)
        bench->evict[i] = (unsigned char)(bench->evict[i] + 1);
}

/* --- input ---------------------------------------------------------------------- */

static void load_cluster(Bench *bench) {
    char error[OBJECTS_ERROR_MAX];
    WorkloadList pods;

    if (cluster_load(bench->options.cluster, &bench->snapshot, error) < 0)
        fail("--cluster", error);
    if (workloads_load(bench->options.pod, NULL, bench->arena, &pods, error) < 0)
        fail("--pod", error);
    bench->pod = pods.items[0].pod;
    bench->table = snapshot_table(bench->snapshot);
}

static void load_order(Bench *bench) {
    _cleanup_(buf_done) Buf text = BUF_INIT(ORDER_MAX);
    char error[FILE_ERROR_MAX];
    size_t n_rows = bench->table->n_rows;

    bench->order = need(ARENA_RAW(bench->arena, uint32_t, n_rows));
    bench->asked = need(ARENA_RAW(bench->arena, uint32_t, n_rows));
    if (!bench->options.order) {
        while (bench->n_order < n_rows) {
            bench->order[bench->n_order] = (uint32_t)bench->n_order;
            bench->n_order++;
        }
        return;
    }
    if (file_read(bench->options.order, &text, error) < 0)
        fail("--order", error);
    for (size_t at = 0; at < text.len;) {
        const char *end = memchr(text.data + at, '\n', text.len - at);
        size_t len = end ? (size_t)(end - text.data) - at : text.len - at;
        uint32_t row = table_find(bench->table, str_of(text.data + at, len));

        if (row == n_rows || bench->n_order == n_rows)
            fail(bench->options.order, "names that are not in the cluster, or more than once");
        bench->order[bench->n_order++] = row;
        at += len + 1;
    }
}

/* Compiling and building facts take milliseconds, so they get fewer rounds. */
static size_t n_slow_rounds(const Bench *bench) {
    return bench->options.n_rounds < 20 ? bench->options.n_rounds : 20;
}

static void compile(Bench *bench) {
    for (size_t i = 0; i < n_slow_rounds(bench); i++) {
        DiagList diags = DIAG_LIST_IN(bench->known);
        double start = cpu_nsec();

        bench->program = program_unref(bench->program);
        if (policies_load(&bench->options.policy, 1, &diags, &bench->program) != 0)
            fail(bench->options.policy, "has mistakes; berth check tells which");
        samples_note(&bench->compile, start);
        arena_reset(bench->known);
    }
}

static void keep(Bench *bench) {
    for (size_t i = 0; i < n_slow_rounds(bench); i++) {
        double start = cpu_nsec();

        if (facts_build(
                bench->program, bench->table, &(FactsOptions){0}, bench->known, &bench->facts) < 0)
            fail("facts", "out of memory");
        samples_note(&bench->kept, start);
        if (i + 1 < n_slow_rounds(bench))
            arena_reset(bench->known); /* keeps the facts of the last round */
    }
}

/* --- requests ------------------------------------------------------------------------- */

/* Chooses the rows of a round, in the order of evaluation. */
static void choose_rows(Bench *bench) {
    size_t left = bench->options.n_subset ? bench->options.n_subset : bench->n_order;

    bench->n_asked = 0;
    for (size_t i = 0; i < bench->n_order; i++) {
        if (next_random(bench) % (bench->n_order - i) >= left)
            continue;
        bench->asked[bench->n_asked++] = bench->order[i];
        left--;
    }
}

static JudgeInput ask(const Bench *bench, const uint32_t *rows, size_t n, Arena *arena) {
    return (JudgeInput){
        .program = bench->program,
        .table = bench->table,
        .facts = &bench->facts,
        .pod = &bench->pod,
        .rows = rows,
        .n = n,
        .now_nsec = bench->options.now_sec * INT64_C(1000000000),
        .arena = arena,
    };
}

static void filter(Bench *bench, Arena *arena) {
    JudgeInput input = ask(bench, bench->asked, bench->n_asked, arena);
    Judge *judge;

    if (judge_open(&input, &judge) < 0 || judge_filters(judge, bench->verdicts) < 0)
        fail("filters", "out of memory");
}

static void score(Bench *bench, const uint32_t *rows, size_t n, Arena *arena) {
    JudgeInput input = ask(bench, rows, n, arena);
    Judge *judge;

    if (judge_open(&input, &judge) < 0 || judge_scores(judge, bench->scores) < 0)
        fail("scores", "out of memory");
}

static void run_round(Bench *bench, uint32_t *passed, size_t *ret_n_passed) {
    Arena *arena = bench->request;
    size_t n = 0;
    double start;

    arena_reset(arena);
    choose_rows(bench);
    if (bench->options.is_cold)
        evict(bench);
    start = cpu_nsec();
    filter(bench, arena);
    samples_note(&bench->filter, start);
    for (size_t i = 0; i < bench->n_asked; i++)
        if (bench->verdicts[i] == VERDICT_PASS)
            passed[n++] = bench->asked[i];
    if (bench->options.is_cold)
        evict(bench);
    start = cpu_nsec();
    score(bench, passed, n, arena);
    samples_note(&bench->score, start);
    if (bench->options.is_cold)
        evict(bench);
    start = cpu_nsec();
    score(bench, bench->asked, bench->n_asked, arena);
    samples_note(&bench->score_all, start);
    *ret_n_passed = n;
}

/* --- output ----------------------------------------------------------------------- */

static void write_verdicts(const Bench *bench) {
    FILE *out = fopen(bench->options.verdicts, "we");

    if (!out)
        fail(bench->options.verdicts, "cannot be written");
    for (size_t i = 0; i < bench->n_asked; i++) {
        Str name = bench->table->names->names[bench->asked[i]];
        uint16_t verdict = bench->verdicts[i];
        Str rule = verdict == VERDICT_PASS ? STR("-") : bench->program->filters[verdict]->name;

        (void)fprintf(out, "%.*s %.*s %.17g\n", STR_FMT(name), STR_FMT(rule), bench->scores[i]);
    }
    if (fclose(out) != 0)
        fail(bench->options.verdicts, "cannot be written");
}

/* --- the rules as expressions --- */

static void write_text(JsonWriter *writer, const char *key, Str text) {
    json_write_key(writer, str_from_c(key));
    json_write_string(writer, text);
}

static void write_params(const Scope *scope, JsonWriter *writer) {
    const CelVariable *params = cel_env_variable(scope->env, STR("params"));

    json_write_key(writer, STR("params"));
    json_write_array(writer);
    for (uint32_t i = 0; i < scope->params_type.n_fields; i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(ORDER_MAX);
        CelValue value = scope->params_type.get(params->value.record, i, NULL);

        cel_value_print(value, NULL, 0, &text);
        json_write_object(writer);
        write_text(writer, "name", scope->params_type.fields[i].name);
        write_text(writer, "expression", buf_str(&text));
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_variables(const Scope *scope, JsonWriter *writer) {
    json_write_key(writer, STR("variables"));
    json_write_array(writer);
    for (uint32_t i = 0; i < scope->variables_type.n_fields; i++) {
        json_write_object(writer);
        write_text(writer, "name", scope->variables[i].name);
        write_text(writer, "expression", scope->variables[i].expression.text);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_filters(const Program *program, JsonWriter *writer) {
    json_write_key(writer, STR("filters"));
    json_write_array(writer);
    for (size_t i = 0; i < program->n_filters; i++) {
        const Filter *filter = program->filters[i];

        json_write_object(writer);
        write_text(writer, "name", filter->name);
        write_text(writer, "expression", filter->test.text);
        json_write_key(writer, STR("unresolvable"));
        json_write_bool(writer, filter->is_unresolvable);
        write_text(
            writer, "onError", filter->on_error == FALLBACK_ALLOW ? STR("allow") : STR("reject"));
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_scores(const Program *program, JsonWriter *writer) {
    json_write_key(writer, STR("scores"));
    json_write_array(writer);
    for (size_t i = 0; i < program->n_scores; i++) {
        const Score *score = program->scores[i];

        json_write_object(writer);
        write_text(writer, "name", score->name);
        write_text(writer, "expression", score->value.text);
        json_write_key(writer, STR("weight"));
        json_write_double(writer, score->weight);
        json_write_key(writer, STR("onError"));
        json_write_double(writer, score->on_error);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

/* The file must have one policy. */
static void write_cel(const Bench *bench) {
    _cleanup_(buf_done) Buf text = BUF_INIT(ORDER_MAX);
    JsonWriter writer = JSON_WRITER(&text);
    FILE *out = fopen(bench->options.cel, "we");

    json_write_object(&writer);
    write_params(bench->program->policies[0].scope, &writer);
    write_variables(bench->program->policies[0].scope, &writer);
    write_filters(bench->program, &writer);
    write_scores(bench->program, &writer);
    json_write_end_object(&writer);
    if (!out || buf_error(&text) || fwrite(text.data, 1, text.len, out) != text.len ||
        fclose(out) != 0)
        fail(bench->options.cel, "cannot be written");
}

static void print_figures(Bench *bench, size_t n_passed) {
    (void)printf(
        "{\"nodes\": %zu, \"asked\": %zu, \"passed\": %zu, \"filters\": %zu, \"scores\": %zu",
        bench->table->n_rows, bench->n_asked, n_passed, bench->program->n_filters,
        bench->program->n_scores);
    samples_print("compile", &bench->compile);
    samples_print("kept", &bench->kept);
    samples_print("filter", &bench->filter);
    samples_print("score", &bench->score);
    samples_print("score_all", &bench->score_all);
    (void)printf("}\n");
}

/* --- command line ------------------------------------------------------------------- */

static Options options_parse(int argc, char *argv[]) {
    static const struct option known[] = {
        {"cluster", required_argument, NULL, 'c'},
        {"pod", required_argument, NULL, 'p'},
        {"policy", required_argument, NULL, 'y'},
        {"order", required_argument, NULL, 'o'},
        {"now", required_argument, NULL, 'n'},
        {"rounds", required_argument, NULL, 'r'},
        {"subset", required_argument, NULL, 's'},
        {"cold", no_argument, NULL, 'd'},
        {"verdicts", required_argument, NULL, 'v'},
        {"cel", required_argument, NULL, 'e'},
        {0},
    };
    Options options = {.n_rounds = 20};
    int option;

    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'c':
            options.cluster = optarg;
            break;
        case 'p':
            options.pod = optarg;
            break;
        case 'y':
            options.policy = optarg;
            break;
        case 'o':
            options.order = optarg;
            break;
        case 'n':
            options.now_sec = (int64_t)number_of(optarg);
            break;
        case 'r':
            options.n_rounds = number_of(optarg);
            break;
        case 's':
            options.n_subset = number_of(optarg);
            break;
        case 'd':
            options.is_cold = true;
            break;
        case 'v':
            options.verdicts = optarg;
            break;
        case 'e':
            options.cel = optarg;
            break;
        default:
            exit(2);
        }
    }
    if (!options.cluster || !options.pod || !options.policy)
        fail("usage", "--cluster, --pod and --policy are needed");
    if (options.n_rounds == 0 || options.n_rounds > ROUNDS_MAX)
        fail("--rounds", "1 to 10000");
    return options;
}

static void make_room(Bench *bench) {
    Samples *all[] = {
        &bench->compile, &bench->kept, &bench->filter, &bench->score, &bench->score_all};

    for (size_t i = 0; i < ELEMENTS_OF(all); i++)
        all[i]->values = need(ARENA_ARRAY(bench->arena, double, bench->options.n_rounds));
    bench->verdicts = need(ARENA_ARRAY(bench->arena, uint16_t, bench->n_order));
    bench->scores = need(ARENA_ARRAY(bench->arena, double, bench->n_order));
    bench->evict = need(ARENA_ARRAY(bench->arena, unsigned char, EVICT_SIZE));
}

int main(int argc, char *argv[]) {
    _cleanup_(arena_freep) Arena *arena = need(arena_new(BUDGET)), *known = need(arena_new(BUDGET)),
                                 *request = need(arena_new(BUDGET));
    Bench bench = {.options = options_parse(argc, argv),
        .arena = arena,
        .known = known,
        .request = request,
        .random = 42};
    uint32_t *passed;
    size_t n_passed = 0;

    load_cluster(&bench);
    load_order(&bench);
    make_room(&bench);
    passed = need(ARENA_RAW(arena, uint32_t, bench.n_order));
    compile(&bench);
    keep(&bench);
    for (size_t i = 0; i < bench.options.n_rounds; i++)
        run_round(&bench, passed, &n_passed);
    if (bench.options.verdicts)
        write_verdicts(&bench);
    if (bench.options.cel)
        write_cel(&bench);
    print_figures(&bench, n_passed);
    (void)program_unref(bench.program);
    (void)snapshot_unref(bench.snapshot);
    return EXIT_SUCCESS;
}
