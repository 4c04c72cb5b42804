/* Loads and compiles the policies of --policy. */

#include "cli/policy-files.h"

#include "base/diag.h"
#include "cli/terminal.h"
#include "input/policies.h"

/* @r: the result of policies_load(). */
static void report(const DiagList *diags, int r, int failed) {
    terminal_print_diags(diags);
    if (terminal_check(r, "the policies", NULL) > 0)
        terminal_end(r == POLICIES_E_UNREADABLE ? EXIT_UNREACHABLE : failed);
}

Program *policy_files_load(const PolicyPaths *paths, Arena *arena) {
    DiagList diags = DIAG_LIST_IN(arena);
    Program *program = NULL;

    report(&diags, policies_load(paths->items, paths->n, &diags, &program), EXIT_FAILED);
    return program;
}

void policy_files_read(
    const PolicyPaths *paths, int failed, Arena *arena, const PolicySource **ret, size_t *ret_n) {
    _cleanup_(program_unrefp) Program *program = NULL;
    DiagList diags = DIAG_LIST_IN(arena);

    report(&diags, policies_load_texts(paths->items, paths->n, arena, &diags, &program, ret, ret_n),
        failed);
}

Program *policy_texts_compile(const PolicySource *policies, size_t n, const PolicySetting *settings,
    size_t n_settings, int failed, Arena *arena) {
    DiagList diags = DIAG_LIST_IN(arena);
    Program *program = NULL;

    if (terminal_check(program_compile(policies, n, &diags, &program), "the policies", NULL) > 0) {
        policy_set_show(settings, n_settings, &diags);
        terminal_exit_for(failed, &diags);
    }
    return program;
}
