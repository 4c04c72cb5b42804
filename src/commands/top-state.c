/* Reads the updates of /api/v1/events, and keeps counters and the newest decisions. */

#include "commands/top-screen.h"

#include <math.h>
#include <stdlib.h>

#include "base/calendar.h"
#include "base/nsec.h"
#include "base/utf8.h"
#include "json/fields.h"

static void count(TopCounter *counter, int64_t value) {
    if (counter->n_before == 0 ||
        value < counter->last) /* the first, or berth has been restarted */
        *counter = (TopCounter){0};
    counter->last = value;
    counter->before[counter->n_before++ % TOP_RATE_UPDATES] = value;
}

static size_t n_samples(const TopCounter *counter) {
    return counter->n_before < TOP_RATE_UPDATES ? counter->n_before : TOP_RATE_UPDATES;
}

double top_counter_rate(const TopCounter *counter) {
    size_t n = n_samples(counter);

    if (n < 2)
        return -1;
    return (double)(counter->last - counter->before[(counter->n_before - n) % TOP_RATE_UPDATES]) /
           (double)(n - 1);
}

const TopDecision *top_state_decision(const TopState *state, size_t back) {
    size_t n = state->n_decisions;

    if (back >= n || back >= TOP_DECISIONS_MAX)
        return NULL;
    return &state->decisions[(n - 1 - back) % TOP_DECISIONS_MAX];
}

/* Copies @text, cut to @size bytes, but not inside a character. */
static void copy(char *to, size_t size, Str text) {
    Str shown = utf8_take(text, size - 1);

    if (shown.len > 0)
        memcpy(to, shown.ptr, shown.len);
    to[shown.len] = '\0';
}

/* Copies "03:04:05" from "2026-01-02T03:04:05.678Z". */
static void copy_time(char *to, size_t size, Str text) {
    size_t t = str_find(text, 'T');

    copy(to, size, t == SIZE_MAX ? text : str_take(str_skip(text, t + 1), 8));
}

static void take_decision(JsonReader *reader, Arena *arena, void *target) {
    typedef struct Texts {
        int64_t id, asked, passed;
        Str time, verb, namespace, name, node, reason;
    } Texts;
    static const JsonField fields[] = {
        JSON_MEMBER("id", INT, Texts, id),
        JSON_MEMBER("time", TEXT, Texts, time),
        JSON_MEMBER("verb", TEXT, Texts, verb),
        JSON_MEMBER("namespace", TEXT, Texts, namespace),
        JSON_MEMBER("name", TEXT, Texts, name),
        JSON_MEMBER("asked", INT, Texts, asked),
        JSON_MEMBER("passed", INT, Texts, passed),
        JSON_MEMBER("node", TEXT, Texts, node),
        JSON_MEMBER("reason", TEXT, Texts, reason),
    };
    TopDecision *decision = target;
    uint32_t nanos = 0;
    int64_t sec = 0;
    Texts texts = {0};

    JSON_READ_FIELDS(reader, arena, fields, &texts);
    *decision = (TopDecision){
        .id = texts.id,
        .at_nsec = calendar_parse(texts.time, &sec, &nanos) ? sec * NSEC_PER_SEC + nanos : 0,
        .asked = texts.asked,
        .passed = texts.passed,
    };
    copy_time(decision->time, sizeof(decision->time), texts.time);
    copy(decision->verb, sizeof(decision->verb), texts.verb);
    copy(decision->pod, sizeof(decision->pod),
        arena_printf(arena, "%.*s/%.*s", STR_FMT(texts.namespace), STR_FMT(texts.name)));
    copy(decision->node, sizeof(decision->node), texts.node);
    copy(decision->reason, sizeof(decision->reason), texts.reason);
}

#define DECISIONS_IN_UPDATE_MAX 64u
#define ROWS_LOOKED_AT 64u

/* The filter that @decision follows: the last about its pod. NULL: not seen, or long ago. */
static TopDecision *find_filter(TopState *state, const TopDecision *decision) {
    size_t n = state->n_decisions < ROWS_LOOKED_AT ? state->n_decisions : ROWS_LOOKED_AT;

    for (size_t back = 0; back < n; back++) {
        TopDecision *row = &state->decisions[(state->n_decisions - 1 - back) % TOP_DECISIONS_MAX];

        if (strcmp(row->pod, decision->pod) == 0)
            return strcmp(row->verb, "filter") == 0 ? row : NULL;
    }
    return NULL;
}

/* Adds a decision; one that follows a filter of its pod is merged into that. */
static void top_state_add(TopState *state, const TopDecision *decision) {
    TopDecision *filter = NULL;

    if (strcmp(decision->verb, "filter") != 0)
        filter = find_filter(state, decision);
    if (!filter)
        state->decisions[state->n_decisions++ % TOP_DECISIONS_MAX] = *decision;
    else if (decision->node[0])
        copy(filter->node, sizeof(filter->node), str_from_c(decision->node));
}

/* The rule @name, added without rejections if it is new; NULL: too many. */
static TopRule *top_state_rule(TopState *state, const char *name) {
    TopRule *rule;

    for (size_t i = 0; i < state->n_rules; i++)
        if (strcmp(state->rules[i].name, name) == 0)
            return &state->rules[i];
    if (state->n_rules == TOP_RULES_MAX)
        return NULL;
    rule = &state->rules[state->n_rules++];
    *rule = (TopRule){0};
    copy(rule->name, sizeof(rule->name), str_from_c(name));
    return rule;
}

static int compare_rules(const void *a, const void *b) {
    const TopRule *x = a, *y = b;
    double rate_x = top_counter_rate(&x->rejected), rate_y = top_counter_rate(&y->rejected);

    if (rate_x != rate_y)
        return rate_x < rate_y ? 1 : -1;
    if (x->rejected.last != y->rejected.last)
        return x->rejected.last < y->rejected.last ? 1 : -1;
    return strcmp(x->name, y->name);
}

static void top_state_sort_rules(TopState *state) {
    qsort(state->rules, state->n_rules, sizeof(state->rules[0]), compare_rules);
}

/* The fields of an update. */
typedef struct Update {
    TopState next; /* the state after it */
    Str time, health, summary;
    int64_t newest_id, n_filters, n_rejected;
    TopDecision *decisions; /* the newest first */
    size_t n_decisions;
} Update;

static void take_rule(JsonReader *reader, Arena *arena, void *target) {
    typedef struct Rule {
        Str policy, name;
        int64_t rejected;
    } Rule;
    static const JsonField fields[] = {
        JSON_MEMBER("policy", TEXT, Rule, policy),
        JSON_MEMBER("rule", TEXT, Rule, name),
        JSON_MEMBER("rejected", INT, Rule, rejected),
    };
    char name[TOP_NAME_MAX];
    Update *update = target;
    Rule read = {0};
    TopRule *rule;

    JSON_READ_FIELDS(reader, arena, fields, &read);
    copy(name, sizeof(name),
        arena_printf(arena, "%.*s/%.*s", STR_FMT(read.policy), STR_FMT(read.name)));
    rule = top_state_rule(&update->next, name);
    if (rule)
        count(&rule->rejected, read.rejected);
}

static void apply_update(Update *update) {
    TopState *state = &update->next;

    copy_time(state->time, sizeof(state->time), update->time);
    copy(state->health, sizeof(state->health), update->health);
    copy(state->summary, sizeof(state->summary), update->summary);
    count(&state->filters, update->n_filters);
    count(&state->rejected, update->n_rejected);
    top_state_sort_rules(state);
    if (update->newest_id < state->newest_id) /* ids start again with a new process */
        state->newest_id = 0;
    for (size_t i = update->n_decisions; i-- > 0;) {
        if (update->decisions[i].id <= state->newest_id) /* updates repeat some */
            continue;
        state->newest_id = update->decisions[i].id;
        top_state_add(state, &update->decisions[i]);
    }
    state->has_update = true;
}

bool top_state_take(TopState *state, Str json, Arena *scratch) {
    static const JsonField fields[] = {
        JSON_MEMBER("time", TEXT, Update, time),
        JSON_MEMBER("sentence.health", TEXT, Update, health),
        JSON_MEMBER("sentence.text", TEXT, Update, summary),
        JSON_MEMBER("errorRate", DOUBLE, Update, next.error_rate),
        JSON_MEMBER("p99Seconds", DOUBLE, Update, next.p99_sec),
        JSON_MEMBER("nodes", INT, Update, next.n_nodes),
        JSON_MEMBER("waiting", INT, Update, next.n_pending),
        JSON_MEMBER("newest", INT, Update, newest_id),
        JSON_MEMBER("requests.filter", INT, Update, n_filters),
        JSON_MEMBER("rejectedNodes", INT, Update, n_rejected),
        {"rules", JSON_FIELD_ARRAY, .read = take_rule},
        JSON_LIST(
            "decisions", Update, decisions, n_decisions, DECISIONS_IN_UPDATE_MAX, take_decision),
    };
    Update *update;

    arena_reset(scratch);
    update = ARENA_NEW(scratch, Update);
    update->next = *state;
    update->next.error_rate = update->next.p99_sec = NAN;
    update->next.n_nodes = update->next.n_pending = 0;
    if (!JSON_READ_DOCUMENT(json, scratch, fields, update))
        return false;
    apply_update(update);
    *state = update->next;
    return true;
}

/* The value @back samples before the newest. */
static int64_t sample(const TopCounter *counter, size_t back) {
    return counter->before[(counter->n_before - 1 - back) % TOP_RATE_UPDATES];
}

/* All replicas send updates once a second: the newest samples belong together, and so on, as far
 * back as both have some. */
static void add_counter(TopCounter *to, const TopCounter *from) {
    TopCounter sum = {.last = to->last + from->last};
    size_t n = n_samples(to) < n_samples(from) ? n_samples(to) : n_samples(from);

    if (to->n_before == 0) {
        *to = *from;
        return;
    }
    for (size_t back = n; back > 0; back--)
        sum.before[sum.n_before++] = sample(to, back - 1) + sample(from, back - 1);
    *to = sum;
}

static size_t n_decisions(const TopState *state) {
    return state->n_decisions < TOP_DECISIONS_MAX ? state->n_decisions : TOP_DECISIONS_MAX;
}

/* Merges the decisions by time. */
static void add_decisions(const TopState *const *parts, size_t n, TopState *ret) {
    size_t taken[TOP_REPLICAS_MAX] = {0};

    for (;;) {
        const TopDecision *oldest = NULL;
        size_t at = 0;

        for (size_t i = 0; i < n; i++) {
            size_t left = n_decisions(parts[i]) - taken[i];
            const TopDecision *next = left > 0 ? top_state_decision(parts[i], left - 1) : NULL;

            if (next && (!oldest || next->at_nsec < oldest->at_nsec)) {
                oldest = next;
                at = i;
            }
        }
        if (!oldest)
            return;
        taken[at]++;
        top_state_add(ret, oldest);
    }
}

static double worse(double a, double b) {
    return isnan(a) || b > a ? b : a;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Each replica sees the whole cluster: its nodes and pending pods are not added. */
static void add_figures(TopState *to, const TopState *from) {
    if (strcmp(from->time, to->time) > 0)
        memcpy(to->time, from->time, sizeof(to->time));
    if (!to->has_update || (top_state_is_healthy(to) && !top_state_is_healthy(from))) {
        memcpy(to->health, from->health, sizeof(to->health));
        memcpy(to->summary, from->summary, sizeof(to->summary));
    }
    to->error_rate = to->has_update ? worse(to->error_rate, from->error_rate) : from->error_rate;
    to->p99_sec = to->has_update ? worse(to->p99_sec, from->p99_sec) : from->p99_sec;
    to->n_nodes = larger(to->n_nodes, from->n_nodes);
    to->n_pending = larger(to->n_pending, from->n_pending);
    add_counter(&to->filters, &from->filters);
    add_counter(&to->rejected, &from->rejected);
    for (size_t i = 0; i < from->n_rules; i++) {
        TopRule *rule = top_state_rule(to, from->rules[i].name);

        if (rule)
            add_counter(&rule->rejected, &from->rules[i].rejected);
    }
    to->has_update = true;
}

void top_state_merge(const TopState *const *parts, size_t n, TopState *ret) {
    if (n == 1) {
        *ret = *parts[0];
        return;
    }
    *ret = (TopState){0};
    for (size_t i = 0; i < n; i++)
        if (parts[i]->has_update)
            add_figures(ret, parts[i]);
    top_state_sort_rules(ret);
    add_decisions(parts, n, ret);
}
