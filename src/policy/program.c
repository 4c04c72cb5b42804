/* Compiles policy files to a program: reads each document, checks across documents, numbers the
 * rules, puts all expressions into one graph and plans it. */

#include "policy/program.h"

#include <errno.h>
#include <stdlib.h>

#include "policy/lint.h"

typedef VEC(Policy) Policies;

typedef struct ProgramCompiler {
    Program *program;
    DiagList *diags;
    Policies policies;
    size_t n_filters, n_scores; /* of all policies */
    ScopeCommon common;
} ProgramCompiler;

/* --- reading ------------------------------------------------------------------ */

static void check_policy_name(ProgramCompiler *compiler, Str source, const Policy *policy) {
    Arena *arena = compiler->program->arena;

    for (size_t i = 0; i < compiler->policies.n; i++) {
        const Policy *other = &compiler->policies.items[i];

        if (str_is_empty(policy->name) || !str_eq(other->name, policy->name))
            continue;
        diag_add(compiler->diags, DIAG_ERROR, policy->place, source,
            arena_printf(arena, "there are two policies named \"%.*s\"", STR_FMT(policy->name)),
            arena_printf(
                arena, "the other is at %.*s:%zu", STR_FMT(other->place.file), other->place.line));
        return;
    }
}

static void compile_document(
    ProgramCompiler *compiler, YamlReader *reader, const YamlNode *document) {
    size_t n_errors = compiler->diags->n_errors;
    Policy policy = {0};

    policy_read(reader, compiler->program->schema, &compiler->common, document, &policy);
    policy.source = reader->source;
    policy.document = document;
    check_policy_name(compiler, reader->source, &policy);
    if (compiler->diags->n_errors == n_errors && !arena_has_failed(reader->arena))
        lint_policy(reader, document, &policy);
    (void)VEC_ADD(&compiler->policies, reader->arena, policy);
    compiler->n_filters += policy.n_filters;
    compiler->n_scores += policy.n_scores;
}

static int compile_source(ProgramCompiler *compiler, const PolicySource *source) {
    Arena *arena = compiler->program->arena;
    Str file = arena_copy(arena, source->file), text = arena_copy(arena, source->text);
    YamlReader reader = {.arena = arena, .diags = compiler->diags, .source = text};
    YamlStream stream = {0};
    size_t n_before = compiler->diags->diags.n;

    if (arena_has_failed(arena))
        return -ENOMEM;
    if (source->tree) {
        stream = *source->tree;
        reader.source = stream.source;
    } else {
        int r = yaml_parse(file, text, arena, compiler->diags, &stream);

        if (r < 0)
            return r == -EINVAL ? 0 : r; /* already reported; continue with other files */
    }
    /* An empty file is an error: it may be incomplete because it is being written, and without
     * rules it would replace the policy in force. */
    if (stream.n_documents == 0)
        diag_add(compiler->diags, DIAG_ERROR, (Place){.file = file}, STR_NULL,
            STR("contains no policy"), STR("remove the file if this is intended"));
    for (size_t i = 0; i < stream.n_documents; i++)
        compile_document(compiler, &reader, stream.documents[i]);
    diag_list_sort(compiler->diags, n_before);
    return 0;
}

static void check_limits(const ProgramCompiler *compiler) {
    static const char format[] = "there are %zu %s, and the limit is %u";
    const Place nowhere = {0};

    if (compiler->n_filters > PROGRAM_FILTERS_MAX)
        diag_addf(compiler->diags, DIAG_ERROR, nowhere, STR_NULL, format, compiler->n_filters,
            "filters", PROGRAM_FILTERS_MAX);
    if (compiler->n_scores > PROGRAM_SCORES_MAX)
        diag_addf(compiler->diags, DIAG_ERROR, nowhere, STR_NULL, format, compiler->n_scores,
            "scores", PROGRAM_SCORES_MAX);
    if (compiler->common.has_too_many)
        diag_addf(compiler->diags, DIAG_ERROR, nowhere, STR_NULL,
            "there are more than %u different metrics in all policies", SCOPE_GAUGES_MAX);
}

/* Numbers the rules, unresolvable filters first (see program.h). */
static int number_rules(ProgramCompiler *compiler) {
    Program *program = compiler->program;
    Policies *policies = &compiler->policies;

    program->filters = ARENA_ARRAY(program->arena, const Filter *, compiler->n_filters);
    program->scores = ARENA_ARRAY(program->arena, const Score *, compiler->n_scores);
    if (!program->filters || !program->scores)
        return -ENOMEM;
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
    program->gauges = compiler->common.gauges.items;
    program->n_gauges = compiler->common.gauges.n;
    program->n_slots = compiler->common.next_slot;
    return 0;
}

/* --- one graph, one plan --------------------------------------------------------- */

/* Collects the roots of a plan. */
typedef struct Roots {
    uint32_t *nodes;
    size_t n;
} Roots;

static uint32_t add_root(Roots *roots, uint32_t node) {
    roots->nodes[roots->n] = node;
    return (uint32_t)roots->n++;
}

/* The part of a condition that reads only the node, below any && and ||: B in `pod.x || B`; the
 * topmost, or CEL_NO_NODE. When it becomes true, the node may have become eligible for pending pods
 * (live/wakeup.c). */
static uint32_t find_part(const CelGraph *graph, uint32_t node) {
    const CelGraphNode *whole = cel_graph_node(graph, node);

    while (whole->op == OP_OR || whole->op == OP_AND) {
        const CelGraphNode *next = NULL;

        for (uint32_t i = 0; i < 2; i++) {
            const CelGraphNode *side = cel_graph_node(graph, whole->args[i]);

            if (side->groups == SCHEMA_BIT(SCHEMA_NODE) && side->type->kind == CEL_T_BOOL)
                return whole->args[i];
            if (side->groups & SCHEMA_BIT(SCHEMA_NODE))
                next = side;
        }
        if (!next)
            break;
        whole = next;
    }
    return CEL_NO_NODE;
}

/* Adds @expression, if it is given, to the graph, and to @roots (may be NULL). Does nothing if *@r
 * is already an error. */
static void lower(
    Program *program, Expression *expression, Roots *roots, uint32_t *ret_root, int *r) {
    if (*r < 0 || !expression_is_given(expression))
        return;
    program->groups |= expression->groups;
    *r = expression_lower(expression, program->graph);
    if (*r == 0 && roots)
        *ret_root = add_root(roots, expression->node);
}

static void lower_filter(Program *program, Filter *filter, Roots *roots, int *r) {
    uint32_t part;

    lower(program, &filter->test, roots, &filter->root, r);
    if (*r < 0)
        return;
    part = find_part(program->graph, filter->test.node);
    if (filter->test.groups != SCHEMA_BIT(SCHEMA_NODE) && part != CEL_NO_NODE)
        filter->part = add_root(roots, part);
    lower(program, &filter->missing, roots, &filter->missing_root, r);
}

/* Bind annotations have no root, since the scalar machine computes them. They are lowered to update
 * program->groups. */
static int lower_policy(Program *program, Policy *policy, Roots *roots) {
    Match *match = &policy->match;
    int r = scope_lower(policy->scope, program->graph);

    lower(program, &match->namespace_test, roots, &match->namespace_root, &r);
    lower(program, &match->expression, roots, &match->root, &r);
    for (size_t i = 0; i < policy->n_filters; i++)
        lower_filter(program, &policy->filters[i], roots, &r);
    for (size_t i = 0; i < policy->n_scores; i++) {
        Score *score = &policy->scores[i];

        lower(program, &score->value, roots, &score->root, &r);
        lower(program, &score->missing, roots, &score->missing_root, &r);
    }
    for (size_t i = 0; i < policy->n_bind_annotations; i++)
        lower(program, &policy->bind_annotations[i].expression, NULL, NULL, &r);
    return r;
}

static int plan(ProgramCompiler *compiler) {
    Program *program = compiler->program;
    Policies *policies = &compiler->policies;
    size_t n_max = 3 * program->n_filters + 2 * program->n_scores + 2 * policies->n;
    Roots roots = {.nodes = ARENA_ARRAY(program->arena, uint32_t, n_max)};
    int r = 0;

    program->graph = cel_graph_new(program->arena, program->arena);
    if (!program->graph || !roots.nodes)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < policies->n; i++)
        r = lower_policy(program, &policies->items[i], &roots);
    if (r == 0)
        r = plan_new(program->graph, roots.nodes, roots.n, &program->schema->host, program->arena,
            &program->plan);
    return r;
}

/* Sets is_known, is_permanent and counts_pods of filters. */
static int note_filters(ProgramCompiler *compiler) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(PROGRAM_BUDGET);
    const Program *program = compiler->program;
    const uint8_t *dependence =
        scratch ? schema_dependence(program->schema, program->graph, scratch) : NULL;

    if (!dependence)
        return -ENOMEM;
    for (size_t i = 0; i < compiler->policies.n; i++) {
        Policy *policy = &compiler->policies.items[i];

        for (size_t j = 0; j < policy->n_filters; j++) {
            Filter *filter = &policy->filters[j];

            filter->is_known = plan_frequency(program->plan, filter->root) == PLAN_PRECOMPUTED;
            policy->has_known |= filter->is_known;
            filter->is_permanent = filter->is_unresolvable || schema_is_permanent(program->graph,
                                                                  dependence, filter->test.node);
            filter->counts_pods = schema_counts_pods(program->graph, dependence, filter->test.node);
        }
    }
    return 0;
}

static void lint_plans(const ProgramCompiler *compiler) {
    Program *program = compiler->program;

    for (size_t i = 0; i < compiler->policies.n; i++) {
        YamlReader reader = {.arena = program->arena,
            .diags = compiler->diags,
            .source = compiler->policies.items[i].source};

        lint_plan(&reader, &compiler->policies.items[i], program->graph, program->plan);
    }
    diag_list_sort(compiler->diags, 0);
}

/* Adds the parts of a node that gauges need. */
static void need_gauges(const Program *program, NodeParts *parts) {
    for (size_t i = 0; i < program->n_gauges; i++) {
        const GaugePlacements *placements = &program->gauges[i].placements;

        parts->rest |= program->gauges[i].source == GAUGE_ANNOTATION;
        parts->allocatable |= placements->is_counted && placements->unit != GAUGE_AMOUNT;
    }
}

/* Finds the parts of Node objects in a request that must be decoded. */
static int collect_parts(const ProgramCompiler *compiler) {
    Program *program = compiler->program;
    Arena *arena = program->arena;
    bool is_narrowing = false; /* then filter needs the scores of all policies */
    size_t n_max = program->n_filters + program->n_scores;
    Roots filters = {.nodes = ARENA_ARRAY(arena, uint32_t, n_max)};
    Roots scores = {.nodes = ARENA_ARRAY(arena, uint32_t, program->n_scores)};
    SchemaNeeds of_filters = {.arena = arena}, of_scores = {.arena = arena};

    if (!filters.nodes || !scores.nodes)
        return -ENOMEM;
    for (size_t i = 0; i < program->n_policies; i++)
        is_narrowing |= program->policies[i].narrow_to > 0;
    for (size_t i = 0; i < program->n_filters; i++)
        (void)add_root(&filters, program->filters[i]->test.node);
    for (size_t i = 0; i < program->n_scores; i++) {
        (void)add_root(&scores, program->scores[i]->value.node);
        if (is_narrowing)
            (void)add_root(&filters, program->scores[i]->value.node);
    }
    schema_need(program->schema, program->graph, filters.nodes, filters.n, &of_filters);
    schema_need(program->schema, program->graph, scores.nodes, scores.n, &of_scores);
    program->filter_parts = of_filters.parts;
    program->score_parts = of_scores.parts;
    need_gauges(program, &program->filter_parts);
    need_gauges(program, &program->score_parts);
    program->needs = (ClusterNeeds){
        .node_details = compiler->common.needs.parts.details,
        .pods = schema_kept_pods(&compiler->common.needs),
    };
    return 0;
}

static void note_related(void *context, const Policy *policy, const Expression *expression) {
    Program *program = context;

    program->related |= schema_related(program->schema, expression->checked);
}

/* Makes the program, after all sources were read without errors. */
static int assemble(ProgramCompiler *compiler) {
    int r = number_rules(compiler);

    if (r == 0)
        r = plan(compiler);
    if (r == 0)
        r = collect_parts(compiler);
    if (r == 0)
        r = note_filters(compiler);
    if (r == 0)
        lint_plans(compiler);
    program_each_expression(compiler->program, note_related, compiler->program);
    return r;
}

static void visit_given(
    ProgramVisit *visit, void *context, const Policy *policy, const Expression *expression) {
    if (expression_is_given(expression))
        visit(context, policy, expression);
}

void program_each_expression(const Program *program, ProgramVisit *visit, void *context) {
    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];
        uint32_t n_variables = policy->scope ? policy->scope->variables_type.n_fields : 0;

        visit_given(visit, context, policy, &policy->match.namespace_test);
        visit_given(visit, context, policy, &policy->match.expression);
        for (size_t j = 0; j < n_variables; j++)
            visit_given(visit, context, policy, &policy->scope->variables[j].expression);
        for (size_t j = 0; j < policy->n_filters; j++) {
            visit_given(visit, context, policy, &policy->filters[j].test);
            visit_given(visit, context, policy, &policy->filters[j].message);
        }
        for (size_t j = 0; j < policy->n_scores; j++)
            visit_given(visit, context, policy, &policy->scores[j].value);
        for (size_t j = 0; j < policy->n_bind_annotations; j++)
            visit_given(visit, context, policy, &policy->bind_annotations[j].expression);
    }
}

static void note_longest(void *context, const Policy *policy, const Expression *expression) {
    const Expression **longest = context;

    if (!*longest || expression->text.len > (*longest)->text.len)
        *longest = expression;
}

int program_compile(const PolicySource *sources, size_t n_sources, DiagList *diags, Program **ret) {
    _cleanup_(program_unrefp) Program *program = calloc(1, sizeof(*program));
    ProgramCompiler compiler = {.program = program, .diags = diags};
    int r = 0;

    if (!program)
        return -ENOMEM;
    program->ref = REF_ONE;
    program->arena = arena_new(PROGRAM_BUDGET);
    compiler.common.needs.arena = program->arena;
    program->schema = program->arena ? schema_new(program->arena) : NULL;
    if (!program->schema)
        return -ENOMEM;
    compiler.common.next_slot = cel_env_n_slots(program->schema->env);
    for (size_t i = 0; i < n_sources; i++)
        program->digest = digest_chain(program->digest, sources[i].text);
    for (size_t i = 0; r == 0 && i < n_sources; i++)
        r = compile_source(&compiler, &sources[i]);
    program->policies = compiler.policies.items;
    program->n_policies = compiler.policies.n;
    if (r == 0)
        check_limits(&compiler);
    if (r == 0 && diags->n_errors == 0 && !arena_has_failed(program->arena))
        r = assemble(&compiler);
    if (r == -E2BIG || arena_limit_reached(program->arena) > 0) {
        const Expression *longest = NULL; /* the most likely cause */

        program_each_expression(program, note_longest, &longest);
        diag_addf(diags, DIAG_ERROR, longest ? longest->place : (Place){0}, STR_NULL,
            "the policies are too large: they need more than %zu MiB of memory%s",
            (r == -E2BIG ? PLAN_SCRATCH_MAX : PROGRAM_BUDGET) >> 20,
            longest ? "; this is their longest expression" : "");
    } else if (arena_has_failed(program->arena))
        return -ENOMEM; /* lists may be incomplete, so rules and errors may be wrong */
    if (diags->n_errors > 0)
        return PROGRAM_E_INVALID;
    if (r < 0)
        return r;
    *ret = TAKE_PTR(program);
    return 0;
}

size_t program_count_published(const Program *program, size_t *ret_n_labels) {
    size_t n = 0;

    *ret_n_labels = 0;
    for (size_t i = 0; i < program->n_filters; i++) {
        const Filter *filter = program->filters[i];

        if (filter->policy->is_observed)
            continue;
        n += filter->slots || filter->is_label;
        *ret_n_labels += filter->is_label;
    }
    return n;
}

uint32_t program_wire_max(const Program *program) {
    uint32_t most = WIRE_MAX_DEFAULT;

    for (size_t i = 0; i < program->n_policies; i++)
        if (!program->policies[i].is_observed && program->policies[i].wire_max > most)
            most = program->policies[i].wire_max;
    return most;
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
