/*
 * From policy files to a program: read every document, check what spans several
 * of them, number the rules.
 */

#include "policy/program.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/map.h"
#include "base/utf8.h"
#include "base/vec.h"

#define POLICY_API_VERSION "berth.dev/v1alpha1"
#define POLICY_KIND "PlacementPolicy"
#define POLICY_NAME_MAX 63u

/* Goes into kube-scheduler's events, which are cut at 1,024 bytes for all nodes
 * together. */
#define REASON_MAX 200u

/* Of one policy. */
#define BIND_ANNOTATIONS_MAX 32u

typedef VEC(Policy) Policies;

typedef struct Compiling {
    Program *program;
    DiagList *diags;
    Policies policies;
} Compiling;

/* --- names ---------------------------------------------------------------- */

static bool is_name(Str name) {
    if (name.len == 0 || name.len > POLICY_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                c == '-' || c == '_' || c == '.'))
            return false;
    }
    return true;
}

static void read_name(PolicyReader *reader, const YamlNode *value, void *into) {
    Str name;

    if (!reader_string(reader, value, "name", &name))
        return;
    if (is_name(name))
        *(Str *)into = name;
    else
        reader_error_hint(reader,
            value,
            STR("letters, digits, '-', '_' and '.', at most 63 characters"),
            "\"%.*s\" is not a name",
            STR_FMT(name));
}

/* --- rules ---------------------------------------------------------------- */

/* What a rule may say besides its kind; filters and scores use their part of it. */
typedef struct RuleFields {
    Str name;
    Str reason;
    bool is_unresolvable;
    double weight;
} RuleFields;

static void read_rule_name(PolicyReader *reader, const YamlNode *value, void *into) {
    read_name(reader, value, &((RuleFields *)into)->name);
}

static bool is_plain_text(Str text) {
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7f)
            return false;
    return utf8_valid_length(text) == text.len;
}

static void read_reason(PolicyReader *reader, const YamlNode *value, void *into) {
    RuleFields *fields = into;

    if (!reader_string(reader, value, "reason", &fields->reason))
        return;
    if (str_is_empty(fields->reason) || fields->reason.len > REASON_MAX ||
        !is_plain_text(fields->reason))
        reader_error_hint(reader,
            value,
            STR("kube-scheduler groups nodes by this text and shows it in events"),
            "reason must be one line of 1 to %u bytes",
            REASON_MAX);
}

static void read_unresolvable(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader_bool(reader, value, "unresolvable", &((RuleFields *)into)->is_unresolvable);
}

static void read_weight(PolicyReader *reader, const YamlNode *value, void *into) {
    double weight;

    if (!reader_number(reader, value, "weight", 0, 1000000, &weight))
        return;
    if (weight == 0)
        reader_error_hint(
            reader, value, STR("leave the rule out instead"), "weight must be greater than 0");
    else
        ((RuleFields *)into)->weight = weight;
}

static const Field filter_fields[] = {
    {.name = STR("name"), .is_required = true, .read = read_rule_name},
    {.name = STR("reason"), .read = read_reason},
    {.name = STR("unresolvable"), .read = read_unresolvable},
    {.name = STR("expression"), .is_later = true},
    {.name = STR("messageExpression"), .is_later = true},
    {.name = STR("onError"), .is_later = true},
};

static const Field score_fields[] = {
    {.name = STR("name"), .is_required = true, .read = read_rule_name},
    {.name = STR("weight"), .read = read_weight},
    {.name = STR("expression"), .is_later = true},
    {.name = STR("onError"), .is_later = true},
    {.name = STR("normalize"), .is_later = true},
};

/* A rule is a mapping of common fields and exactly one more, which names its
 * kind. NULL when there is none. */
static const YamlPair *find_kind(PolicyReader *reader, const YamlNode *rule, const char *what,
    const Str *kinds, size_t n_kinds, size_t *ret_kind) {
    const YamlPair *first = NULL;

    for (size_t i = 0; i < rule->n; i++) {
        size_t kind = 0;

        while (kind < n_kinds && !str_eq(kinds[kind], rule->pairs[i].key->text))
            kind++;
        if (kind == n_kinds)
            continue;
        if (first) {
            reader_error_hint(reader,
                rule->pairs[i].key,
                STR("write two rules"),
                "%s has one kind, and \"%.*s\" is given already",
                what,
                STR_FMT(first->key->text));
        } else {
            first = &rule->pairs[i];
            *ret_kind = kind;
        }
    }
    return first;
}

/* Whether the mapping has a field that is unknown, or of a later version: then
 * "which kind?" would be noise on top of the error already given. */
static bool has_foreign_field(const YamlNode *rule, const Field *fields, size_t n_fields) {
    for (size_t i = 0; i < rule->n; i++) {
        bool is_own = false;

        for (size_t j = 0; j < n_fields; j++)
            is_own |= !fields[j].is_later && str_eq(fields[j].name, rule->pairs[i].key->text);
        if (!is_own)
            return true;
    }
    return false;
}

static void report_no_kind(PolicyReader *reader, const YamlNode *rule, const char *what,
    const Str *kinds, size_t n_kinds) {
    char hint[256] = "one of";
    size_t used = strlen(hint);

    for (size_t i = 0; i < n_kinds && used < sizeof(hint); i++)
        used += (size_t)snprintf(
            hint + used, sizeof(hint) - used, "%s %.*s", i ? "," : "", STR_FMT(kinds[i]));
    reader_error_hint(reader, rule, str_from_c(hint), "%s needs a kind", what);
}

/* The common fields into @into; the kind's index and value for the caller. False
 * when there is no kind. */
static bool read_rule(PolicyReader *reader, const YamlNode *rule, const char *what,
    const Field *fields, size_t n_fields, const Str *kinds, size_t n_kinds, RuleFields *into,
    size_t *ret_kind, const YamlNode **ret_value) {
    const YamlPair *kind;

    reader_fields_besides(reader, rule, what, fields, n_fields, kinds, n_kinds, into);
    if (rule->kind != YAML_MAPPING)
        return false;
    kind = find_kind(reader, rule, what, kinds, n_kinds, ret_kind);
    if (kind)
        *ret_value = kind->value;
    else if (!has_foreign_field(rule, fields, n_fields))
        report_no_kind(reader, rule, what, kinds, n_kinds);
    return kind != NULL;
}

static void read_filter(PolicyReader *reader, const YamlNode *rule, Policy *policy) {
    Filter *filter = &policy->filters[policy->n_filters];
    RuleFields fields = {0};
    const YamlNode *value = NULL;
    Str kinds[16] = {0};
    size_t kind = 0;

    assert(n_filter_kinds <= ELEMENTS_OF(kinds));
    for (size_t i = 0; i < n_filter_kinds; i++)
        kinds[i] = filter_kinds[i]->field;
    if (!read_rule(reader,
            rule,
            "a filter",
            filter_fields,
            ELEMENTS_OF(filter_fields),
            kinds,
            n_filter_kinds,
            &fields,
            &kind,
            &value))
        return;
    *filter = (Filter){
        .name = fields.name,
        .reason = fields.reason,
        .is_unresolvable = fields.is_unresolvable,
        .kind = filter_kinds[kind],
        .config = filter_kinds[kind]->read(reader, value),
    };
    if (str_is_empty(filter->reason))
        filter->reason =
            arena_printf(reader->arena, "rejected by placement rule %.*s", STR_FMT(fields.name));
    policy->n_filters++;
}

static void read_score(PolicyReader *reader, const YamlNode *rule, Policy *policy) {
    Score *score = &policy->scores[policy->n_scores];
    RuleFields fields = {.weight = 1};
    const YamlNode *value = NULL;
    Str kinds[16] = {0};
    size_t kind = 0;

    assert(n_score_kinds <= ELEMENTS_OF(kinds));
    for (size_t i = 0; i < n_score_kinds; i++)
        kinds[i] = score_kinds[i]->field;
    if (!read_rule(reader,
            rule,
            "a score",
            score_fields,
            ELEMENTS_OF(score_fields),
            kinds,
            n_score_kinds,
            &fields,
            &kind,
            &value))
        return;
    *score = (Score){
        .name = fields.name,
        .weight = fields.weight,
        .kind = score_kinds[kind],
        .config = score_kinds[kind]->read(reader, value),
    };
    policy->n_scores++;
}

/* --- the document ---------------------------------------------------------- */

static void read_mode(PolicyReader *reader, const YamlNode *value, void *into) {
    Policy *policy = into;
    Str mode;

    if (!reader_string(reader, value, "mode", &mode))
        return;
    if (str_is(mode, "Observe"))
        policy->is_observed = true;
    else if (!str_is(mode, "Enforce"))
        reader_error_hint(reader,
            value,
            STR("Enforce (the default), or Observe: record, do not act"),
            "unknown mode \"%.*s\"",
            STR_FMT(mode));
}

static void read_namespaces(PolicyReader *reader, const YamlNode *value, void *into) {
    Match *match = into;

    (void)reader_string_list(reader, value, "namespaces", &match->namespaces, &match->n_namespaces);
}

static void read_pod_selector(PolicyReader *reader, const YamlNode *value, void *into) {
    reader_selector(reader, value, &((Match *)into)->pod_selector);
}

static void read_match(PolicyReader *reader, const YamlNode *value, void *into) {
    static const Field fields[] = {
        {.name = STR("namespaces"), .read = read_namespaces},
        {.name = STR("podSelector"), .read = read_pod_selector},
        {.name = STR("expression"), .is_later = true},
    };

    reader_fields(reader, value, "match", fields, ELEMENTS_OF(fields), &((Policy *)into)->match);
}

static void read_filters(PolicyReader *reader, const YamlNode *value, void *into) {
    Policy *policy = into;

    if (!reader_sequence(reader, value, "filters"))
        return;
    policy->filters = ARENA_ARRAY(reader->arena, Filter, value->n);
    for (size_t i = 0; policy->filters && i < value->n; i++)
        read_filter(reader, value->items[i], policy);
}

static void read_scores(PolicyReader *reader, const YamlNode *value, void *into) {
    Policy *policy = into;

    if (!reader_sequence(reader, value, "scores"))
        return;
    policy->scores = ARENA_ARRAY(reader->arena, Score, value->n);
    for (size_t i = 0; policy->scores && i < value->n; i++)
        read_score(reader, value->items[i], policy);
}

/* Sorted by insertion: there are a handful. */
static void add_annotation(Labels *annotations, Label label) {
    Label *items = (Label *)(uintptr_t)annotations->items; /* read_annotations() made it */
    size_t at = annotations->n;

    for (size_t i = 0; i < annotations->n; i++) {
        if (str_eq(items[i].key, label.key)) {
            items[i] = label;
            return;
        }
    }
    while (at > 0 && str_cmp(items[at - 1].key, label.key) > 0) {
        items[at] = items[at - 1];
        at--;
    }
    items[at] = label;
    annotations->n++;
}

static void read_annotations(PolicyReader *reader, const YamlNode *value, void *into) {
    Labels *annotations = into;

    if (!reader_mapping(reader, value, "annotations"))
        return;
    if (value->n > BIND_ANNOTATIONS_MAX) {
        reader_error(reader, value, "at most %u annotations", BIND_ANNOTATIONS_MAX);
        return;
    }
    annotations->items = ARENA_ARRAY(reader->arena, Label, value->n);
    for (size_t i = 0; annotations->items && i < value->n; i++) {
        Label label = {.key = value->pairs[i].key->text};

        if (reader_annotation_key(reader, value->pairs[i].key) &&
            reader_label_value(
                reader, value->pairs[i].value, "an annotation's value", &label.value))
            add_annotation(annotations, label);
    }
}

static void read_bind(PolicyReader *reader, const YamlNode *value, void *into) {
    static const Field fields[] = {
        {.name = STR("annotations"), .is_required = true, .read = read_annotations},
    };

    reader_fields(
        reader, value, "bind", fields, ELEMENTS_OF(fields), &((Policy *)into)->bind_annotations);
}

static void read_spec(PolicyReader *reader, const YamlNode *value, void *into) {
    static const Field fields[] = {
        {.name = STR("mode"), .read = read_mode},
        {.name = STR("match"), .read = read_match},
        {.name = STR("filters"), .read = read_filters},
        {.name = STR("scores"), .read = read_scores},
        {.name = STR("bind"), .read = read_bind},
        {.name = STR("params"), .is_later = true},
        {.name = STR("metrics"), .is_later = true},
        {.name = STR("variables"), .is_later = true},
        {.name = STR("narrow"), .is_later = true},
    };
    Policy *policy = into;
    size_t n_errors = reader->diags->n_errors;

    reader_fields(reader, value, "spec", fields, ELEMENTS_OF(fields), policy);
    if (policy->n_filters + policy->n_scores + policy->bind_annotations.n == 0 &&
        reader->diags->n_errors == n_errors)
        reader_warning(reader,
            value,
            STR("add filters or scores"),
            "the policy has no rules and does nothing");
}

static void read_nothing(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader;
    (void)value;
    (void)into;
}

static void read_metadata(PolicyReader *reader, const YamlNode *value, void *into) {
    static const Field fields[] = {
        {.name = STR("name"), .is_required = true, .read = read_name},
        {.name = STR("labels"), .read = read_nothing},
        {.name = STR("annotations"), .read = read_nothing},
        {.name = STR("namespace"), .read = read_nothing},
    };

    reader_fields(reader, value, "metadata", fields, ELEMENTS_OF(fields), &((Policy *)into)->name);
}

static void read_constant(
    PolicyReader *reader, const YamlNode *value, const char *what, const char *wanted) {
    Str text;

    if (reader_string(reader, value, what, &text) && !str_is(text, wanted))
        reader_error(reader, value, "%s must be %s, not \"%.*s\"", what, wanted, STR_FMT(text));
}

static void read_api_version(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)into;
    read_constant(reader, value, "apiVersion", POLICY_API_VERSION);
}

static void read_kind(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)into;
    read_constant(reader, value, "kind", POLICY_KIND);
}

static void read_policy(PolicyReader *reader, const YamlNode *document, Policy *policy) {
    static const Field fields[] = {
        {.name = STR("apiVersion"), .is_required = true, .read = read_api_version},
        {.name = STR("kind"), .is_required = true, .read = read_kind},
        {.name = STR("metadata"), .is_required = true, .read = read_metadata},
        {.name = STR("spec"), .is_required = true, .read = read_spec},
    };
    const YamlNode *metadata;

    policy->place = document->place;
    reader_fields(reader, document, "a policy", fields, ELEMENTS_OF(fields), policy);
    metadata = yaml_find(document, STR("metadata"));
    if (yaml_find(metadata, STR("name")))
        policy->place = yaml_find(metadata, STR("name"))->place;
}

/* --- what spans several rules ---------------------------------------------- */

/* Rules of one policy are told apart by name, in metrics and explanations. @names
 * has the line of each. */
static int check_rule_names(PolicyReader *reader, const YamlNode *rules, Map *names) {
    for (size_t i = 0; rules && rules->kind == YAML_SEQUENCE && i < rules->n; i++) {
        const YamlNode *name = yaml_find(rules->items[i], STR("name"));
        uint32_t line;
        char hint[64];

        if (!name || !is_name(name->text))
            continue;
        line = map_find(names, name->text);
        if (line == MAP_NONE) {
            int r = map_add(names, name->text, (uint32_t)name->place.line);

            if (r < 0)
                return error_trace(r);
            continue;
        }
        (void)snprintf(hint, sizeof(hint), "the other is at line %u", line);
        reader_error_hint(reader,
            name,
            str_from_c(hint),
            "the policy has a rule named \"%.*s\" already",
            STR_FMT(name->text));
    }
    return 0;
}

static int check_all_rule_names(PolicyReader *reader, const YamlNode *document) {
    const YamlNode *spec = yaml_find(document, STR("spec"));
    Map names = MAP_INIT_IN(reader->arena);
    int r = check_rule_names(reader, yaml_find(spec, STR("filters")), &names);

    if (r == 0)
        r = check_rule_names(reader, yaml_find(spec, STR("scores")), &names);
    return error_trace(r);
}

static void check_policy_name(Compiling *compiling, Str source, const Policy *policy) {
    char hint[512];

    for (size_t i = 0; i < compiling->policies.n; i++) {
        const Policy *other = &compiling->policies.items[i];

        if (str_is_empty(policy->name) || !str_eq(other->name, policy->name))
            continue;
        (void)snprintf(hint,
            sizeof(hint),
            "the other is at %.*s:%zu",
            STR_FMT(other->place.file),
            other->place.line);
        diag_add(compiling->diags,
            DIAG_ERROR,
            policy->place,
            source,
            arena_printf(compiling->program->arena,
                "there are two policies named \"%.*s\"",
                STR_FMT(policy->name)),
            str_from_c(hint));
        return;
    }
}

/* A file that was cut short while it was written must not pass for one without
 * rules: the policy that is in force would go. */
static void report_empty(Compiling *compiling, Str file) {
    diag_add(compiling->diags,
        DIAG_ERROR,
        (Place){.file = file},
        STR_NULL,
        STR("holds no policy"),
        STR("remove the file if that is meant"));
}

static int compile_source(Compiling *compiling, const PolicySource *source) {
    Arena *arena = compiling->program->arena;
    PolicySource kept = {
        .file = arena_copy(arena, source->file), .text = arena_copy(arena, source->text)};
    PolicyReader reader = {.arena = arena, .diags = compiling->diags, .source = kept.text};
    YamlStream stream = {0};
    int r;

    if (!kept.file.ptr || !kept.text.ptr)
        return error_origin(-ENOMEM);
    r = yaml_parse(kept.file, kept.text, arena, compiling->diags, &stream);
    if (r == -EINVAL)
        return 0; /* reported; other files are still worth reading */
    if (r < 0)
        return error_trace(r);
    if (stream.n_documents == 0)
        report_empty(compiling, kept.file);
    for (size_t i = 0; i < stream.n_documents; i++) {
        Policy policy = {0};
        Policy *added;

        read_policy(&reader, stream.documents[i], &policy);
        r = check_all_rule_names(&reader, stream.documents[i]);
        if (r < 0)
            return error_trace(r);
        check_policy_name(compiling, kept.text, &policy);
        added = VEC_PUSH(&compiling->policies, arena);
        if (!added)
            return error_origin(-ENOMEM);
        *added = policy;
    }
    return 0;
}

static size_t count_filters(const Policies *policies) {
    size_t n = 0;

    for (size_t i = 0; i < policies->n; i++)
        n += policies->items[i].n_filters;
    return n;
}

static size_t count_scores(const Policies *policies) {
    size_t n = 0;

    for (size_t i = 0; i < policies->n; i++)
        n += policies->items[i].n_scores;
    return n;
}

static void check_counts(Compiling *compiling, size_t n_filters, size_t n_scores) {
    if (n_filters > PROGRAM_FILTERS_MAX)
        diag_addf(compiling->diags,
            DIAG_ERROR,
            (Place){0},
            STR_NULL,
            "there are %zu filters, and the limit is %u",
            n_filters,
            PROGRAM_FILTERS_MAX);
    if (n_scores > PROGRAM_SCORES_MAX)
        diag_addf(compiling->diags,
            DIAG_ERROR,
            (Place){0},
            STR_NULL,
            "there are %zu scores, and the limit is %u",
            n_scores,
            PROGRAM_SCORES_MAX);
}

/* Gives every rule its number; unresolvable filters first (program.h says why). */
static int number_rules(Compiling *compiling) {
    Program *program = compiling->program;
    Policies *policies = &compiling->policies;

    program->filters = ARENA_ARRAY(program->arena, const Filter *, count_filters(policies));
    program->scores = ARENA_ARRAY(program->arena, const Score *, count_scores(policies));
    if (!program->filters || !program->scores)
        return error_origin(-ENOMEM);
    for (int unresolvable = 1; unresolvable >= 0; unresolvable--) {
        for (size_t i = 0; i < policies->n; i++) {
            Policy *policy = &policies->items[i];

            for (size_t j = 0; j < policy->n_filters; j++) {
                if (policy->filters[j].is_unresolvable != unresolvable)
                    continue;
                policy->filters[j].policy = policy;
                policy->filters[j].number = (uint16_t)program->n_filters;
                program->filters[program->n_filters++] = &policy->filters[j];
            }
        }
    }
    for (size_t i = 0; i < policies->n; i++) {
        for (size_t j = 0; j < policies->items[i].n_scores; j++) {
            Score *score = &policies->items[i].scores[j];

            score->policy = &policies->items[i];
            score->number = (uint16_t)program->n_scores;
            program->scores[program->n_scores++] = score;
        }
    }
    program->policies = policies->items;
    program->n_policies = policies->n;
    return 0;
}

static int parts_of(const NodeNeeds *needs, NodeParts *ret) {
    *ret = (NodeParts){
        .labels = needs->labels.items,
        .n_labels = needs->labels.n,
        .taints = needs->taints,
        .conditions = needs->conditions,
        .allocatable = needs->allocatable,
    };
    return needs->has_failed ? error_origin(-ENOMEM) : 0;
}

/* What has to be read of Node objects that a request carries. */
static int collect_parts(Program *program) {
    NodeNeeds filters = {.arena = program->arena}, scores = {.arena = program->arena};
    int r;

    for (size_t i = 0; i < program->n_filters; i++)
        if (program->filters[i]->kind->needs)
            program->filters[i]->kind->needs(program->filters[i]->config, &filters);
    for (size_t i = 0; i < program->n_scores; i++)
        if (program->scores[i]->kind->needs)
            program->scores[i]->kind->needs(program->scores[i]->config, &scores);
    r = parts_of(&filters, &program->filter_parts);
    if (r == 0)
        r = parts_of(&scores, &program->score_parts);
    return error_trace(r);
}

static int compile_sources(Compiling *compiling, const PolicySource *sources, size_t n_sources) {
    for (size_t i = 0; i < n_sources; i++) {
        int r = compile_source(compiling, &sources[i]);

        if (r < 0)
            return error_trace(r);
    }
    check_counts(
        compiling, count_filters(&compiling->policies), count_scores(&compiling->policies));
    return 0;
}

/* Reading goes on where an allocation fails, so nothing that was read can be trusted
 * then: half a list of values is another rule. */
static bool has_run_out(const Compiling *compiling) {
    if (!arena_has_failed(compiling->program->arena))
        return false;
    diag_addf(compiling->diags,
        DIAG_ERROR,
        (Place){0},
        STR_NULL,
        "the policies are too large: they need more than %zu MiB of memory",
        PROGRAM_BUDGET >> 20);
    return true;
}

int program_compile(const PolicySource *sources, size_t n_sources, DiagList *diags, Program **ret) {
    _cleanup_(program_unrefp) Program *program = calloc(1, sizeof(*program));
    Compiling compiling = {.program = program, .diags = diags};
    int r;

    if (!program)
        return error_origin(-ENOMEM);
    program->ref = REF_ONE;
    program->arena = arena_new(PROGRAM_BUDGET);
    if (!program->arena)
        return error_origin(-ENOMEM);
    r = compile_sources(&compiling, sources, n_sources);
    if (r == 0 && diags->n_errors == 0)
        r = number_rules(&compiling);
    if (r == 0 && diags->n_errors == 0)
        r = collect_parts(program);
    if (has_run_out(&compiling) || diags->n_errors > 0)
        return PROGRAM_E_INVALID;
    if (r < 0)
        return error_trace(r);
    *ret = TAKE_PTR(program);
    return 0;
}

Program *program_ref(Program *program) {
    ref_take(&program->ref);
    return program;
}

Program *program_unref(Program *program) {
    if (program && ref_drop(&program->ref)) {
        arena_free(program->arena);
        free(program);
    }
    return NULL;
}

bool policy_matches(const Policy *policy, const Pod *pod) {
    const Match *match = &policy->match;
    bool in_namespace = match->n_namespaces == 0;

    for (size_t i = 0; i < match->n_namespaces && !in_namespace; i++)
        in_namespace = str_eq(match->namespaces[i], pod->namespace);
    return in_namespace && selector_matches(&match->pod_selector, &pod->labels);
}

int program_bind_annotations(const Program *program, const Pod *pod, Arena *arena, Labels *ret) {
    size_t n_max = 0;

    for (size_t i = 0; i < program->n_policies; i++)
        n_max += program->policies[i].bind_annotations.n;
    *ret = (Labels){.items = ARENA_ARRAY(arena, Label, n_max)};
    if (!ret->items)
        return error_origin(-ENOMEM);
    for (size_t i = 0; n_max > 0 && i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];

        if (policy->is_observed || !policy_matches(policy, pod))
            continue;
        for (size_t j = 0; j < policy->bind_annotations.n; j++)
            add_annotation(ret, policy->bind_annotations.items[j]);
    }
    return 0;
}
