/* Finds the kinds of objects, besides nodes and pods, that an expression reads. */

#include "schema/schema-internal.h"

/* Whether node @i reads pod.claims, or that field of something without a type. */
static bool reads_claims(const CelChecked *checked, uint32_t i) {
    const CelNode *node = &checked->tree->nodes[i];
    const CelType *of;

    if (i == 0 || (node->kind != CEL_NODE_SELECT && node->kind != CEL_NODE_TEST &&
                      node->kind != CEL_NODE_OPT_SELECT))
        return false;
    of = checked->infos[i - 1].type; /* an operand comes right before its selection */
    while (of->kind == CEL_T_OPTIONAL)
        of = cel_type_param(of, 0);
    return str_is(node->name, "claims") &&
           (of->kind == CEL_T_DYN || schema_record_of(of) == &schema_pod_record);
}

unsigned schema_related(const Schema *schema, const CelChecked *checked) {
    unsigned related = 0;

    for (uint32_t i = 0; i < checked->tree->n_nodes; i++) {
        const CelNodeInfo *info = &checked->infos[i];

        if (info->ref == CEL_REF_VARIABLE && info->variable->slot == schema->namespace_slot)
            related |= RELATED_BIT(RELATED_NAMESPACES);
        if (reads_claims(checked, i))
            related |= RELATED_BIT(RELATED_CLAIMS) | RELATED_BIT(RELATED_VOLUMES);
    }
    return related;
}
