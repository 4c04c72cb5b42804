/* Time zones that expressions name: now.getHours('Europe/Berln') fails on every node. */

#include "policy/lint.h"

#define SCRATCH_BUDGET ((size_t)1024 * 1024)

typedef struct ZoneLint {
    const CelZones *zones;
    DiagList *diags;
    Arena *scratch;
    bool has_any; /* without zone files none can be found */
} ZoneLint;

/* Whether node @i is the zone of t.getHours('zone'). */
static bool is_zone(const CelChecked *checked, uint32_t i) {
    const CelNode *nodes = checked->tree->nodes;
    const CelNode *call = i + 1 < checked->tree->n_nodes ? &nodes[i + 1] : NULL;

    return call && call->kind == CEL_NODE_CALL && call->is_receiver && call->n_children == 2 &&
           nodes[i].kind == CEL_NODE_LITERAL && nodes[i].literal.kind == CEL_STRING && i > 0 &&
           checked->infos[i - 1].type->kind == CEL_T_TIMESTAMP &&
           str_has_prefix(call->name, STR("get"));
}

static void report_zone(
    const ZoneLint *lint, YamlReader *reader, const Expression *expression, const CelNode *node) {
    Str name = cel_str(node->literal), meant = STR_NULL;
    ExpressionFinding finding = {.level = lint->has_any ? DIAG_ERROR : DIAG_WARNING,
        .from = node->from,
        .to = node->to,
        .hint = STR("names are those of the IANA database, like Europe/Berlin; or an offset: "
                    "+02:00")};

    if (lint->has_any && lint->zones->find_meant)
        meant = lint->zones->find_meant(lint->zones, name, lint->scratch);
    if (meant.len > 0) {
        finding.hint = arena_printf(lint->scratch, "did you mean '%.*s'?", STR_FMT(meant));
        finding.fix =
            (CelFix){node->from, node->to, arena_printf(lint->scratch, "'%.*s'", STR_FMT(meant))};
    }
    if (!lint->has_any)
        finding.hint = STR("install the package tzdata; UTC and offsets like +02:00 always work");
    finding.text = arena_printf(lint->scratch,
        lint->has_any ? "there is no time zone '%.*s'"
                      : "the time zone '%.*s' cannot be found: this machine has no zone files",
        STR_FMT(name));
    expression_report(reader, expression, &finding);
}

static void check_zones(void *context, const Policy *policy, const Expression *expression) {
    const ZoneLint *lint = context;
    const CelTree *tree = expression->checked->tree;
    YamlReader reader = {.arena = lint->scratch, .diags = lint->diags, .source = policy->source};
    int32_t offset;

    for (uint32_t i = 0; i < tree->n_nodes; i++)
        if (is_zone(expression->checked, i) &&
            !cel_offset_of(lint->zones, cel_str(tree->nodes[i].literal), 0, &offset))
            report_zone(lint, &reader, expression, &tree->nodes[i]);
}

void lint_zones(const Program *program, const CelZones *zones, DiagList *diags) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_BUDGET);
    ZoneLint lint = {zones, diags, scratch, zones->find(zones, STR("Etc/UTC")) != NULL};

    if (scratch)
        program_each_expression(program, check_zones, &lint);
}
