/* The list of all records, and the CEL environment that declares them and the variables. */

#include "schema/schema.h"

#include "base/nsec.h"
#include "schema/schema-internal.h"

const SchemaRecord *const schema_records[] = {
#define X(name) &schema_##name
    SCHEMA_RECORDS(X)
#undef X
};
const size_t schema_n_records = ELEMENTS_OF(schema_records);

CelValue schema_get(const CelRecord *record, uint32_t field, CelRun *run) {
    return OBJECT_OF(record->type, SchemaRecord, type)->get(record, field, run);
}

const SchemaRecord *schema_record_of(const CelType *type) {
    return type->kind == CEL_T_RECORD && type->record->get == schema_get
               ? OBJECT_OF(type->record, SchemaRecord, type)
               : NULL;
}

const SchemaRecord *schema_record_in(const CelType *type) {
    while (type->kind == CEL_T_OPTIONAL)
        type = cel_type_param(type, 0);
    return schema_record_of(type);
}

const SchemaVariable schema_variables[] = {
    {STR("pod"), &schema_pod_record.of, SCHEMA_POD, offsetof(Schema, pod_slot),
        "the pod to be placed; read once per request"},
    {STR("namespace"), &schema_namespace_record.of, SCHEMA_POD, offsetof(Schema, namespace_slot),
        "the namespace of that pod; read once per request. berth watches namespaces only if a "
        "policy reads it"},
    {STR("node"), &schema_node_record.of, SCHEMA_NODE, offsetof(Schema, node_slot),
        "the candidate node; expressions that read it alone are cached"},
    {STR("cluster"), &schema_cluster_record.of, SCHEMA_CLUSTER, offsetof(Schema, cluster_slot),
        "totals of all nodes; read once per request"},
    {STR("now"), &cel_timestamp_type, SCHEMA_NOW, offsetof(Schema, now_slot),
        "the time of the request"},
    {STR("decision"), &schema_decision_record.of, SCHEMA_DECISION, offsetof(Schema, decision_slot),
        "the decision that the pod is bound by; only in `bind.annotations`"},
};
const size_t schema_n_variables = ELEMENTS_OF(schema_variables);

Schema *schema_new(Arena *arena) {
    Schema *schema = ARENA_NEW(arena, Schema);
    bool is_right = true;

    if (!schema)
        return NULL;
    schema->env = cel_env_new(arena);
    if (!schema->env)
        return NULL;
    for (size_t i = 0; i < schema_n_records; i++)
        is_right &= cel_env_add_record(schema->env, &schema_records[i]->type) == 0;
    for (size_t i = 0; i < schema_n_functions; i++)
        is_right &= cel_env_add_overload(schema->env, &schema_functions[i]) == 0;
    for (size_t i = 0; i < schema_n_variables; i++) {
        const SchemaVariable *variable = &schema_variables[i];
        uint32_t *slot = (uint32_t *)(void *)((char *)schema + variable->slot);

        is_right &= cel_env_add_variable(
                        schema->env, variable->name, variable->type, 0, variable->group, slot) == 0;
    }
    return is_right && schema_plan_host_init(schema, arena) ? schema : NULL;
}

CelValue schema_now(int64_t now_nsec) {
    uint32_t nanos;
    int64_t sec = nsec_split(now_nsec, &nanos);

    return cel_timestamp(sec, nanos);
}
