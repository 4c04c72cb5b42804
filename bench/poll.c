/*
 * Measures the processing of the answers to a poll, step by step, as in the poller and the daemon.
 *
 *     bench/poll --cluster FILE --policy FILE --answers FOLDER [--rounds N]
 *
 * FOLDER has two answers to the query of each metric, QUERY.0.json and QUERY.1.json, for
 * the same nodes; rounds alternate between them, so every number changes in every round.
 *
 * Prints JSON, CPU nanoseconds for all metrics together: the best round, the median and p99 of each
 * step:
 *     parse     the texts to series
 *     join      series to nodes
 *     view      all metrics are new: builds columns and evaluates the rules for each node
 *     view_one  the same when one metric is new
 * and the bytes on the heap for the measurements, and for a view of them.
 */

#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "extender/view.h"
#include "input/file.h"
#include "input/objects.h"
#include "input/policies.h"
#include "load/join.h"
#include "load/vector.h"
#include "samples.h"

#define BUDGET ((size_t)1024 * 1024 * 1024)
#define VERSIONS 2u
#define ROUNDS_MAX 10000u
#define ROUNDS_WARM 3u /* joins and the heap are warm by then */

typedef struct Options {
    const char *cluster, *policy, *answers;
    size_t n_rounds;
} Options;

/* A metric, and the answers to its query. */
typedef struct Subject {
    const Gauge *gauge;
    Buf texts[VERSIONS];
    JoinMemory *memory;
    Measurement *measurement; /* the last one */
} Subject;

typedef struct Bench {
    Options options;
    Arena *arena, *vectors, *scratch;
    Snapshot *snapshot;
    Program *program;
    JoinIndex *index;
    Subject *subjects;
    size_t n;
    View *view;
    size_t n_bytes, n_series, n_covered; /* of one poll */
    double parse_nsec, join_nsec;        /* of the current poll */
    Samples parse, join, view_all, view_one;
} Bench;

/* --- input -------------------------------------------------------------------------------- */

static void load_answers(Bench *bench, Subject *subject) {
    for (size_t i = 0; i < VERSIONS; i++) {
        char path[4096], error[FILE_ERROR_MAX];

        (void)snprintf(path, sizeof(path), "%s/%.*s.%zu.json", bench->options.answers,
            STR_FMT(subject->gauge->query), i);
        subject->texts[i] = BUF_INIT(VECTOR_BYTES_MAX);
        if (file_read(path, &subject->texts[i], error) < 0)
            fail(path, error);
    }
}

static void load(Bench *bench) {
    DiagList diags = DIAG_LIST_IN(bench->arena);
    char error[OBJECTS_ERROR_MAX];

    if (cluster_load(bench->options.cluster, &bench->snapshot, error) < 0)
        fail("--cluster", error);
    if (policies_load(&bench->options.policy, 1, &diags, &bench->program) != 0)
        fail(bench->options.policy, "has mistakes; berth check tells which");
    bench->n = bench->program->n_gauges;
    if (bench->n == 0)
        fail(bench->options.policy, "has no metrics");
    bench->index = need(join_index_new());
    bench->subjects = need(ARENA_ARRAY(bench->arena, Subject, bench->n));
    for (size_t i = 0; i < bench->n; i++) {
        bench->subjects[i].gauge = &bench->program->gauges[i];
        bench->subjects[i].memory = need(join_memory_new());
        load_answers(bench, &bench->subjects[i]);
    }
}

/* --- a poll ------------------------------------------------------------------------------- */

/* As src/load/poll-answer.c does it. */
static void take_answer(Bench *bench, Subject *subject, size_t version) {
    const JoinTime time = {.asked_nsec = clock_wall_nsec(), .uptime_nsec = clock_monotonic_nsec()};
    char error[VECTOR_ERROR_MAX] = "";
    JoinReport report = {0};
    Measurement *before = subject->measurement;
    double start = cpu_nsec(), read;
    Vector vector;

    if (vector_read_prometheus(buf_str(&subject->texts[version]), bench->vectors, &vector, error) <
        0)
        fail("an answer", error);
    read = cpu_nsec();
    if (join_vector(subject->gauge, &vector, snapshot_table(bench->snapshot), &time, bench->index,
            subject->memory, bench->scratch, &report, &subject->measurement) < 0)
        fail("join", "out of memory");
    (void)measurement_unref(before);
    bench->n_bytes += subject->texts[version].len;
    bench->n_series += vector.n;
    bench->n_covered += report.n_covered;
    arena_reset(bench->vectors);
    arena_reset(bench->scratch);
    bench->parse_nsec += read - start;
    bench->join_nsec += cpu_nsec() - read;
}

static void take_answers(Bench *bench, size_t n, size_t version) {
    bench->n_bytes = bench->n_series = bench->n_covered = 0;
    bench->parse_nsec = bench->join_nsec = 0;
    for (size_t i = 0; i < n; i++)
        take_answer(bench, &bench->subjects[i], version);
}

static void publish(Bench *bench) {
    _cleanup_(measurements_unrefp) Measurements *measurements =
        need(measurements_new(/* owner= */ 1, bench->n));
    View *before = bench->view;

    for (size_t i = 0; i < bench->n; i++)
        measurements->items[i] = measurement_ref(bench->subjects[i].measurement);
    if (view_new(&(ViewParts){.snapshot = bench->snapshot,
                     .program = bench->program,
                     .measurements = measurements,
                     .now_nsec = clock_wall_nsec(),
                     .uptime_nsec = clock_monotonic_nsec()},
            before, &bench->view) < 0)
        fail("view", "out of memory");
    (void)view_unref(before);
}

static void run_round(Bench *bench, size_t round, bool is_noted) {
    double start;

    take_answers(bench, bench->n, round % VERSIONS);
    if (is_noted) {
        bench->parse.values[bench->parse.n++] = bench->parse_nsec;
        bench->join.values[bench->join.n++] = bench->join_nsec;
    }
    start = cpu_nsec();
    publish(bench);
    if (is_noted)
        samples_note(&bench->view_all, start);
}

static void run_small_round(Bench *bench, size_t round) {
    double start;

    take_answers(bench, 1, round % VERSIONS);
    start = cpu_nsec();
    publish(bench);
    samples_note(&bench->view_one, start);
}

/* --- memory ------------------------------------------------------------------------------- */

static size_t heap_bytes(void) {
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

/* Memory of the first poll, which allocates everything. */
static void measure_memory(Bench *bench, size_t *ret_measured, size_t *ret_view) {
    size_t before = heap_bytes(), measured;

    take_answers(bench, bench->n, 0);
    measured = heap_bytes();
    publish(bench);
    *ret_measured = measured - before;
    *ret_view = heap_bytes() - measured;
}

/* --- command line ------------------------------------------------------------------------- */

static Options options_parse(int argc, char *argv[]) {
    static const struct option known[] = {
        {"cluster", required_argument, NULL, 'c'},
        {"policy", required_argument, NULL, 'y'},
        {"answers", required_argument, NULL, 'a'},
        {"rounds", required_argument, NULL, 'r'},
        {0},
    };
    Options options = {.n_rounds = 20};
    int option;

    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'c':
            options.cluster = optarg;
            break;
        case 'y':
            options.policy = optarg;
            break;
        case 'a':
            options.answers = optarg;
            break;
        case 'r':
            options.n_rounds = number_of(optarg);
            break;
        default:
            exit(2);
        }
    }
    if (!options.cluster || !options.policy || !options.answers)
        fail("usage", "--cluster, --policy and --answers are needed");
    if (options.n_rounds == 0 || options.n_rounds > ROUNDS_MAX)
        fail("--rounds", "1 to 10000");
    return options;
}

static void make_room(Bench *bench) {
    Samples *all[] = {&bench->parse, &bench->join, &bench->view_all, &bench->view_one};

    for (size_t i = 0; i < ELEMENTS_OF(all); i++)
        all[i]->values = need(ARENA_ARRAY(bench->arena, double, bench->options.n_rounds));
}

static void print_figures(Bench *bench, size_t measured, size_t view) {
    (void)printf("{\"nodes\": %zu, \"metrics\": %zu, \"bytes\": %zu, \"series\": %zu, "
                 "\"covered\": %zu, \"measured_bytes\": %zu, \"view_bytes\": %zu",
        snapshot_table(bench->snapshot)->names->n_nodes, bench->n, bench->n_bytes, bench->n_series,
        bench->n_covered, measured, view);
    samples_print("parse", &bench->parse);
    samples_print("join", &bench->join);
    samples_print("view", &bench->view_all);
    samples_print("view_one", &bench->view_one);
    (void)printf("}\n");
}

static void unload(Bench *bench) {
    (void)view_unref(bench->view);
    for (size_t i = 0; i < bench->n; i++) {
        (void)measurement_unref(bench->subjects[i].measurement);
        (void)join_memory_free(bench->subjects[i].memory);
        for (size_t version = 0; version < VERSIONS; version++)
            buf_done(&bench->subjects[i].texts[version]);
    }
    (void)join_index_free(bench->index);
    (void)program_unref(bench->program);
    (void)snapshot_unref(bench->snapshot);
}

int main(int argc, char *argv[]) {
    _cleanup_(arena_freep) Arena *arena = need(arena_new(BUDGET)),
                                 *vectors = need(arena_new(BUDGET)),
                                 *scratch = need(arena_new(BUDGET));
    Bench bench = {.options = options_parse(argc, argv),
        .arena = arena,
        .vectors = vectors,
        .scratch = scratch};
    size_t measured, view;

    load(&bench);
    make_room(&bench);
    measure_memory(&bench, &measured, &view);
    for (size_t i = 0; i < bench.options.n_rounds; i++)
        run_small_round(&bench, i);
    for (size_t i = 0; i < bench.options.n_rounds + ROUNDS_WARM; i++)
        run_round(&bench, i, i >= ROUNDS_WARM);
    print_figures(&bench, measured, view);
    unload(&bench);
    return EXIT_SUCCESS;
}
