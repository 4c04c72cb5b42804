/* Reports unknown time zones in expressions, also in parameters: now.getHours('Europe/Berln') fails
 * on every node. */

#include "policy/lint.h"

#define SCRATCH_BUDGET ((size_t)1024 * 1024)

typedef struct ZoneLint {
    const CelZones *zones;
    DiagList *diags;
    Arena *scratch;
    bool has_any; /* false: this machine has no zone files */
} ZoneLint;

/* The text of node @i if it is a literal or a parameter; else STR_NULL. */
static Str constant_text(const CelChecked *checked, uint32_t i) {
    const CelNode *node = &checked->tree->nodes[i];
    const CelNodeInfo *of = node->kind == CEL_NODE_SELECT ? &checked->infos[i - 1] : NULL;
    CelValue value = node->literal;

    if (of && of->ref == CEL_REF_CONSTANT && of->type->kind == CEL_T_RECORD)
        value =
            of->type->record->get(of->constant.record, checked->infos[i].field, /* run= */ NULL);
    else if (node->kind != CEL_NODE_LITERAL)
        return STR_NULL;
    return value.kind == CEL_STRING ? cel_str(value) : STR_NULL;
}

/* The text of node @i if it is the zone in t.getHours('zone'); else STR_NULL. */
static Str zone_at(const CelChecked *checked, uint32_t i) {
    const CelNode *nodes = checked->tree->nodes;
    const CelNode *call = i + 1 < checked->tree->n_nodes ? &nodes[i + 1] : NULL;

    if (!call || call->kind != CEL_NODE_CALL || !call->is_receiver || call->n_children != 2 ||
        nodes[i].size > i || !str_has_prefix(call->name, STR("get")) ||
        checked->infos[i - nodes[i].size].type->kind != CEL_T_TIMESTAMP)
        return STR_NULL;
    return constant_text(checked, i);
}

static void report_zone(const ZoneLint *lint, YamlReader *reader, const Expression *expression,
    const CelNode *node, Str name) {
    expression_report(reader, expression,
        &(ExpressionFinding){.level = lint->has_any ? DIAG_ERROR : DIAG_WARNING,
            .from = node->from,
            .to = node->to,
            .text = arena_printf(lint->scratch,
                lint->has_any
                    ? "there is no time zone '%.*s'"
                    : "the time zone '%.*s' cannot be found: this machine has no zone files",
                STR_FMT(name)),
            .hint = lint->has_any
                        ? STR("names are those of the IANA database, like Europe/Berlin; or an "
                              "offset: +02:00")
                        : STR("install the package tzdata; UTC and offsets like +02:00 always "
                              "work")});
}

static void check_zones(void *context, const Policy *policy, const Expression *expression) {
    const ZoneLint *lint = context;
    const CelTree *tree = expression->checked->tree;
    YamlReader reader = {.arena = lint->scratch, .diags = lint->diags, .source = policy->source};
    int32_t offset;

    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        Str zone = zone_at(expression->checked, i);

        if (zone.ptr && !cel_offset_of(lint->zones, zone, 0, &offset))
            report_zone(lint, &reader, expression, &tree->nodes[i], zone);
    }
}

void lint_zones(const Program *program, const CelZones *zones, DiagList *diags) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_BUDGET);
    ZoneLint lint = {zones, diags, scratch, zones->find(zones, STR("Etc/UTC")) != NULL};

    if (scratch)
        program_each_expression(program, check_zones, &lint);
}
