/* The table of all checks (list.h), names, and a run of the checks that were chosen. */

#include "checkup/check.h"

#include <assert.h>
#include <errno.h>

#include "checkup/verdict.h"

const Check checks[] = {
#define CHECK(code, group, scope, name, title, meaning)                                            \
    {#code, CHECK_##group, title, meaning, SCOPE_##scope, judge_##name},
#include "checkup/list.h"
#undef CHECK
};
const size_t n_checks = ELEMENTS_OF(checks);

const char *check_group_name(CheckGroup group) {
    static const char *const names[_CHECK_GROUPS] = {
        [CHECK_SCHEDULER] = "scheduler",
        [CHECK_BERTH] = "berth",
        [CHECK_RIGHTS] = "rights",
        [CHECK_CLUSTER] = "cluster",
        [CHECK_POLICIES] = "policies",
        [CHECK_INSTALLATION] = "installation",
    };

    assert(group < _CHECK_GROUPS);
    return names[group];
}

const char *check_state_name(CheckState state) {
    static const char *const names[] = {
        [CHECK_PASSED] = "passed",
        [CHECK_WARNED] = "warned",
        [CHECK_FAILED] = "failed",
        [CHECK_SKIPPED] = "skipped",
    };

    assert(state <= CHECK_SKIPPED);
    return names[state];
}

static bool is_chosen(const Check *check, const Str *only, size_t n_only) {
    for (size_t i = 0; i < n_only; i++)
        if (str_eq_nocase(str_from_c(check->code), only[i]) ||
            str_is(only[i], check_group_name(check->group)))
            return true;
    return n_only == 0;
}

int checkup_run(const InstallationFacts *facts, const Str *only, size_t n_only, Arena *arena,
    Checkup *ret, Str *ret_unknown) {
    static const Finding needs_more = {
        .state = CHECK_SKIPPED,
        .cause = STR("a configuration is not enough: berth check --live"),
        .fix = STR(""),
    };
    int r = 0;

    *ret = (Checkup){
        .checks = ARENA_ARRAY(arena, const Check *, n_checks),
        .findings = ARENA_ARRAY(arena, Finding, n_checks),
    };
    if (!ret->checks || !ret->findings)
        return -ENOMEM;
    for (size_t i = 0; i < n_only; i++) {
        size_t k = 0;

        while (k < n_checks && !is_chosen(&checks[k], &only[i], 1))
            k++;
        if (k == n_checks) {
            *ret_unknown = only[i];
            return -EINVAL;
        }
    }
    for (size_t i = 0; r == 0 && i < n_checks; i++) {
        bool is_beyond = facts->is_offline && checks[i].group != CHECK_SCHEDULER;

        if (!is_chosen(&checks[i], only, n_only) || (is_beyond && n_only == 0))
            continue;
        ret->checks[ret->n] = &checks[i];
        if (is_beyond)
            ret->findings[ret->n++] = needs_more;
        else
            r = verdict_of(&checks[i], facts, arena, &ret->findings[ret->n++]);
    }
    return r;
}

size_t checkup_count(const Checkup *checkup, CheckState state) {
    size_t n = 0;

    for (size_t i = 0; i < checkup->n; i++)
        n += checkup->findings[i].state == state;
    return n;
}

CheckState checkup_state(const Checkup *checkup) {
    static const CheckState worst_first[] = {CHECK_FAILED, CHECK_WARNED, CHECK_PASSED};

    for (size_t i = 0; i < ELEMENTS_OF(worst_first); i++)
        if (checkup_count(checkup, worst_first[i]) > 0)
            return worst_first[i];
    return CHECK_SKIPPED;
}
