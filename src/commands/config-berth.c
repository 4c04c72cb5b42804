#include "commands/config-berth.h"

#include "base/nsec.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "collect/collect.h"

#define TEXT_MAX ((size_t)4 * 1024 * 1024)
#define DEADLINE_MAX_SEC 3600.0

/* --- one that runs ------------------------------------------------------------------------ */

static void take_facts(const BerthFact *fact, WiredBerth *ret) {
    bool has_deadline = fact->deadline_sec > 0 && fact->deadline_sec < DEADLINE_MAX_SEC;

    *ret = (WiredBerth){
        .has_filters = fact->has_filters,
        .has_scores = fact->has_scores,
        .may_bind = fact->answers_bind,
        .knows_cluster = fact->knows_cluster,
        .max_score = fact->max_score,
        .deadline_nsec = has_deadline ? (int64_t)(fact->deadline_sec * NSEC_PER_SEC) : 0,
        .wants_certificate = fact->n_client_names > 0,
        .managed = fact->managed,
        .n_managed = fact->n_managed,
    };
}

int wired_berth_ask(const BerthAccess *access, const char *who, Arena *arena, WiredBerth *ret) {
    _cleanup_(buf_done) Buf notes = BUF_INIT(TEXT_MAX);
    GatherOptions options = {.access = *access, .servers = {access->server}, .n_servers = 1};
    Facts facts = {0};
    Gather gather = {.options = &options, .arena = arena, .facts = &facts, .notes = &notes};
    int r = gather_berths(&gather);

    if (r < 0 || facts.n_berths != 1)
        return terminal_out_of_memory(who);
    if (!str_is_empty(facts.berths[0].error)) {
        terminal_complain(who, arena_copy(arena, facts.berths[0].error).ptr);
        return EXIT_UNREACHABLE;
    }
    take_facts(&facts.berths[0], ret);
    return 0;
}

/* --- one that will run ---------------------------------------------------------------------- */

int wired_berth_load(const PolicyPaths *paths, const char *who, Arena *arena, WiredBerth *ret) {
    _cleanup_(program_unrefp) Program *program = NULL;
    int r = policy_files_load(paths, who, arena, &program);

    if (r != 0)
        return r;
    *ret = (WiredBerth){
        .has_filters = program->n_filters > 0,
        .has_scores = program->n_scores > 0,
        .knows_cluster = true,
        .max_score = (int)program_wire_max(program),
    };
    return 0;
}
