/* Loads and compiles the policies of --policy. */

#include "cli/policy-files.h"

#include "base/diag.h"
#include "cli/terminal.h"
#include "input/policies.h"

/* The exit code for what policies_load() returned. */
static int report(const DiagList *diags, int r) {
    terminal_print_diags(diags);
    if (r < 0)
        return terminal_failed("the policies", r, NULL);
    return r == 0 ? 0 : r == POLICIES_E_UNREADABLE ? EXIT_UNREACHABLE : EXIT_FAILED;
}

int policy_files_load(const PolicyPaths *paths, Arena *arena, Program **ret) {
    DiagList diags = DIAG_LIST_IN(arena);
    int r = policies_load(paths->items, paths->n, &diags, ret);

    return report(&diags, r);
}

int policy_files_read(
    const PolicyPaths *paths, Arena *arena, const PolicySource **ret, size_t *ret_n) {
    _cleanup_(program_unrefp) Program *program = NULL;
    DiagList diags = DIAG_LIST_IN(arena);
    int r = policies_load_texts(paths->items, paths->n, arena, &diags, &program, ret, ret_n);

    return report(&diags, r);
}

int policy_texts_compile(const PolicySource *policies, size_t n, const PolicySetting *settings,
    size_t n_settings, Arena *arena, Program **ret) {
    DiagList diags = DIAG_LIST_IN(arena);
    int r = program_compile(policies, n, &diags, ret);

    if (r < 0)
        return terminal_failed("the policies", r, NULL);
    if (r == 0)
        return 0;
    policy_set_show(settings, n_settings, &diags);
    terminal_print_diags(&diags);
    return EXIT_FAILED;
}
