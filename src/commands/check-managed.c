/* berth check --managed: whether each rule works where nothing calls berth, as a table and as
 * JSON. */

#include "base/visible.h"
#include "commands/check-internal.h"
#include "policy/managed.h"

#define NAME_COLUMNS 26u
#define WORKS_COLUMNS 7u

/* Calls @use for each rule of @program, and each part that does not work. Whether all work. */
typedef void UseManaged(void *context, const Policy *policy, Str rule, const Managed *managed);

static bool each_rule(const Program *program, UseManaged *use, void *context) {
    bool works = true;

    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];
        Managed managed;

        for (ManagedPart part = 0; part < _MANAGED_PARTS; part++) {
            if (!managed_part(policy, part, &managed))
                continue;
            use(context, policy, str_from_c(managed_part_name(part)), &managed);
            works = false;
        }
        for (size_t j = 0; j < policy->n_filters; j++) {
            managed = managed_filter(&policy->filters[j]);
            use(context, policy, policy->filters[j].name, &managed);
            works &= managed.works;
        }
        for (size_t j = 0; j < policy->n_scores; j++) {
            managed = managed_score(&policy->scores[j]);
            use(context, policy, policy->scores[j].name, &managed);
            works = false;
        }
    }
    return works;
}

static void print_rule(void *context, const Policy *policy, Str rule, const Managed *managed) {
    size_t width = visible_width(policy->name) + 1;
    Buf *out = context;

    visible_print(out, "{}/", policy->name);
    visible_append_padded(out, rule, width < NAME_COLUMNS ? NAME_COLUMNS - width : 0);
    buf_printf(out, " %-*s%s\n", (int)WORKS_COLUMNS, managed->works ? "yes" : "no", managed->text);
    if (managed->instead)
        buf_printf(
            out, "%*sinstead: %s\n", (int)(NAME_COLUMNS + WORKS_COLUMNS + 1), "", managed->instead);
}

bool check_print_managed(const Program *program, Buf *out) {
    buf_printf(out, "%-*s %-*s%s\n", (int)NAME_COLUMNS, "RULE", (int)WORKS_COLUMNS, "WORKS",
        "ON A MANAGED CONTROL PLANE");
    return each_rule(program, print_rule, out);
}

static void write_rule(void *context, const Policy *policy, Str rule, const Managed *managed) {
    JsonWriter *writer = context;

    json_write_object(writer);
    json_write_member(writer, STR("policy"), policy->name);
    json_write_member(writer, STR("rule"), rule);
    json_member_bool(writer, "works", managed->works);
    json_write_member(writer, STR("text"), str_from_c(managed->text));
    if (managed->instead)
        json_write_member(writer, STR("instead"), str_from_c(managed->instead));
    json_write_end_object(writer);
}

bool check_write_managed(const Program *program, JsonWriter *writer) {
    bool works;

    json_member_array(writer, "managed");
    works = each_rule(program, write_rule, writer);
    json_write_end_array(writer);
    return works;
}
