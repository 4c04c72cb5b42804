/* Compares the expectations of a case with the evaluated pod. */

#include <errno.h>
#include <math.h>

#include "suite/suite-internal.h"
#include "json/write.h"

#define TEXT_MAX ((size_t)64 * 1024)
#define NODES_SHOWN 10u
#define DECIMALS_MAX 12
#define SCORE_ERROR 1e-9 /* rounding of sums of doubles */
#define OTHERS STR("*")

typedef struct Expected {
    const YamlNode *nodes, *observed, *best, *ranking, *scores;
} Expected;

static const Field expect_fields[] = {
    {OPTIONAL("nodes"), INTO(Expected, nodes, shape_any)},
    {OPTIONAL("observed"), INTO(Expected, observed, shape_any)},
    {OPTIONAL("best"), INTO(Expected, best, shape_any)},
    {OPTIONAL("ranking"), INTO(Expected, ranking, shape_any)},
    {OPTIONAL("scores"), INTO(Expected, scores, shape_any)},
};
static const Shape expect_shape = {SHAPE_OF(expect_fields)};

typedef struct Check {
    SuiteRun *run;
    const Explanation *explanation;
    SuiteCase *result;
    bool is_observed; /* verdicts of mode Observe are compared */
} Check;

/* --- failures -------------------------------------------------------------------------------- */

/* The first line of a value, as it is written. */
static Str text_of(const Check *check, const YamlNode *value) {
    Str line = str_line(check->run->reader.source, value->place.line);

    return str_take(str_skip(line, value->place.column - 1), value->place.width);
}

/* Whether text_of() is the whole value. */
static bool is_whole(const Check *check, const YamlNode *value) {
    Arena *scratch = check->run->scratch;
    DiagList diags = DIAG_LIST_IN(scratch);
    YamlStream stream;

    arena_reset(scratch);
    return yaml_parse(STR_NULL, text_of(check, value), scratch, &diags, &stream) == 0 &&
           stream.n_documents == 1 && stream.documents[0]->kind == value->kind &&
           stream.documents[0]->n == value->n && str_eq(stream.documents[0]->text, value->text);
}

/* @right: a value that would hold, for a suggestion; STR_NULL: none. */
static void fail(Check *check, const YamlNode *value, Str subject, const Buf *got, Str right) {
    (void)VEC_ADD(&check->result->failures, check->run->arena,
        (SuiteFailure){.place = value->place,
            .subject = subject,
            .expected = text_of(check, value),
            .got = arena_copy(check->run->arena, buf_str(got)),
            .right = right.len > 0 && is_whole(check, value) ? right : STR_NULL});
}

static Str subject_of(const Check *check, const char *what, Str node) {
    return arena_printf(check->run->arena, "%s %.*s", what, STR_FMT(node));
}

/* --- nodes ----------------------------------------------------------------------------------- */

/* The node @name; NULL, after a mistake was reported: there is none. */
static const NodeExplanation *find_node(Check *check, const YamlNode *name) {
    const Explanation *explanation = check->explanation;

    for (size_t i = 0; i < explanation->n_nodes; i++)
        if (str_eq(explanation->nodes[i].node, name->text))
            return &explanation->nodes[i];
    reader_error(
        &check->run->reader, name, "the cluster has no node \"%.*s\"", STR_FMT(name->text));
    return NULL;
}

/* Whether the rule's policy has the mode that is compared. */
static bool is_compared(const Check *check, const FailedRule *failed) {
    return failed->filter->policy->is_observed == check->is_observed;
}

/* The rule whose reason kube-scheduler gets, or would get; NULL: none rejects the node. */
static const FailedRule *find_rejecting(const Check *check, const NodeExplanation *node) {
    const FailedRule *first = NULL;

    for (size_t i = 0; i < node->n_failed; i++)
        if (is_compared(check, &node->failed[i]) &&
            (!first || node->failed[i].filter->number < first->filter->number))
            first = &node->failed[i];
    return first;
}

/* --- verdicts -------------------------------------------------------------------------------- */

typedef enum VerdictWord {
    VERDICT_PASSES,
    VERDICT_REJECTED,
    VERDICT_IS_NARROWED,
} VerdictWord;

static const char *const verdict_words[] = {"passes", "rejected", "narrowed", NULL};
static const Shape verdict_shape = {.kind = SHAPE_WORD,
    .words = verdict_words,
    .hint = "or a mapping with the rule, its reason or its detail"};

/* The expected rule that rejects the node; fields that are not given are NULL. */
typedef struct WantedRule {
    Str rule, reason, detail;
    const YamlNode *unresolvable; /* true: preemption cannot help; or false */
} WantedRule;

static const Field wanted_fields[] = {
    {OPTIONAL("rule"), INTO(WantedRule, rule, shape_string)},
    {OPTIONAL("reason"), INTO(WantedRule, reason, shape_string)},
    {OPTIONAL("detail"), INTO(WantedRule, detail, shape_string)},
    {OPTIONAL("unresolvable"), INTO(WantedRule, unresolvable, shape_any)},
};
static const Shape wanted_shape = {SHAPE_OF(wanted_fields)};

/* RULE or POLICY/RULE. */
static bool is_rule(const Filter *filter, Str name) {
    size_t slash = str_find(name, '/');

    if (slash == SIZE_MAX)
        return str_eq(filter->name, name);
    return str_eq(filter->policy->name, str_take(name, slash)) &&
           str_eq(filter->name, str_skip(name, slash + 1));
}

static bool is_wanted(const FailedRule *failed, const WantedRule *wanted) {
    return (!wanted->rule.ptr || is_rule(failed->filter, wanted->rule)) &&
           (!wanted->reason.ptr || str_eq(failed->filter->reason, wanted->reason)) &&
           (!wanted->detail.ptr || str_eq(failed->detail, wanted->detail)) &&
           (!wanted->unresolvable ||
               failed->filter->is_unresolvable == wanted->unresolvable->boolean);
}

static VerdictWord verdict_of(const Check *check, const NodeExplanation *node) {
    if (find_rejecting(check, node))
        return VERDICT_REJECTED;
    return !check->is_observed && node->outcome == NODE_NARROWED ? VERDICT_IS_NARROWED
                                                                 : VERDICT_PASSES;
}

/* "passes", or the rule that rejects the node and the names of others that do. */
static void print_verdict(const Check *check, const NodeExplanation *node, Buf *out) {
    const FailedRule *failed = find_rejecting(check, node);

    if (!failed) {
        buf_append(out, str_from_c(verdict_words[verdict_of(check, node)]));
        return;
    }
    buf_printf(out, "rejected by %.*s/%.*s: %.*s", STR_FMT(failed->filter->policy->name),
        STR_FMT(failed->filter->name), STR_FMT(failed->filter->reason));
    if (failed->detail.len > 0)
        buf_printf(out, " (%.*s)", STR_FMT(failed->detail));
    if (failed->filter->is_unresolvable)
        buf_append(out, STR(" (preemption cannot help)"));
    for (size_t i = 0; i < node->n_failed; i++)
        if (is_compared(check, &node->failed[i]) && &node->failed[i] != failed)
            buf_printf(out, "; also by %.*s/%.*s", STR_FMT(node->failed[i].filter->policy->name),
                STR_FMT(node->failed[i].filter->name));
}

static void write_text(Buf *out, const char *key, Str text) {
    buf_printf(out, "%s%s: ", out->len > 1 ? ", " : "", key);
    json_quote(out, text);
}

/* The verdict as YAML; for a rejected node its rule, with the fields that @wanted has. */
static Str verdict_yaml(const Check *check, const NodeExplanation *node, const WantedRule *wanted) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    const FailedRule *failed = find_rejecting(check, node);

    if (!failed)
        return str_from_c(verdict_words[verdict_of(check, node)]);
    buf_printf(&out, "{rule: %.*s", STR_FMT(failed->filter->name));
    if (!wanted || wanted->reason.ptr)
        write_text(&out, "reason", failed->filter->reason);
    if (wanted && wanted->detail.ptr)
        write_text(&out, "detail", failed->detail);
    if (wanted && wanted->unresolvable)
        buf_printf(&out, ", unresolvable: %s", failed->filter->is_unresolvable ? "true" : "false");
    buf_append_char(&out, '}');
    return buf_error(&out) ? STR_NULL : arena_copy(check->run->arena, buf_str(&out));
}

/* An expected verdict: a word, or a rule. */
typedef struct Verdict {
    bool is_word;
    VerdictWord word;
    WantedRule rule;
} Verdict;

static bool read_verdict(Check *check, const YamlNode *value, Verdict *ret) {
    YamlReader *reader = &check->run->reader;
    size_t n_errors = reader->diags->n_errors;
    bool flag;

    *ret = (Verdict){.is_word = value->kind != YAML_MAPPING};
    if (ret->is_word)
        return reader_value(reader, value, "a verdict", &verdict_shape, &ret->word);
    reader_fields(reader, value, "a verdict", &wanted_shape, &ret->rule);
    if (ret->rule.unresolvable)
        (void)reader_bool(reader, ret->rule.unresolvable, "unresolvable", &flag);
    if (value->n == 0)
        reader_error(reader, value, "a verdict needs a rule, a reason or a detail");
    return reader->diags->n_errors == n_errors;
}

static void check_verdict(
    Check *check, const YamlNode *value, const Verdict *verdict, const NodeExplanation *node) {
    _cleanup_(buf_done) Buf got = BUF_INIT(TEXT_MAX);
    const FailedRule *failed = find_rejecting(check, node);

    if (verdict->is_word ? verdict->word == verdict_of(check, node)
                         : failed && is_wanted(failed, &verdict->rule))
        return;
    print_verdict(check, node, &got);
    fail(check, value, subject_of(check, check->is_observed ? "observed node" : "node", node->node),
        &got, verdict_yaml(check, node, verdict->is_word ? NULL : &verdict->rule));
}

/* Checks all nodes that @verdicts does not name; reports the first NODES_SHOWN that fail. */
static void check_others(
    Check *check, const YamlNode *verdicts, const YamlNode *value, const Verdict *verdict) {
    size_t n_before = check->result->failures.n;

    for (size_t i = 0; i < check->explanation->n_nodes; i++) {
        const NodeExplanation *node = &check->explanation->nodes[i];

        if (!yaml_find(verdicts, node->node))
            check_verdict(check, value, verdict, node);
        if (check->result->failures.n == n_before + NODES_SHOWN)
            return;
    }
}

static void check_verdicts(Check *check, const YamlNode *verdicts, bool is_observed) {
    if (!verdicts || !reader_mapping(&check->run->reader, verdicts, "verdicts"))
        return;
    check->is_observed = is_observed;
    for (size_t i = 0; i < verdicts->n; i++) {
        const YamlPair *pair = &verdicts->pairs[i];
        bool is_others = str_eq(pair->key->text, OTHERS);
        const NodeExplanation *node = is_others ? NULL : find_node(check, pair->key);
        Verdict verdict;

        if (!read_verdict(check, pair->value, &verdict))
            continue;
        if (is_others)
            check_others(check, verdicts, pair->value, &verdict);
        else if (node)
            check_verdict(check, pair->value, &verdict, node);
    }
    check->is_observed = false;
}

/* --- scores ---------------------------------------------------------------------------------- */

/* The number of decimals in @text. */
static int decimals_of(Str text) {
    size_t dot = str_find(text, '.');

    if (str_find(text, 'e') != SIZE_MAX || str_find(text, 'E') != SIZE_MAX)
        return DECIMALS_MAX;
    if (dot == SIZE_MAX)
        return 0;
    return text.len - dot - 1 < DECIMALS_MAX ? (int)(text.len - dot - 1) : DECIMALS_MAX;
}

static Str score_yaml(const Check *check, const YamlNode *value, double score) {
    if (value->kind == YAML_SEQUENCE)
        return arena_printf(check->run->arena, "[%g, %g]", floor(score), ceil(score));
    return arena_printf(check->run->arena, "%.*f", decimals_of(value->text), score);
}

/* Reads a number, and takes half of its last decimal around it; or a range. */
static bool read_range(Check *check, const YamlNode *value, double *ret_min, double *ret_max) {
    YamlReader *reader = &check->run->reader;
    double half;

    if (value->kind != YAML_SEQUENCE) {
        if (!reader_number(reader, value, "a score", 0, 100, ret_min))
            return false;
        half = 0.5 * pow(10, -decimals_of(value->text));
        *ret_max = *ret_min + half;
        *ret_min -= half;
        return true;
    }
    if (value->n != 2)
        return reader_error(reader, value, "a range of scores is [LEAST, MOST]");
    return reader_number(reader, value->items[0], "a score", 0, 100, ret_min) &&
           reader_number(reader, value->items[1], "a score", *ret_min, 100, ret_max);
}

static void check_score(Check *check, const YamlPair *pair) {
    const NodeExplanation *node = find_node(check, pair->key);
    _cleanup_(buf_done) Buf got = BUF_INIT(TEXT_MAX);
    double min = 0, max = 0;

    if (!read_range(check, pair->value, &min, &max) || !node)
        return;
    if (node->is_scored && node->score >= min - SCORE_ERROR && node->score <= max + SCORE_ERROR)
        return;
    if (node->is_scored)
        buf_printf(&got, "%.10g", node->score);
    else if (node->outcome != NODE_REJECTED)
        buf_append(&got, STR("no score, since no score rule is for the pod"));
    else
        print_verdict(check, node, &got);
    fail(check, pair->value, subject_of(check, "score of node", node->node), &got,
        node->is_scored ? score_yaml(check, pair->value, node->score) : STR_NULL);
}

/* --- best nodes and ranking ------------------------------------------------------------------- */

static bool is_named(const YamlNode *names, Str node) {
    if (names->kind != YAML_SEQUENCE)
        return str_eq(names->text, node);
    for (size_t i = 0; i < names->n; i++)
        if (str_eq(names->items[i]->text, node))
            return true;
    return false;
}

/* Whether @names, a list or one name, are all nodes of the cluster. */
static bool are_nodes(Check *check, const YamlNode *names, const char *what) {
    bool is_list = names->kind == YAML_SEQUENCE, are_right = true;
    Str text;

    for (size_t i = 0; i < (is_list ? names->n : 1); i++) {
        const YamlNode *name = is_list ? names->items[i] : names;

        are_right &= reader_label_value(&check->run->reader, name, what, &text) &&
                     find_node(check, name) != NULL;
    }
    return are_right;
}

static void add_name(Buf *list, Str node) {
    buf_printf(list, "%s%.*s", list->len > 0 ? ", " : "", STR_FMT(node));
}

/* kube-scheduler takes any of several nodes with the same score: all of them are expected. */
static void check_best(Check *check, const YamlNode *best) {
    _cleanup_(buf_done) Buf got = BUF_INIT(TEXT_MAX);
    double highest = -1; /* of all candidates */
    size_t n = 0;
    bool is_right = true;
    Str right;

    if (!best || !are_nodes(check, best, "best"))
        return;
    for (size_t i = 0; i < check->explanation->n_nodes; i++)
        if (check->explanation->nodes[i].outcome == NODE_PASSED)
            highest = fmax(highest, check->explanation->nodes[i].score);
    for (size_t i = 0; i < check->explanation->n_nodes; i++) {
        const NodeExplanation *node = &check->explanation->nodes[i];
        bool is_one = node->outcome == NODE_PASSED && node->score >= highest - SCORE_ERROR;

        is_right &= is_one == is_named(best, node->node);
        if (is_one && n++ < NODES_SHOWN)
            add_name(&got, node->node);
    }
    if (is_right)
        return;
    right = n == 1             ? arena_copy(check->run->arena, buf_str(&got))
            : n <= NODES_SHOWN ? arena_printf(check->run->arena, "[%.*s]", STR_FMT(buf_str(&got)))
                               : STR_NULL;
    if (n == 0)
        buf_append(&got, STR("none: every node is rejected"));
    if (n > NODES_SHOWN)
        buf_printf(&got, " and %zu more", n - NODES_SHOWN);
    fail(check, best, STR("best"), &got, right);
}

/* Appends the listed nodes in the order of their rank: to @out with scores, to @names without. */
static void print_ranking(Check *check, const YamlNode *ranking, Buf *out, Buf *names) {
    for (size_t i = 0; i < check->explanation->n_passed; i++) {
        const NodeExplanation *node = check->explanation->ranking[i];

        if (!is_named(ranking, node->node) || node->outcome != NODE_PASSED)
            continue;
        add_name(out, node->node);
        add_name(names, node->node);
        buf_printf(out, " %.10g", node->score);
    }
    for (size_t i = 0; i < ranking->n; i++) {
        const NodeExplanation *node = find_node(check, ranking->items[i]);

        if (node->outcome == NODE_PASSED)
            continue;
        add_name(out, node->node);
        buf_printf(out, " %s", verdict_words[verdict_of(check, node)]);
    }
}

static void check_ranking(Check *check, const YamlNode *ranking) {
    _cleanup_(buf_done) Buf got = BUF_INIT(TEXT_MAX), names = BUF_INIT(TEXT_MAX);
    const NodeExplanation *before = NULL;
    bool is_right = true;

    if (!ranking || !reader_sequence(&check->run->reader, ranking, "ranking") ||
        !are_nodes(check, ranking, "ranking"))
        return;
    for (size_t i = 0; i < ranking->n; i++) {
        const NodeExplanation *node = find_node(check, ranking->items[i]);

        is_right &= node->outcome == NODE_PASSED && /* and each scores higher than the next */
                    (!before || (before->outcome == NODE_PASSED &&
                                    before->score > node->score + SCORE_ERROR));
        before = node;
    }
    if (is_right)
        return;
    print_ranking(check, ranking, &got, &names);
    fail(check, ranking, STR("ranking"), &got,
        arena_printf(check->run->arena, "[%.*s]", STR_FMT(buf_str(&names))));
}

int suite_check(
    SuiteRun *run, const YamlNode *expect, const Explanation *explanation, SuiteCase *ret) {
    Check check = {.run = run, .explanation = explanation, .result = ret};
    Expected expected = {0};

    reader_fields(&run->reader, expect, "expect", &expect_shape, &expected);
    if (expect->kind == YAML_MAPPING && expect->n == 0)
        reader_error(&run->reader, expect, "a case needs something to expect");
    check_verdicts(&check, expected.nodes, /* is_observed= */ false);
    check_verdicts(&check, expected.observed, /* is_observed= */ true);
    check_best(&check, expected.best);
    check_ranking(&check, expected.ranking);
    if (expected.scores && reader_mapping(&run->reader, expected.scores, "scores"))
        for (size_t i = 0; i < expected.scores->n; i++)
            check_score(&check, &expected.scores->pairs[i]);
    return arena_has_failed(run->arena) ? -ENOMEM : 0;
}
