/* Reads a file of policy tests and runs its cases. */

#include "suite/suite.h"

#include <errno.h>

#include "input/file.h"
#include "input/policies.h"
#include "suite/suite-internal.h"

#define OBJECT_BUDGET ((size_t)64 * 1024 * 1024)
#define CASE_BUDGET ((size_t)1024 * 1024 * 1024)

/* The fields of a file, or of a case. */
typedef struct SuiteFields {
    const YamlNode *cases; /* of a file */
    Str name;              /* of a case, as the next */
    const YamlNode *expect;
    SuiteScene scene;
} SuiteFields;

#define SCENE_FIELD(title)                                                                         \
    { OPTIONAL(#title), INTO(SuiteFields, scene.title, shape_any) }
#define SCENE_FIELDS                                                                               \
    SCENE_FIELD(policies), SCENE_FIELD(cluster), SCENE_FIELD(nodes), SCENE_FIELD(pods),            \
        SCENE_FIELD(objects), SCENE_FIELD(metrics), SCENE_FIELD(workloads), SCENE_FIELD(age),      \
        SCENE_FIELD(now), SCENE_FIELD(pod)

static const Field suite_fields[] = {
    SCENE_FIELDS,
    {REQUIRED("cases"), INTO(SuiteFields, cases, shape_any)},
};
static const Shape suite_shape = {SHAPE_OF(suite_fields)};

static const Field case_fields[] = {
    {REQUIRED("name"), INTO(SuiteFields, name, shape_string)},
    SCENE_FIELDS,
    {REQUIRED("expect"), INTO(SuiteFields, expect, shape_any)},
};
static const Shape case_shape = {SHAPE_OF(case_fields)};

/* Adds a policy that is written in the test file, to which its places refer. */
static int add_inline(SuiteRun *run, const YamlNode *policy, PolicyFiles *files) {
    YamlStream *tree = ARENA_NEW(run->arena, YamlStream);
    YamlNode **documents = ARENA_ARRAY(run->arena, YamlNode *, 1);
    PolicySource source = {.file = policy->place.file, .text = STR(""), .tree = tree};

    if (!tree || !documents)
        return -ENOMEM;
    documents[0] = (YamlNode *)(uintptr_t)policy; /* it is only read */
    *tree = (YamlStream){.file = policy->place.file,
        .source = run->reader.source,
        .n_documents = 1,
        .documents = documents};
    return VEC_ADD(&files->sources, files->arena, source) ? 0 : -ENOMEM;
}

static int add_policy(SuiteRun *run, const YamlNode *policy, PolicyFiles *files) {
    Str name, path;

    if (policy->kind == YAML_MAPPING)
        return add_inline(run, policy, files);
    if (!reader_string(&run->reader, policy, "a path of policies", &name))
        return SUITE_E_INVALID;
    path = suite_path(run, name);
    return path.ptr ? policies_add(files, path.ptr) : -ENOMEM;
}

/* Keeps errors only: warnings are for `berth check`; those of many cases would hide an error. */
static void keep_errors(const DiagList *found, DiagList *diags) {
    for (size_t i = 0; i < found->diags.n && diags->diags.n < DIAG_MAX; i++) {
        const Diag *diag = &found->diags.items[i];

        if (diag->level == DIAG_ERROR)
            (void)VEC_ADD(&diags->diags, diags->arena, *diag);
    }
    diags->n_errors += found->n_errors;
}

static int load_policies(SuiteRun *run, const YamlNode *policies, Program **ret) {
    _cleanup_(arena_freep) Arena *arena = arena_new(POLICIES_BUDGET);
    DiagList found = DIAG_LIST_IN(run->reader.diags->arena);
    PolicyFiles files = {.arena = arena, .diags = &found};
    bool is_list = policies->kind == YAML_SEQUENCE;
    size_t n = is_list ? policies->n : 1;
    int r = arena ? 0 : -ENOMEM;

    if (n > SUITE_POLICIES_MAX) {
        reader_error(&run->reader, policies, "there are more than %u policies and paths",
            SUITE_POLICIES_MAX);
        return SUITE_E_INVALID;
    }
    for (size_t i = 0; r == 0 && i < n; i++)
        r = add_policy(run, is_list ? policies->items[i] : policies, &files);
    if (r == 0)
        r = policies_compile(files.sources.items, files.sources.n, &found, ret);
    keep_errors(&found, run->reader.diags);
    return r > 0 ? SUITE_E_INVALID : r;
}

/* Sets run->program: the case's own policies, or the file's, which are compiled once. */
static int find_program(
    SuiteRun *run, const YamlNode *item, const SuiteScene *scene, Program **room) {
    bool has_own = scene->policies != run->scene.policies;
    int r = has_own ? load_policies(run, scene->policies, room) : 0;

    run->program = has_own ? *room : run->file_program;
    if (r == 0 && !run->program) {
        reader_error_hint(&run->reader, item,
            STR("policies: FILE, or policies: {kind: " POLICY_KIND ", ...}"),
            "a case needs policies");
        r = SUITE_E_INVALID;
    }
    return r;
}

/* Finds the case's own cluster, or the file's, which is built once. */
static int find_cluster(
    SuiteRun *run, const SuiteScene *scene, SuiteCluster *room, const SuiteCluster **ret) {
    const SuiteScene *file = &run->scene;
    bool has_own = scene->cluster != file->cluster || scene->nodes != file->nodes ||
                   scene->pods != file->pods || scene->objects != file->objects;
    SuiteCluster *cluster = has_own ? room : &run->cluster;
    int r = cluster->snapshot ? 0 : suite_cluster_build(run, scene, cluster);

    run->is_scene_wrong |= r > 0 && !has_own;
    if (r == 0 && snapshot_table(cluster->snapshot)->names->n_nodes == 0) {
        reader_error_hint(&run->reader, scene->nodes ? scene->nodes : run->document,
            STR("nodes: {NAME: {...}}, or cluster: FILE"), "a case needs nodes");
        run->is_scene_wrong |= !has_own;
        r = SUITE_E_INVALID;
    }
    *ret = cluster;
    return r;
}

/* Makes a view of all that the decision depends on. */
static int make_view(SuiteRun *run, const SuiteScene *scene, const SuiteCluster *cluster,
    int64_t now_nsec, View **ret) {
    _cleanup_(measurements_unrefp) Measurements *measurements = NULL;
    int r = suite_measure(run, scene, cluster, now_nsec, &measurements);
    const ViewParts parts = {
        .snapshot = cluster->snapshot,
        .program = run->program,
        .zones = zones_finder(run->zones),
        .measurements = measurements,
        .now_nsec = now_nsec,
        .uptime_nsec = SUITE_UPTIME_NSEC,
    };

    run->is_scene_wrong |= r > 0 && scene->policies == run->scene.policies &&
                           scene->metrics == run->scene.metrics &&
                           scene->workloads == run->scene.workloads && scene->age == run->scene.age;
    return r == 0 ? view_new(&parts, /* before= */ NULL, ret) : r;
}

static int evaluate(
    SuiteRun *run, const SuiteFields *fields, const SuiteCluster *cluster, SuiteCase *ret) {
    _cleanup_(arena_freep) Arena *arena = arena_new(CASE_BUDGET);
    const SuiteScene *scene = &fields->scene;
    _cleanup_(view_unrefp) View *view = NULL;
    Explanation explanation;
    int64_t now_nsec;
    Pod pod;
    int r = arena ? suite_now(run, scene, &now_nsec) : -ENOMEM;

    run->is_scene_wrong |= r > 0 && scene->now == run->scene.now;
    if (r == 0) {
        r = suite_pod(run, scene, cluster, arena, &pod);
        run->is_scene_wrong |= r > 0 && scene->pod == run->scene.pod;
    }
    if (r == 0)
        r = make_view(run, scene, cluster, now_nsec, &view);
    if (r == 0)
        r = extender_explain(view, now_nsec, &pod, arena, &explanation);
    if (r == 0)
        r = run->visit(run->context, &(SuiteDecision){ret, scene->policies != run->scene.policies,
                                         view, now_nsec, &pod, &explanation});
    return r == 0 ? suite_check(run, fields->expect, &explanation, ret) : r;
}

static int run_case(SuiteRun *run, const YamlNode *item, SuiteCase *ret) {
    _cleanup_(program_unrefp) Program *own_program = NULL;
    SuiteCluster room = {0};
    const SuiteCluster *cluster;
    SuiteFields fields = {.scene = run->scene}; /* the case has the others */
    int r;

    if (!reader_fields(&run->reader, item, "a case", &case_shape, &fields))
        return 0;
    *ret = (SuiteCase){.name = fields.name, .place = item->place};
    r = find_program(run, item, &fields.scene, &own_program);
    if (r == 0)
        r = find_cluster(run, &fields.scene, &room, &cluster);
    if (r == 0)
        r = evaluate(run, &fields, cluster, ret);
    suite_cluster_done(&room);
    return r < 0 ? r : 0;
}

static int run_cases(SuiteRun *run, const YamlNode *cases, Suite *ret) {
    int r = 0;

    if (!reader_sequence(&run->reader, cases, "cases"))
        return 0;
    if (cases->n > SUITE_CASES_MAX) {
        reader_error(&run->reader, cases, "more than %u cases", SUITE_CASES_MAX);
        return 0;
    }
    ret->cases = ARENA_ARRAY(run->arena, SuiteCase, cases->n);
    if (!ret->cases)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && !run->is_scene_wrong && i < cases->n; i++) {
        size_t n_errors = run->reader.diags->n_errors;

        r = run_case(run, cases->items[i], &ret->cases[ret->n_cases]);
        if (run->reader.diags->n_errors > n_errors)
            continue; /* it was not run */
        ret->n_failed += ret->cases[ret->n_cases++].failures.n > 0;
    }
    return r;
}

static int run_stream(SuiteRun *run, const YamlStream *stream, Suite *ret) {
    size_t n_errors = run->reader.diags->n_errors;
    SuiteFields fields = {0};
    int r = 0;

    ret->text = run->reader.source;
    run->reader.source = ret->source = stream->source;
    if (stream->n_documents != 1) {
        diag_addf(run->reader.diags, DIAG_ERROR, (Place){.file = ret->file}, STR_NULL,
            "a test file has one document, not %zu", stream->n_documents);
        return SUITE_E_INVALID;
    }
    run->document = stream->documents[0];
    if (!reader_fields(&run->reader, run->document, "a test file", &suite_shape, &fields))
        return SUITE_E_INVALID;
    run->scene = fields.scene;
    if (run->scene.policies)
        r = load_policies(run, run->scene.policies, &run->file_program);
    if (r == 0)
        r = run_cases(run, fields.cases, ret);
    if (r == 0 && run->reader.diags->n_errors > n_errors)
        return SUITE_E_INVALID;
    return r == 0 && arena_has_failed(run->arena) ? -ENOMEM : r;
}

int suite_run(const char *path, const Zones *zones, SuiteVisit visit, void *context, Arena *arena,
    DiagList *diags, Suite *ret) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(OBJECT_BUDGET);
    Str file = arena_copy(arena, str_from_c(path));
    SuiteRun run = {
        .path = path,
        .folder = str_folder(file),
        .zones = zones,
        .arena = arena,
        .scratch = scratch,
        .reader = {.arena = arena, .diags = diags},
        .visit = visit,
        .context = context,
    };
    YamlStream stream;
    int r = file.ptr && scratch ? file_read_yaml(file.ptr, &run.reader, &stream) : -ENOMEM;

    *ret = (Suite){.file = file};
    if (r > 0)
        return r == FILE_E_UNREADABLE ? SUITE_E_UNREADABLE : SUITE_E_INVALID;
    if (r == 0)
        r = run_stream(&run, &stream, ret);
    suite_cluster_done(&run.cluster);
    run.file_program = program_unref(run.file_program);
    return r;
}

void suite_failure_print(const Suite *suite, const SuiteFailure *failure, bool colour, Buf *out) {
    _cleanup_(arena_freep) Arena *arena = arena_new(CASE_BUDGET);
    DiagList diags = DIAG_LIST_IN(arena);

    if (!arena)
        return;
    diag_add(&diags, DIAG_ERROR, failure->place, suite->source,
        arena_printf(arena, "%.*s: expected %.*s, got %.*s", STR_FMT(failure->subject),
            STR_FMT(failure->expected), STR_FMT(failure->got)),
        STR_NULL);
    if (diags.diags.n > 0)
        diag_print(&diags.diags.items[0], colour, out);
}
