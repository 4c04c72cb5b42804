/* Whether counts of pods are exact, as lines and as JSON. */

#include "commands/counting-rules.h"

#include <assert.h>

#include "base/visible.h"

#define LINE_MAX_BYTES ((size_t)256 * 1024)

static Exactness exactness_at(CountingPolicy policy, size_t i, BindWiring bind) {
    return policy.policy ? exactness_of(&policy.policy->filters[i], bind)
                         : exactness_of_word(policy.fact->counting[i].without_bind, bind);
}

bool counting_rules_print(
    CountingPolicy policy, BindWiring bind, Exactness exactness, const char *before, Buf *out) {
    size_t n, n_printed = 0;

    assert(policy.policy || policy.fact);
    n = policy.policy ? policy.policy->n_filters : policy.fact->n_counting;
    for (size_t i = 0; i < n; i++) {
        if (exactness_at(policy, i, bind) != exactness)
            continue;
        buf_append(out, n_printed++ == 0 ? str_from_c(before) : STR(", "));
        if (policy.policy)
            visible_print(out, "{}/{}", policy.policy->name, policy.policy->filters[i].name);
        else
            visible_print(out, "{}/{}", policy.fact->name, policy.fact->counting[i].rule);
    }
    return n_printed > 0;
}

/* Prints "FILE:LINE:COLUMN: " of the first filter whose counts are @exactness; there is one. */
static void print_place(const Policy *policy, BindWiring bind, Exactness exactness, Buf *out) {
    const Filter *filter = policy->filters;

    while (exactness_of(filter, bind) != exactness)
        filter++;
    (void)visible_append(out, filter->test.place.file);
    buf_printf(out, ":%zu:%zu: ", filter->test.place.line, filter->test.place.column);
}

void counting_rules_print_all(
    const Program *program, const BerthFact *berth, BindWiring bind, Buf *out) {
    size_t n = program ? program->n_policies : berth ? berth->n_policies : 0;

    for (Exactness exactness = EXACT_NOTHING + 1; exactness < _EXACTNESSES; exactness++) {
        bool is_first = true;

        for (size_t i = 0; i < n; i++) {
            CountingPolicy policy = {.policy = program ? &program->policies[i] : NULL,
                .fact = program ? NULL : &berth->policies[i]};
            _cleanup_(buf_done) Buf rules = BUF_INIT(LINE_MAX_BYTES);

            if (!counting_rules_print(policy, bind, exactness, "", &rules))
                continue;
            if (is_first)
                buf_printf(out, "counts of pods are %s:\n", exactness_text(exactness));
            is_first = false;
            buf_append(out, STR("  "));
            if (program)
                print_place(policy.policy, bind, exactness, out);
            buf_printf(out, "%.*s\n", STR_FMT(buf_str(&rules)));
        }
    }
}

void counting_rules_write(Exactness exactness, JsonWriter *writer) {
    if (exactness == EXACT_IF_SLOTS || exactness == EXACT_IF_BOUND)
        json_write(writer, "exact: null");
    else
        json_member_bool(writer, "exact", exactness != EXACT_NOT);
    json_write_member(writer, STR("text"), str_from_c(exactness_text(exactness)));
}
