/* Reads pods and decisions, in the format of write-decisions.c. */

#include <errno.h>

#include "bundle/bundle-internal.h"
#include "json/fields.h"

#define FILE_NAME "decisions.jsonl"

int bundle_read_pods(BundleRead *read) {
    VEC(Str) pods = {0};
    Str line, key;

    bundle_open_lines(read, "pods.jsonl");
    while (bundle_next_line(read, &line)) {
        Str pod = STR_NULL;
        JsonReader reader;

        json_reader_init(&reader, line);
        json_object(&reader);
        while (json_key(&reader, &key))
            json_skip(&reader, json_key_is(&reader, key, STR("pod")) ? &pod : NULL);
        json_end(&reader);
        if (json_error(&reader))
            return bundle_bad_json(read, NULL, &reader);
        if (!VEC_ADD(&pods, read->arena, pod))
            return -ENOMEM;
    }
    read->pods = pods.items;
    read->n_pods = pods.n;
    return 0;
}

typedef struct Run {
    int64_t first, n;
} Run;

/* The parsed fields of a line, before they are combined into a decision. */
typedef struct DecisionLine {
    Arena *scratch; /* for one line */
    RecordedDecision decision;
    int64_t id, pod, saved_view, in, out;
    RecordedRule *rules;
    Run *asked;
    Str became; /* ptr NULL: not recorded */
    uint16_t *by;
    uint8_t *scores;
    Str *names; /* only in the first line */
    size_t n_rules, n_asked, n_by, n_scores, n_names;
    bool has_names;
} DecisionLine;

static const JsonField rule_fields[] = {
    JSON_MEMBER("policy", TEXT, RecordedRule, policy),
    JSON_MEMBER("name", TEXT, RecordedRule, name),
    JSON_MEMBER("reason", TEXT, RecordedRule, reason),
};

static void read_run(JsonReader *reader, Arena *arena, void *target) {
    Run *run = target;
    size_t n = 0;

    json_array(reader);
    for (; json_element(reader); n++)
        json_int64(reader, n == 0 ? &run->first : &run->n);
    if (n != 2 || run->first < 0 || run->first >= BUNDLE_NODES_MAX || run->n < 1 ||
        run->n > BUNDLE_NODES_MAX)
        json_fail(reader, JSON_E_TYPE, "expected [the first node, the number of nodes]");
}

/* Reads a number of at most @max; @max for null. */
static int64_t read_below(JsonReader *reader, int64_t max) {
    int64_t number = max;

    json_int64(reader, &number);
    if (number < 0 || number > max)
        json_fail(reader, JSON_E_RANGE, "a smaller number was expected");
    return number;
}

static void read_rule_number(JsonReader *reader, Arena *arena, void *target) {
    *(uint16_t *)target = (uint16_t)read_below(reader, RECORDED_NO_RULE);
}

static void read_score(JsonReader *reader, Arena *arena, void *target) {
    *(uint8_t *)target = (uint8_t)read_below(reader, RECORDED_NO_SCORE);
}

static void read_asked(JsonReader *reader, Arena *arena, void *target) {
    DecisionLine *line = target;

    JSON_READ_ITEMS(reader, line->scratch, SIZE_MAX, read_run, line->asked, &line->n_asked);
}

static void read_by(JsonReader *reader, Arena *arena, void *target) {
    DecisionLine *line = target;

    JSON_READ_ITEMS(reader, line->scratch, SIZE_MAX, read_rule_number, line->by, &line->n_by);
}

static void read_scores(JsonReader *reader, Arena *arena, void *target) {
    DecisionLine *line = target;

    JSON_READ_ITEMS(reader, line->scratch, SIZE_MAX, read_score, line->scores, &line->n_scores);
}

static void read_names(JsonReader *reader, Arena *arena, void *target) {
    DecisionLine *line = target;

    line->has_names = true;
    JSON_READ_ITEMS(reader, arena, BUNDLE_NODES_MAX, json_read_text, line->names, &line->n_names);
}

#define LINE(path, kind, field) JSON_MEMBER(path, kind, DecisionLine, field)
#define CUSTOM(path, read)                                                                         \
    { path, JSON_FIELD_CUSTOM, 0, read }

static const JsonField line_fields[] = {
    LINE("namespace", TEXT, decision.pod_namespace),
    LINE("name", TEXT, decision.pod_name),
    LINE("uid", TEXT, decision.pod_uid),
    LINE("target", TEXT, decision.target),
    LINE("error", TEXT, decision.error),
    JSON_CUSTOM("verb", DecisionLine, decision.verb, verb_decode),
    JSON_CUSTOM("policy", DecisionLine, decision.policy, bundle_read_digest),
    LINE("id", INT, id),
    LINE("nowNsec", INT, decision.now_nsec),
    LINE("durationNsec", INT, decision.duration_nsec),
    LINE("in", INT, in),
    LINE("out", INT, out),
    LINE("pod", INT, pod),
    LINE("scene", INT, saved_view),
    LINE("names", BOOL, decision.had_names),
    LINE("late", BOOL, decision.is_late),
    LINE("exempt", BOOL, decision.is_exempt),
    JSON_LIST_OF("rules", DecisionLine, rules, n_rules, RECORDED_NO_RULE, rule_fields),
    CUSTOM("asked", read_asked),
    LINE("became", TEXT, became),
    CUSTOM("by", read_by),
    CUSTOM("scores", read_scores),
    CUSTOM("nodes", read_names),
};

/* Returns false for an unknown letter. */
static bool kind_of(char letter, uint8_t *ret) {
    const char *found = memchr(
        decision_letters + OUTCOME_PASSED, letter, sizeof(decision_letters) - OUTCOME_PASSED);

    if (found)
        *ret = (uint8_t)(found - decision_letters);
    return found;
}

/* Returns the error, or NULL. */
static const char *fill_nodes(const DecisionLine *line, size_t n_names, RecordedNode *nodes) {
    size_t n = 0, next_rule = 0;

    for (size_t i = 0; i < line->n_asked; i++) {
        const Run *run = &line->asked[i];

        if ((size_t)(run->first + run->n) > n_names || n + (size_t)run->n > line->became.len)
            return "\"asked\" names nodes that do not exist, or more than \"became\" has letters";
        for (int64_t j = 0; j < run->n; j++)
            nodes[n++] = (RecordedNode){.name = (uint32_t)(run->first + j),
                .rule = RECORDED_NO_RULE,
                .score = RECORDED_NO_SCORE};
    }
    if (n != line->became.len || (line->n_scores > 0 && line->n_scores != n))
        return "\"asked\", \"became\" and \"scores\" have different numbers of nodes";
    for (size_t i = 0; i < n; i++) {
        if (!kind_of(line->became.ptr[i], &nodes[i].kind))
            return "\"became\" has an unknown letter";
        if (line->n_scores > 0)
            nodes[i].score = line->scores[i];
        if (nodes[i].kind == OUTCOME_REJECTED && next_rule < line->n_by)
            nodes[i].rule = line->by[next_rule++];
        if (nodes[i].rule != RECORDED_NO_RULE && nodes[i].rule >= line->n_rules)
            return "\"by\" names a rule that does not exist";
    }
    return NULL;
}

static int finish(BundleRead *read, DecisionLine *line) {
    RecordedDecision *decision = &line->decision;
    const Recording *recording = &read->bundle->recording;
    const char *wrong = NULL;
    RecordedNode *nodes;

    if (line->pod >= (int64_t)read->n_pods ||
        (read->bundle->has_cluster && line->saved_view >= (int64_t)recording->n_saved_views) ||
        line->in < 0 || line->out < 0)
        return bundle_wrong_line(read, "\"pod\", \"scene\", \"in\" or \"out\" is out of range");
    decision->id = (uint64_t)line->id;
    decision->n_in = (size_t)line->in;
    decision->n_out = (size_t)line->out;
    decision->pod_text = line->pod >= 0 ? read->pods[line->pod] : STR_NULL;
    decision->saved_view = read->bundle->has_cluster && line->saved_view >= 0
                               ? recording->saved_views[line->saved_view]
                               : NULL;
    decision->rules = line->rules;
    decision->n_rules = line->n_rules;
    if (!line->became.ptr)
        return 0;
    nodes = ARENA_ARRAY(read->arena, RecordedNode, line->became.len);
    if (!nodes)
        return -ENOMEM;
    wrong = fill_nodes(line, recording->n_names, nodes);
    if (wrong)
        return bundle_wrong_line(read, "%s", wrong);
    decision->nodes = nodes;
    decision->n_nodes = line->became.len;
    return 0;
}

static int read_one(BundleRead *read, Str text, Arena *scratch, DecisionLine *line) {
    JsonReader reader;

    *line = (DecisionLine){
        .scratch = scratch, .pod = -1, .saved_view = -1, .decision.duration_nsec = -1};
    arena_reset(scratch);
    json_reader_init(&reader, text);
    JSON_READ_FIELDS(&reader, read->arena, line_fields, line);
    json_end(&reader);
    return json_error(&reader) ? bundle_bad_json(read, NULL, &reader) : 0;
}

int bundle_read_decisions(BundleRead *read) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(read->line_budget);
    Recording *recording = &read->bundle->recording;
    VEC(RecordedDecision) decisions = {0};
    Str text;

    if (!scratch)
        return -ENOMEM;
    bundle_open_lines(read, FILE_NAME);
    while (bundle_next_line(read, &text)) {
        DecisionLine line;
        int r = read_one(read, text, scratch, &line);

        if (r == 0 && !line.has_names)
            r = finish(read, &line);
        else if (r == 0 && decisions.n > 0) /* those have numbers of the earlier names */
            r = bundle_wrong_line(read, "\"nodes\" must be in the first line");
        if (r != 0)
            return bundle_check_limit(read, r, scratch);
        if (line.has_names) {
            recording->names = line.names;
            recording->n_names = line.n_names;
            continue;
        }
        if (decisions.n == BUNDLE_DECISIONS_MAX)
            return bundle_wrong(read, FILE_NAME ": more than %u decisions", BUNDLE_DECISIONS_MAX);
        if (!VEC_ADD(&decisions, read->arena, line.decision))
            return -ENOMEM;
    }
    recording->decisions = decisions.items;
    recording->n = decisions.n;
    return 0;
}
