/*
 * Lines of a journal: 16 hexadecimal digits of a checksum, a space, and a JSON object with one of
 *
 *   form      the version of the format: the first line of a file
 *   rules     the names of the filters of program number @program
 *   nodes     names of list number @list, for numbers from @first on
 *   decision  a summary, of a program; "columns" has the outcomes of a list's nodes as base64
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/base64.h"
#include "history/journal-internal.h"
#include "history/journal.h"
#include "json/fields.h"
#include "json/write.h"

#define SUM_DIGITS 16u

void journal_context_reset(JournalContext *context) {
    context->rule_names = rule_names_unref(context->rule_names);
    context->node_numbers = node_numbers_unref(context->node_numbers);
    context->n_names = 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Makes room for the checksum; returns the index where the object starts. */
static size_t begin_line(Buf *out) {
    buf_append_repeat(out, '0', SUM_DIGITS);
    buf_append_char(out, ' ');
    return out->len;
}

static void end_line(Buf *out, size_t start) {
    char sum[SUM_DIGITS + 1];

    if (buf_error(out))
        return;
    (void)snprintf(sum, sizeof(sum), "%016" PRIx64,
        digest_of(str_of(out->data + start, out->len - start)).low);
    memcpy(out->data + start - SUM_DIGITS - 1, sum, SUM_DIGITS);
    buf_append_char(out, '\n');
}

void journal_line_head(Buf *out) {
    size_t start = begin_line(out);

    buf_printf(out, "{\"form\":%d}", JOURNAL_FORM);
    end_line(out, start);
}

static void write_rules(const JournalContext *context, Buf *out) {
    const RuleNames *rule_names = context->rule_names;
    JsonWriter writer = JSON_WRITER(out);
    char digest[DIGEST_TEXT_MAX];
    size_t start = begin_line(out);

    json_write(&writer, "{digest: %s, program: %jd, rules: [",
        digest_print(rule_names->digest, digest), context->program);
    for (size_t i = 0; i < rule_names->n_rules; i++) {
        const RuleName *rule = &rule_names->rules[i];

        json_write(&writer,
            "{policy: %.*s, name: %.*s, reason: %.*s, unresolvable: %i, permanent: %i}",
            STR_FMT(rule->policy), STR_FMT(rule->name), STR_FMT(rule->reason),
            rule->is_unresolvable, rule->is_permanent);
    }
    json_write(&writer, "]}");
    end_line(out, start);
}

/* Writes the names that @outcomes needs and the file lacks. */
static void write_names(JournalContext *context, Decisions *decisions, const Outcomes *outcomes,
    Arena *arena, Buf *out) {
    uint32_t highest = outcomes_highest(outcomes);
    JsonWriter writer = JSON_WRITER(out);
    const Str *names;
    size_t start;

    if (context->node_numbers != outcomes_numbers(outcomes)) {
        node_numbers_unref(context->node_numbers);
        context->node_numbers = node_numbers_ref(outcomes_numbers(outcomes));
        context->n_names = 0;
        context->list++;
    } else if (highest <= context->n_names) {
        return;
    }
    names = decisions_names(decisions, outcomes, arena);
    if (!names) {
        out->error = -ENOMEM;
        return;
    }
    start = begin_line(out);
    json_write(&writer, "{list: %jd, first: %u, nodes: [", context->list, context->n_names + 1);
    for (; context->n_names < highest; context->n_names++)
        json_write_string(&writer, names[context->n_names]);
    json_write(&writer, "]}");
    end_line(out, start);
}

static void write_counts(const PastDecision *past, JsonWriter *writer) {
    const DecisionSummary *summary = &past->summary;

    json_write(writer,
        "in: %zu, out: %zu, rejected: %zu, unknown: %zu, narrowed: %zu, late: %zu, unjudged: %zu, "
        "rules: [",
        summary->n_in, summary->n_out, summary->n_rejected, summary->n_unknown, summary->n_narrowed,
        summary->n_late, summary->n_unjudged);
    for (size_t i = 0; i < past->n_rules; i++) {
        const RuleCount *rule = &past->rules[i];

        json_write(writer, "[%u, %u, %u, %u, %u]", rule->number, rule->rejected, rule->observed,
            rule->failed, rule->missing);
    }
    json_write_end_array(writer);
}

static void write_outcomes(const Outcomes *outcomes, JsonWriter *writer) {
    OutcomesColumns columns = outcomes_columns(outcomes);

    json_write(writer, "entries: %zu, listed: %i, ranked: %i, scored: %i, columns: ", columns.n,
        columns.has_numbers, columns.has_places, columns.has_scores);
    json_write_raw(writer, STR("\"")); /* base64 needs no escapes */
    base64_encode(columns.bytes, writer->out);
    buf_append_char(writer->out, '"');
}

static void write_decision(const JournalContext *context, const FoundDecision *found, Buf *out) {
    const PastDecision *past = found->past;
    const MainReason *main = past_main(past);
    JsonWriter writer = JSON_WRITER(out);
    char digest[DIGEST_TEXT_MAX];
    size_t start = begin_line(out);

    json_write(&writer,
        "{decision: {id: %zu, program: %jd, list: %jd, verb: %s, at: %jd, duration: %jd", past->id,
        context->program, context->list, verb_name(past->verb), past->at_nsec, past->duration_nsec);
    json_write(&writer, "namespace: %.*s, pod: %.*s, uid: %.*s, node: %.*s, nominated?: %.*s",
        STR_FMT(past->pod_namespace), STR_FMT(past->pod_name), STR_FMT(past->pod_uid),
        STR_FMT(past->node), STR_FMT(past->nominated));
    json_write(&writer,
        "error: %.*s, digest: %s, generation: %zu, known: %zu, exempt: %i, names: %i",
        STR_FMT(past->error), digest_print(past->pod_digest, digest), past->generation,
        past->n_known, past->is_exempt, past->had_names);
    write_counts(past, &writer);
    if (main)
        json_write(&writer,
            "main: {rule: %u, nodes: %u, neverRule: %u, neverResource: %.*s, never: %u}",
            main->filter, main->n_nodes, main->never_filter, STR_FMT(main->never_resource),
            main->n_never);
    if (found->outcomes)
        write_outcomes(found->outcomes, &writer);
    json_write(&writer, "}}");
    end_line(out, start);
}

void journal_line_decision(JournalContext *context, Decisions *decisions,
    const FoundDecision *found, Arena *arena, Buf *out) {
    RuleNames *rule_names = found->past->rule_names;

    if (context->rule_names != rule_names) {
        rule_names_unref(context->rule_names);
        context->rule_names = rule_names_ref(rule_names);
        context->program++;
        write_rules(context, out);
    }
    if (found->outcomes)
        write_names(context, decisions, found->outcomes, arena, out);
    write_decision(context, found, out);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* A parsed line. */
typedef struct Line {
    int64_t form, program, list, first;
    Str digest;
    RuleName *rules;
    Str *nodes;
    size_t n_rules, n_nodes;
    PastDecision past; /* strings of the line */
    Str pod_digest;
    int64_t id;
    RuleCount *counts;
    size_t n_counts;
    bool has_too_many; /* rules or counts */
    struct {
        int64_t rule, n_nodes, never_rule, n_never;
        Str never_resource;
    } main;                  /* n_nodes 0: none */
    OutcomesColumns columns; /* bytes as base64; ptr NULL: none */
} Line;

static const JsonField rule_fields[] = {
    JSON_MEMBER("policy", TEXT, RuleName, policy),
    JSON_MEMBER("name", TEXT, RuleName, name),
    JSON_MEMBER("reason", TEXT, RuleName, reason),
    JSON_MEMBER("unresolvable", BOOL, RuleName, is_unresolvable),
    JSON_MEMBER("permanent", BOOL, RuleName, is_permanent),
};

static void read_count(JsonReader *reader, Arena *arena, void *target) {
    int64_t numbers[5] = {0};
    size_t n = 0;

    json_array(reader);
    for (; n < ELEMENTS_OF(numbers) && json_element(reader); n++) {
        json_int64(reader, &numbers[n]);
        if (numbers[n] < 0 || numbers[n] > (n == 0 ? UINT16_MAX : UINT32_MAX))
            json_fail(reader, JSON_E_RANGE, "a smaller number was expected");
    }
    if (n != ELEMENTS_OF(numbers) || json_element(reader))
        json_fail(reader, JSON_E_TYPE, "five numbers were expected");
    *(RuleCount *)target = (RuleCount){
        .number = (uint16_t)numbers[0],
        .rejected = (uint32_t)numbers[1],
        .observed = (uint32_t)numbers[2],
        .failed = (uint32_t)numbers[3],
        .missing = (uint32_t)numbers[4],
    };
}

static const JsonField decision_fields[] = {
    JSON_MEMBER("id", INT, Line, id),
    JSON_MEMBER("program", INT, Line, program),
    JSON_MEMBER("list", INT, Line, list),
    JSON_CUSTOM("verb", Line, past.verb, verb_decode),
    JSON_MEMBER("at", INT, Line, past.at_nsec),
    JSON_MEMBER("duration", INT, Line, past.duration_nsec),
    JSON_MEMBER("namespace", TEXT, Line, past.pod_namespace),
    JSON_MEMBER("pod", TEXT, Line, past.pod_name),
    JSON_MEMBER("uid", TEXT, Line, past.pod_uid),
    JSON_MEMBER("node", TEXT, Line, past.node),
    JSON_MEMBER("nominated", TEXT, Line, past.nominated),
    JSON_MEMBER("error", TEXT, Line, past.error),
    JSON_MEMBER("digest", TEXT, Line, pod_digest),
    JSON_MEMBER("generation", COUNT, Line, past.generation),
    JSON_MEMBER("known", COUNT, Line, past.n_known),
    JSON_MEMBER("exempt", BOOL, Line, past.is_exempt),
    JSON_MEMBER("names", BOOL, Line, past.had_names),
    JSON_MEMBER("in", COUNT, Line, past.summary.n_in),
    JSON_MEMBER("out", COUNT, Line, past.summary.n_out),
    JSON_MEMBER("rejected", COUNT, Line, past.summary.n_rejected),
    JSON_MEMBER("unknown", COUNT, Line, past.summary.n_unknown),
    JSON_MEMBER("narrowed", COUNT, Line, past.summary.n_narrowed),
    JSON_MEMBER("late", COUNT, Line, past.summary.n_late),
    JSON_MEMBER("unjudged", COUNT, Line, past.summary.n_unjudged),
    JSON_LIST_CUT("rules", Line, counts, n_counts, has_too_many, PROGRAM_FILTERS_MAX, read_count),
    JSON_MEMBER("main.rule", INT, Line, main.rule),
    JSON_MEMBER("main.nodes", INT, Line, main.n_nodes),
    JSON_MEMBER("main.neverRule", INT, Line, main.never_rule),
    JSON_MEMBER("main.neverResource", TEXT, Line, main.never_resource),
    JSON_MEMBER("main.never", INT, Line, main.n_never),
    JSON_MEMBER("entries", COUNT, Line, columns.n),
    JSON_MEMBER("listed", BOOL, Line, columns.has_numbers),
    JSON_MEMBER("ranked", BOOL, Line, columns.has_places),
    JSON_MEMBER("scored", BOOL, Line, columns.has_scores),
    JSON_MEMBER("columns", TEXT, Line, columns.bytes),
};

static bool parse(Str text, Arena *arena, Line *ret) {
    static const JsonField fields[] = {
        JSON_MEMBER("form", INT, Line, form),
        JSON_MEMBER("digest", TEXT, Line, digest),
        JSON_LIST_CUT("rules", Line, rules, n_rules, has_too_many, PROGRAM_FILTERS_MAX, NULL,
            JSON_FIELDS(rule_fields)),
        JSON_MEMBER("program", INT, Line, program),
        JSON_MEMBER("list", INT, Line, list),
        JSON_MEMBER("first", INT, Line, first),
        JSON_LIST("nodes", Line, nodes, n_nodes, SIZE_MAX, json_read_text),
        {"decision", JSON_FIELD_CUSTOM, JSON_FIELDS(decision_fields)},
    };

    return JSON_READ_DOCUMENT(text, arena, fields, ret) && !ret->has_too_many;
}

static bool take_rules(JournalContext *context, const Line *line) {
    Digest digest;

    rule_names_unref(context->rule_names);
    context->rule_names = digest_parse(line->digest, &digest)
                              ? rule_names_load(line->rules, line->n_rules, digest)
                              : NULL;
    context->program = line->program;
    return context->rule_names != NULL;
}

/* Numbers must not change: a duplicate name would shift all later ones. */
static bool take_nodes(JournalContext *context, const Line *line) {
    if (line->first == 1) {
        node_numbers_unref(context->node_numbers);
        context->node_numbers = node_numbers_new();
        context->list = line->list;
    }
    if (!context->node_numbers || context->list != line->list ||
        line->first != (int64_t)node_numbers_size(context->node_numbers) + 1)
        return false;
    for (size_t i = 0; i < line->n_nodes; i++)
        if (node_numbers_add(context->node_numbers, line->nodes[i]) != line->first + (int64_t)i)
            return false;
    return true;
}

static Outcomes *load_outcomes(const JournalContext *context, const Line *line) {
    _cleanup_(buf_done) Buf bytes = BUF_INIT(JOURNAL_LINE_MAX);
    OutcomesColumns columns = line->columns;

    if (!line->columns.bytes.ptr || !context->node_numbers || context->list != line->list ||
        !base64_decode(line->columns.bytes, &bytes) || buf_error(&bytes))
        return NULL;
    columns.bytes = buf_str(&bytes);
    return outcomes_load(&columns, line->n_counts, context->node_numbers);
}

static bool is_decision(const JournalContext *context, const Line *line) {
    const PastDecision *past = &line->past;

    if (!context->rule_names || context->program != line->program ||
        past->pod_namespace.len > PAST_NAME_MAX || past->pod_name.len > PAST_NAME_MAX ||
        past->pod_uid.len > PAST_UID_MAX || past->node.len > PAST_NAME_MAX ||
        past->error.len > PAST_ERROR_MAX)
        return false;
    for (size_t i = 0; i < line->n_counts; i++)
        if (line->counts[i].number >= context->rule_names->n_rules)
            return false;
    return true;
}

static bool is_below(int64_t number, size_t limit) {
    return number >= 0 && (uint64_t)number < limit;
}

/* Without a valid main reason pages use the counts. */
static void take_main(const JournalContext *context, const Line *line, PastDecision *past) {
    size_t n_rules = context->rule_names->n_rules, n_in = past->summary.n_in;

    if (line->main.n_nodes <= 0 || !is_below(line->main.rule, n_rules) ||
        !is_below(line->main.never_rule, n_rules) || !is_below(line->main.n_nodes, n_in + 1) ||
        !is_below(line->main.n_never, n_in + 1 - (size_t)line->main.n_nodes))
        return;
    (void)past_set_main(past, &(MainReason){
                                  .n_nodes = (uint32_t)line->main.n_nodes,
                                  .filter = (uint16_t)line->main.rule,
                                  .never_filter = (uint16_t)line->main.never_rule,
                                  .never_resource = line->main.never_resource,
                                  .n_never = (uint32_t)line->main.n_never,
                              });
}

/* A decision without its outcomes still has a useful summary. */
static bool take_decision(const JournalContext *context, Line *line, Decisions *decisions) {
    PastDecision *past;

    if (!is_decision(context, line) || !digest_parse(line->pod_digest, &line->past.pod_digest))
        return false;
    line->past.id = (uint64_t)line->id;
    line->past.rule_names = context->rule_names;
    past = past_load(&line->past, line->counts, line->n_counts);
    if (!past)
        return false;
    take_main(context, line, past);
    decisions_restore(decisions, past, load_outcomes(context, line));
    return true;
}

static bool has_sum(Str line) {
    char sum[SUM_DIGITS + 1];

    if (line.len <= SUM_DIGITS || line.ptr[SUM_DIGITS] != ' ')
        return false;
    (void)snprintf(sum, sizeof(sum), "%016" PRIx64, digest_of(str_skip(line, SUM_DIGITS + 1)).low);
    return memcmp(line.ptr, sum, SUM_DIGITS) == 0;
}

bool journal_line_read(JournalContext *context, Str text, Arena *arena, Decisions *decisions) {
    Line line = {0};

    if (!has_sum(text) || !parse(str_skip(text, SUM_DIGITS + 1), arena, &line))
        return false;
    if (line.id > 0)
        return take_decision(context, &line, decisions);
    if (line.first > 0)
        return take_nodes(context, &line);
    if (line.digest.ptr)
        return take_rules(context, &line);
    return line.form == JOURNAL_FORM;
}
