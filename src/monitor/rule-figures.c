/* Counters by rule, kept by name across reloads. */

#include "monitor/rule-figures.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"
#include "monitor/metrics-internal.h"

#define RULE_FIGURES_BUDGET ((size_t)16 * 1024 * 1024)

/* What an expression under `match` is called: no rule can have this name. */
#define MATCH STR("(match)")

typedef struct Figures {
    Str policy, rule;
    bool is_filter;
    uint64_t rejected, observed;
    uint64_t errors, missing;
} Figures;

struct RuleFigures {
    pthread_mutex_t lock; /* for all of it */
    Arena *arena;
    Map index; /* "policy/rule" to its figures; neither name can hold a slash */
    Figures *items;
    size_t n;
    PolicyFigures *policies;
};

RuleFigures *rule_figures_new(void) {
    RuleFigures *figures = calloc(1, sizeof(*figures));

    if (!figures)
        return NULL;
    (void)pthread_mutex_init(&figures->lock, NULL);
    figures->arena = arena_new(RULE_FIGURES_BUDGET);
    figures->items = calloc(RULE_FIGURES_MAX, sizeof(*figures->items));
    figures->policies = policy_figures_new();
    if (!figures->arena || !figures->items || !figures->policies)
        return rule_figures_free(figures);
    figures->index = MAP_INIT_IN(figures->arena);
    return figures;
}

RuleFigures *rule_figures_free(RuleFigures *figures) {
    if (!figures)
        return NULL;
    policy_figures_free(figures->policies);
    arena_free(figures->arena);
    free(figures->items);
    (void)pthread_mutex_destroy(&figures->lock);
    free(figures);
    return NULL;
}

/* --- counting ---------------------------------------------------------------- */

#define KEY_MAX 160u

static Str print_key(Str policy, Str rule, char text[static KEY_MAX]) {
    int len = snprintf(text, KEY_MAX, "%.*s/%.*s", STR_FMT(policy), STR_FMT(rule));

    return str_of(text, (size_t)len < KEY_MAX ? (size_t)len : KEY_MAX - 1);
}

/* The figures of a rule, new or old. Over the ceiling: some that nobody looks at. */
static Figures *find(RuleFigures *figures, const Policy *policy, Str rule, Figures *spare) {
    char name[KEY_MAX];
    Str key = print_key(policy->name, rule, name);
    uint32_t found = map_find(&figures->index, key);
    Figures *made;

    if (found != MAP_NONE)
        return &figures->items[found];
    key = figures->n < RULE_FIGURES_MAX ? arena_copy(figures->arena, key) : STR_NULL;
    if (!key.ptr || map_add(&figures->index, key, (uint32_t)figures->n) < 0)
        return spare;
    made = &figures->items[figures->n++];
    made->policy = str_take(key, policy->name.len);
    made->rule = str_skip(key, policy->name.len + 1);
    return made;
}

static Figures *find_filter(RuleFigures *figures, const Filter *filter, Figures *spare) {
    Figures *found = find(figures, filter->policy, filter->name, spare);

    found->is_filter = true;
    return found;
}

static uint32_t count_at(const uint32_t *counts, size_t i) {
    return counts ? counts[i] : 0;
}

static void note_filters(RuleFigures *figures, const Program *program, const Decision *decision) {
    for (size_t i = 0; i < program->n_filters; i++) {
        uint32_t rejected = count_at(decision->rejected, i);
        uint32_t observed = count_at(decision->observed, i);
        uint32_t errors = count_at(decision->notes.filter_errors, i);
        uint32_t missing = count_at(decision->notes.filter_missing, i);
        Figures spare = {0};
        Figures *found;

        if (!rejected && !observed && !errors && !missing)
            continue;
        found = find_filter(figures, program->filters[i], &spare);
        found->rejected += rejected;
        found->observed += observed;
        found->errors += errors;
        found->missing += missing;
    }
}

static void note_scores(RuleFigures *figures, const Program *program, const JudgeNotes *notes) {
    for (size_t i = 0; i < program->n_scores; i++) {
        const Score *score = program->scores[i];
        uint32_t errors = count_at(notes->score_errors, i);
        uint32_t missing = count_at(notes->score_missing, i);
        Figures spare = {0};
        Figures *found;

        if (!errors && !missing)
            continue;
        found = find(figures, score->policy, score->name, &spare);
        found->errors += errors;
        found->missing += missing;
    }
}

static void note_matches(
    RuleFigures *figures, const Program *program, const CelError *const *errors) {
    for (size_t i = 0; errors && i < program->n_policies; i++) {
        Figures spare = {0};

        if (errors[i])
            find(figures, &program->policies[i], MATCH, &spare)->errors++;
    }
}

void rule_figures_note(RuleFigures *figures, Program *program, const Decision *decision) {
    const JudgeNotes *notes = &decision->notes;

    if (!decision->rejected && !decision->observed && !notes->filter_errors &&
        !notes->score_errors && !notes->filter_missing && !notes->score_missing &&
        !notes->match_errors)
        return;
    (void)pthread_mutex_lock(&figures->lock);
    note_filters(figures, program, decision);
    note_scores(figures, program, notes);
    note_matches(figures, program, notes->match_errors);
    policy_figures_note(figures->policies, program, decision);
    (void)pthread_mutex_unlock(&figures->lock);
}

PolicyFigure rule_figures_of_policy(RuleFigures *figures, Str policy) {
    PolicyFigure figure;

    (void)pthread_mutex_lock(&figures->lock);
    figure = policy_figures_get(figures->policies, policy);
    (void)pthread_mutex_unlock(&figures->lock);
    return figure;
}

RuleFigure rule_figures_of_rule(RuleFigures *figures, Str policy, Str rule) {
    char name[KEY_MAX];
    Str key = print_key(policy, rule, name);
    Figures found = {0};
    uint32_t place;

    (void)pthread_mutex_lock(&figures->lock);
    place = map_find(&figures->index, key);
    if (place != MAP_NONE)
        found = figures->items[place];
    (void)pthread_mutex_unlock(&figures->lock);
    return (RuleFigure){
        .n_rejected = found.rejected,
        .n_observed = found.observed,
        .n_failed = found.errors,
        .n_missing = found.missing,
    };
}

/* --- printing ------------------------------------------------------------------ */

/* Every rule of the program in force has its series from the start. */
static void add_rules(RuleFigures *figures, const Program *program) {
    Figures spare = {0};

    for (size_t i = 0; i < program->n_filters; i++)
        (void)find_filter(figures, program->filters[i], &spare);
    for (size_t i = 0; i < program->n_scores; i++)
        (void)find(figures, program->scores[i]->policy, program->scores[i]->name, &spare);
    for (size_t i = 0; i < program->n_policies; i++)
        if (expression_is_given(&program->policies[i].match.expression))
            (void)find(figures, &program->policies[i], MATCH, &spare);
}

static uint64_t get_rejected(const Figures *figures) {
    return figures->rejected;
}

static uint64_t get_observed(const Figures *figures) {
    return figures->observed;
}

static uint64_t get_errors(const Figures *figures) {
    return figures->errors;
}

static uint64_t get_missing(const Figures *figures) {
    return figures->missing;
}

static const struct {
    const char *name, *help;
    uint64_t (*get)(const Figures *figures);
    bool of_filters_only;
} metrics[] = {
    {"berth_nodes_rejected_total",
        "Nodes rejected by a filter rule, by policy and rule.",
        get_rejected,
        true},
    {"berth_nodes_observed_total",
        "Nodes a filter rule of a policy in mode Observe would have rejected.",
        get_observed,
        true},
    {"berth_rule_errors_total",
        "Nodes on which a rule failed and onError applied; for match: requests.",
        get_errors,
        false},
    {"berth_rule_missing_total",
        "Nodes on which a metric was missing and onMissing applied.",
        get_missing,
        false},
};

void rule_figures_print(RuleFigures *figures, const Program *program, Buf *out) {
    (void)pthread_mutex_lock(&figures->lock);
    add_rules(figures, program);
    for (size_t m = 0; m < ELEMENTS_OF(metrics); m++) {
        exposition_head(out, metrics[m].name, "counter", metrics[m].help);
        for (size_t i = 0; i < figures->n; i++) {
            const Figures *item = &figures->items[i];

            if (item->is_filter || !metrics[m].of_filters_only)
                buf_printf(out,
                    "%s{policy=\"%.*s\",rule=\"%.*s\"} %" PRIu64 "\n",
                    metrics[m].name,
                    STR_FMT(item->policy),
                    STR_FMT(item->rule),
                    metrics[m].get(item));
        }
    }
    policy_figures_print(figures->policies, program, out);
    (void)pthread_mutex_unlock(&figures->lock);
}
