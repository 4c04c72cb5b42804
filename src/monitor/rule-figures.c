/* Counters by rule and by policy, kept by name across reloads. */

#include "monitor/rule-figures.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/thread.h"
#include "history/past.h"
#include "monitor/metrics-internal.h"

#define RULE_FIGURES_BUDGET ((size_t)16 * 1024 * 1024)

/* The name for an expression under `match`: no rule can have it. */
#define MATCH STR("(match)")

typedef struct Figures {
    Str policy, rule; /* rule empty: the policy itself */
    bool is_filter;
    RuleFigure rule_figure;
    PolicyFigure policy_figure;
} Figures;

struct RuleFigures {
    pthread_mutex_t lock; /* for all fields */
    Arena *arena;
    Map index; /* index of "policy/rule" in items; no name has a slash */
    Figures *items;
    size_t n;
    Figures spare; /* counts names over the limit */

    /* Indexes of the figures of each policy of one program, so that a decision needs no lookup by
     * name. The reference keeps the program's address from being reused. */
    Program *program;
    uint32_t *policies; /* MAP_NONE: not counted */
};

RuleFigures *rule_figures_new(void) {
    RuleFigures *figures = calloc(1, sizeof(*figures));

    if (!figures)
        return NULL;
    (void)pthread_mutex_init(&figures->lock, NULL);
    figures->arena = arena_new(RULE_FIGURES_BUDGET);
    figures->items = calloc(RULE_FIGURES_MAX, sizeof(*figures->items));
    if (!figures->arena || !figures->items)
        return rule_figures_free(figures);
    figures->index = MAP_INIT_IN(figures->arena);
    return figures;
}

RuleFigures *rule_figures_free(RuleFigures *figures) {
    if (!figures)
        return NULL;
    program_unref(figures->program);
    free(figures->policies);
    arena_free(figures->arena);
    free(figures->items);
    (void)pthread_mutex_destroy(&figures->lock);
    free(figures);
    return NULL;
}

#define KEY_MAX 160u

/* "policy/rule", cut if too long. Copied by hand: every decision needs some, and printf is slow. */
static Str make_key(Str policy, Str rule, char text[static KEY_MAX]) {
    const Str parts[] = {policy, STR("/"), rule};
    size_t len = 0;

    for (size_t i = 0; i < ELEMENTS_OF(parts); i++) {
        Str part = str_take(parts[i], KEY_MAX - 1 - len);

        if (part.len > 0)
            memcpy(text + len, part.ptr, part.len);
        len += part.len;
    }
    return str_of(text, len);
}

/* The index of the figures of a rule or policy, existing or new. MAP_NONE: over the limit. */
static uint32_t number_of(RuleFigures *figures, Str policy, Str rule) {
    char name[KEY_MAX];
    Str key = make_key(policy, rule, name);
    uint32_t found = map_find(&figures->index, key);

    if (found != MAP_NONE)
        return found;
    key = figures->n < RULE_FIGURES_MAX ? arena_copy(figures->arena, key) : STR_NULL;
    if (!key.ptr || map_add(&figures->index, key, (uint32_t)figures->n) < 0)
        return MAP_NONE;
    figures->items[figures->n] =
        (Figures){.policy = str_take(key, policy.len), .rule = str_skip(key, policy.len + 1)};
    return (uint32_t)figures->n++;
}

static Figures *find(RuleFigures *figures, const Policy *policy, Str rule) {
    uint32_t number = number_of(figures, policy->name, rule);

    if (number != MAP_NONE)
        return &figures->items[number];
    figures->spare = (Figures){0};
    return &figures->spare;
}

static Figures *find_filter(RuleFigures *figures, const Filter *filter) {
    Figures *found = find(figures, filter->policy, filter->name);

    found->is_filter = true;
    return found;
}

static void note_filters(RuleFigures *figures, const Program *program, const Decision *decision) {
    for (size_t i = 0; i < program->n_filters; i++) {
        RuleCount count = rule_count_of(decision, i);
        RuleFigure *figure;

        if (rule_count_is_zero(count))
            continue;
        figure = &find_filter(figures, program->filters[i])->rule_figure;
        figure->n_rejected += count.rejected;
        figure->n_observed += count.observed;
        figure->n_failed += count.failed;
        figure->n_missing += count.missing;
    }
}

static void note_scores(RuleFigures *figures, const Program *program, const JudgeNotes *notes) {
    for (size_t i = 0; i < program->n_scores; i++) {
        const Score *score = program->scores[i];
        uint32_t n_failed = notes->score_errors ? notes->score_errors[i] : 0;
        uint32_t n_missing = notes->score_missing ? notes->score_missing[i] : 0;
        RuleFigure *figure;

        if (n_failed == 0 && n_missing == 0)
            continue;
        figure = &find(figures, score->policy, score->name)->rule_figure;
        figure->n_failed += n_failed;
        figure->n_missing += n_missing;
    }
}

/* False: out of memory. */
static bool set_program(RuleFigures *figures, Program *program) {
    uint32_t *numbers = calloc(program->n_policies + 1, sizeof(*numbers));

    if (!numbers)
        return false;
    for (size_t i = 0; i < program->n_policies; i++)
        numbers[i] = number_of(figures, program->policies[i].name, STR_NULL);
    free(figures->policies);
    figures->policies = numbers;
    program_unref(figures->program);
    figures->program = program_ref(program);
    return true;
}

static size_t count_rejected(const Policy *policy, const Decision *decision) {
    const uint32_t *counts = policy->is_observed ? decision->observed : decision->rejected;
    size_t n = 0;

    for (size_t i = 0; counts && i < policy->n_filters; i++)
        n += counts[policy->filters[i].number];
    return n;
}

/* Counts a filter; skips other decisions. */
static void note_policies(
    RuleFigures *figures, Program *program, const Decision *decision, int64_t at_nsec) {
    size_t n_known;

    if (!decision->applied || !decision->args ||
        (figures->program != program && !set_program(figures, program)))
        return;
    if (decision->summary.n_in == 0) /* a probe of `berth check` */
        return;
    n_known = decision->summary.n_in - decision->args->n_unknown;
    for (size_t i = 0; i < program->n_policies; i++) {
        PolicyFigure *figure;
        size_t n_rejected;

        if (!decision->applied[i] || figures->policies[i] == MAP_NONE)
            continue;
        figure = &figures->items[figures->policies[i]].policy_figure;
        n_rejected = count_rejected(&program->policies[i], decision);
        figure->n_matched++;
        figure->matched_nsec = figure->matched_nsec > at_nsec ? figure->matched_nsec : at_nsec;
        figure->n_rejected_all += n_known > 0 && n_rejected == n_known;
        figure->n_none_eligible +=
            decision->summary.n_out == 0 && n_rejected > 0 && !program->policies[i].is_observed;
    }
}

void rule_figures_note(
    RuleFigures *figures, Program *program, const Decision *decision, int64_t at_nsec) {
    const JudgeNotes *notes = &decision->notes;

    if (!decision->rejected && !decision->observed && !notes->filter_errors &&
        !notes->score_errors && !notes->filter_missing && !notes->score_missing &&
        !notes->match_errors)
        return;
    (void)pthread_mutex_lock(&figures->lock);
    note_filters(figures, program, decision);
    note_scores(figures, program, notes);
    for (size_t i = 0; notes->match_errors && i < program->n_policies; i++)
        if (notes->match_errors[i])
            find(figures, &program->policies[i], MATCH)->rule_figure.n_failed++;
    note_policies(figures, program, decision, at_nsec);
    (void)pthread_mutex_unlock(&figures->lock);
}

static Figures get(RuleFigures *figures, Str policy, Str rule) {
    char name[KEY_MAX];
    Str key = make_key(policy, rule, name);
    _unlock_ pthread_mutex_t *held = mutex_hold(&figures->lock);
    uint32_t place = map_find(&figures->index, key);

    return place == MAP_NONE ? (Figures){0} : figures->items[place];
}

PolicyFigure rule_figures_of_policy(RuleFigures *figures, Str policy) {
    return get(figures, policy, STR_NULL).policy_figure;
}

RuleFigure rule_figures_of_rule(RuleFigures *figures, Str policy, Str rule) {
    return get(figures, policy, rule).rule_figure;
}

/* Adds every rule of the program in force, so that its series starts at 0. */
static void add_rules(RuleFigures *figures, const Program *program) {
    for (size_t i = 0; i < program->n_filters; i++)
        (void)find_filter(figures, program->filters[i]);
    for (size_t i = 0; i < program->n_scores; i++)
        (void)find(figures, program->scores[i]->policy, program->scores[i]->name);
    for (size_t i = 0; i < program->n_policies; i++)
        if (expression_is_given(&program->policies[i].match.expression) ||
            expression_is_given(&program->policies[i].match.namespace_test))
            (void)find(figures, &program->policies[i], MATCH);
}

static const struct {
    const char *name, *help;
    size_t offset; /* of a uint64_t in Figures */
    bool of_filters_only;
} rule_metrics[] =
    {
        {"berth_nodes_rejected_total", "Nodes rejected by a filter rule, by policy and rule.",
            offsetof(Figures, rule_figure.n_rejected), true},
        {"berth_nodes_observed_total",
            "Nodes a filter rule of a policy in mode Observe would have rejected.",
            offsetof(Figures, rule_figure.n_observed), true},
        {"berth_rule_errors_total",
            "Nodes on which a rule failed and onError applied; for match: requests.",
            offsetof(Figures, rule_figure.n_failed), false},
        {"berth_rule_missing_total", "Nodes on which a metric was missing and onMissing applied.",
            offsetof(Figures, rule_figure.n_missing), false},
},
  policy_metrics[] = {
      {"berth_policy_matched_total", "Filters to which a policy applied.",
          offsetof(Figures, policy_figure.n_matched), false},
      {"berth_policy_rejected_all_total", "Filters in which a policy rejected all nodes.",
          offsetof(Figures, policy_figure.n_rejected_all), false},
      {"berth_policy_no_eligible_node_total",
          "Filters in which no node passed and a policy rejected some, alone or with others.",
          offsetof(Figures, policy_figure.n_none_eligible), false},
};

static uint64_t value_at(const Figures *item, size_t offset) {
    return *(const uint64_t *)(const void *)((const char *)item + offset);
}

void rule_figures_print(RuleFigures *figures, const Program *program, Buf *out) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&figures->lock);

    add_rules(figures, program);
    for (size_t m = 0; m < ELEMENTS_OF(rule_metrics); m++) {
        exposition_head(out, rule_metrics[m].name, "counter", rule_metrics[m].help);
        for (size_t i = 0; i < figures->n; i++) {
            const Figures *item = &figures->items[i];

            if (item->rule.len > 0 && (item->is_filter || !rule_metrics[m].of_filters_only))
                buf_printf(out, "%s{policy=\"%.*s\",rule=\"%.*s\"} %" PRIu64 "\n",
                    rule_metrics[m].name, STR_FMT(item->policy), STR_FMT(item->rule),
                    value_at(item, rule_metrics[m].offset));
        }
    }
    for (size_t m = 0; m < ELEMENTS_OF(policy_metrics); m++) {
        exposition_head(out, policy_metrics[m].name, "counter", policy_metrics[m].help);
        for (size_t i = 0; i < program->n_policies; i++) {
            const Figures *item = find(figures, &program->policies[i], STR_NULL);

            buf_printf(out, "%s{policy=\"%.*s\"} %" PRIu64 "\n", policy_metrics[m].name,
                STR_FMT(program->policies[i].name), value_at(item, policy_metrics[m].offset));
        }
    }
}
