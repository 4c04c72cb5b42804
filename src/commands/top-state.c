#include "commands/top-state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "json/read.h"

/* --- counters ------------------------------------------------------------------------------- */

static void count(TopCounter *counter, int64_t value) {
    if (counter->n_before == 0 ||
        value < counter->last) /* the first, or berth has been restarted */
        *counter = (TopCounter){0};
    counter->last = value;
    counter->before[counter->n_before++ % TOP_RATE_UPDATES] = value;
}

double top_counter_rate(const TopCounter *counter) {
    size_t n = counter->n_before < TOP_RATE_UPDATES ? counter->n_before : TOP_RATE_UPDATES;

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

/* --- reading -------------------------------------------------------------------------------- */

/* A copy that is cut, but not within a character. */
static void copy(char *to, size_t size, Str text) {
    Str shown = utf8_take(text, size - 1);

    if (shown.len > 0)
        memcpy(to, shown.ptr, shown.len);
    to[shown.len] = '\0';
}

static void take_text(JsonReader *reader, Arena *arena, char *to, size_t size) {
    Str text = STR_NULL;

    json_string(reader, arena, &text);
    copy(to, size, text);
}

/* null: not known. */
static void take_number(JsonReader *reader, double *to) {
    *to = NAN;
    if (!json_null(reader))
        json_double(reader, to);
}

/* "2026-01-02T03:04:05.678Z" to "03:04:05". */
static void take_time(JsonReader *reader, Arena *arena, char *to, size_t size) {
    Str text = STR_NULL;
    size_t t;

    json_string(reader, arena, &text);
    t = str_find(text, 'T');
    copy(to, size, t == SIZE_MAX ? text : str_take(str_skip(text, t + 1), 8));
}

static void take_sentence(JsonReader *reader, Arena *arena, TopState *state) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("health")))
            take_text(reader, arena, state->health, sizeof(state->health));
        else if (json_key_is(reader, key, STR("text")))
            take_text(reader, arena, state->sentence, sizeof(state->sentence));
        else
            json_skip(reader, NULL);
    }
}

static void take_count(JsonReader *reader, TopCounter *counter) {
    int64_t n = 0;

    json_int64(reader, &n);
    count(counter, n);
}

static void take_requests(JsonReader *reader, TopState *state) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("filter")))
            take_count(reader, &state->filters);
        else
            json_skip(reader, NULL);
    }
}

static void take_pod(JsonReader *reader, Arena *arena, Str key, TopDecision *decision) {
    Str text = STR_NULL;
    size_t at = strlen(decision->pod);

    json_string(reader, arena, &text);
    if (json_key_is(reader, key, STR("namespace")) || at == 0)
        copy(decision->pod, sizeof(decision->pod), text);
    else {
        copy(decision->pod + at, sizeof(decision->pod) - at, STR("/"));
        copy(decision->pod + at + 1, sizeof(decision->pod) - at - 1, text);
    }
}

static void take_decision(JsonReader *reader, Arena *arena, TopDecision *decision) {
    Str key;

    *decision = (TopDecision){0};
    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("id")))
            json_int64(reader, &decision->id);
        else if (json_key_is(reader, key, STR("time")))
            take_time(reader, arena, decision->time, sizeof(decision->time));
        else if (json_key_is(reader, key, STR("verb")))
            take_text(reader, arena, decision->verb, sizeof(decision->verb));
        else if (json_key_is(reader, key, STR("namespace")) ||
                 json_key_is(reader, key, STR("name")))
            take_pod(reader, arena, key, decision);
        else if (json_key_is(reader, key, STR("asked")))
            json_int64(reader, &decision->asked);
        else if (json_key_is(reader, key, STR("passed")))
            json_int64(reader, &decision->passed);
        else if (json_key_is(reader, key, STR("node")))
            take_text(reader, arena, decision->node, sizeof(decision->node));
        else if (json_key_is(reader, key, STR("reason")))
            take_text(reader, arena, decision->reason, sizeof(decision->reason));
        else
            json_skip(reader, NULL);
    }
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

/* A pod is one line: what follows its filter belongs to that. */
static void add_decision(TopState *state, const TopDecision *decision) {
    TopDecision *filter = NULL;

    if (decision->id <= state->newest_id)
        return;
    state->newest_id = decision->id;
    if (strcmp(decision->verb, "filter") != 0)
        filter = find_filter(state, decision);
    if (!filter)
        state->decisions[state->n_decisions++ % TOP_DECISIONS_MAX] = *decision;
    else if (decision->node[0])
        copy(filter->node, sizeof(filter->node), str_from_c(decision->node));
}

/* The newest comes first; here it is last. */
static void take_decisions(JsonReader *reader, Arena *arena, TopState *state) {
    TopDecision *list = ARENA_ARRAY(arena, TopDecision, DECISIONS_IN_UPDATE_MAX);
    size_t n = 0;

    json_array(reader);
    while (json_element(reader)) {
        if (list && n < DECISIONS_IN_UPDATE_MAX)
            take_decision(reader, arena, &list[n++]);
        else
            json_skip(reader, NULL);
    }
    while (json_error(reader) == JSON_OK && n > 0)
        add_decision(state, &list[--n]);
}

/* The place of the rule @name; NULL: there are too many. */
static TopRule *find_rule(TopState *state, const char *name) {
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

static void take_rule(JsonReader *reader, Arena *arena, TopState *state) {
    char policy[TOP_NAME_MAX / 2] = "", name[TOP_NAME_MAX / 2 - 2] = "", both[TOP_NAME_MAX];
    int64_t rejected = 0;
    TopRule *rule;
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("policy")))
            take_text(reader, arena, policy, sizeof(policy));
        else if (json_key_is(reader, key, STR("rule")))
            take_text(reader, arena, name, sizeof(name));
        else if (json_key_is(reader, key, STR("rejected")))
            json_int64(reader, &rejected);
        else
            json_skip(reader, NULL);
    }
    (void)snprintf(both, sizeof(both), "%s/%s", policy, name);
    rule = find_rule(state, both);
    if (rule)
        count(&rule->rejected, rejected);
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

static void take_rules(JsonReader *reader, Arena *arena, TopState *state) {
    json_array(reader);
    while (json_element(reader))
        take_rule(reader, arena, state);
    qsort(state->rules, state->n_rules, sizeof(state->rules[0]), compare_rules);
}

/* Its ids begin anew with a berth that was restarted. */
static void take_newest(JsonReader *reader, TopState *state) {
    int64_t newest = 0;

    json_int64(reader, &newest);
    if (newest < state->newest_id)
        state->newest_id = 0;
}

static void take_field(JsonReader *reader, Arena *arena, Str key, TopState *state) {
    if (json_key_is(reader, key, STR("time")))
        take_time(reader, arena, state->time, sizeof(state->time));
    else if (json_key_is(reader, key, STR("sentence")))
        take_sentence(reader, arena, state);
    else if (json_key_is(reader, key, STR("errorRate")))
        take_number(reader, &state->error_rate);
    else if (json_key_is(reader, key, STR("p99Seconds")))
        take_number(reader, &state->p99_sec);
    else if (json_key_is(reader, key, STR("nodes")))
        json_int64(reader, &state->n_nodes);
    else if (json_key_is(reader, key, STR("waiting")))
        json_int64(reader, &state->n_waiting);
    else if (json_key_is(reader, key, STR("newest")))
        take_newest(reader, state);
    else if (json_key_is(reader, key, STR("requests")))
        take_requests(reader, state);
    else if (json_key_is(reader, key, STR("rejectedNodes")))
        take_count(reader, &state->rejected);
    else if (json_key_is(reader, key, STR("rules")))
        take_rules(reader, arena, state);
    else if (json_key_is(reader, key, STR("decisions")))
        take_decisions(reader, arena, state);
    else
        json_skip(reader, NULL);
}

bool top_state_take(TopState *state, Str json, Arena *scratch) {
    TopState *next;
    JsonReader reader;
    Str key;

    arena_reset(scratch);
    next = ARENA_RAW(scratch, TopState, 1);
    json_reader_init(&reader, json);
    if (!next || json_peek(&reader) != JSON_OBJECT_BEGIN)
        return false;
    *next = *state;
    json_object(&reader);
    while (json_key(&reader, &key))
        take_field(&reader, scratch, key, next);
    json_end(&reader);
    if (json_error(&reader) != JSON_OK)
        return false;
    *state = *next;
    state->has_update = true;
    return true;
}
