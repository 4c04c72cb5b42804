/*
 * The DFA: sets of places in the program, each met once and then known by number.
 *
 * A state is the set of instructions the simulation would be at, without order and slots: for
 * "is there a match" nothing else matters. Its row says for every letter of the alphabet where
 * it leads; a row is filled in when the text first asks. So a text costs one look-up a
 * character, and the exponential number of states that a pattern could have costs nothing
 * until a text wanders through them: then the cache is emptied, and when that happens too
 * often the simulation takes over.
 *
 * Assertions that look back are decided when a state is made. Those that look ahead ($, \b) wait
 * in the state as instructions and are decided by the letter that leads out of it; the
 * end of the text is one more letter.
 */

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "regex/program.h"

/* Values in rows. Others are states: the index of their row's first cell, so at least the
 * width of a row; row 0 is not used. */
#define UNKNOWN 0u
#define MATCH 1u
#define DEAD 2u
#define FIRST_ROW_MIN 3u

#define FLUSHES_MAX 3 /* in one text, with less than FLUSH_PAYS characters a state between */
#define FLUSH_PAYS 8

/* What of the character before matters to a state whose assertions wait. */
#define AT_BEGIN 1u
#define AFTER_NEWLINE 2u
#define AFTER_WORD 4u
#define N_STARTS 8

typedef struct State {
    uint32_t from, n; /* its instructions in items */
    uint32_t hash;
    uint32_t before; /* AT_BEGIN, … */
} State;

/* A set of instructions, by number. */
typedef struct Members {
    uint16_t *dense, *sparse;
    size_t n;
} Members;

struct RegexDfa {
    size_t budget, size; /* bytes */
    size_t width;        /* cells of a row: letters, the end, at least FIRST_ROW_MIN */
    uint32_t *cells;
    State *states; /* [0] is not used */
    size_t n_states, max_states;
    uint16_t *items;
    size_t n_items, max_items;
    uint32_t *table; /* states by hash; 2 × max_states cells */
    uint32_t starts[N_STARTS];
    Members set, following;
    uint16_t *todo;
    bool has_match; /* what closing a set came across */
};

static bool make_members(Members *members, size_t n) {
    members->dense = malloc(n * sizeof(uint16_t));
    members->sparse = calloc(n, sizeof(uint16_t));
    return members->dense && members->sparse;
}

RegexDfa *regex_dfa_new(const Regex *regex, size_t budget) {
    RegexDfa *dfa = calloc(1, sizeof(*dfa));
    size_t n = regex->n_instructions;

    if (!dfa)
        return NULL;
    dfa->budget = budget;
    dfa->width = regex->alphabet.n + 1u > FIRST_ROW_MIN ? regex->alphabet.n + 1u : FIRST_ROW_MIN;
    dfa->size = sizeof(*dfa) + 5 * n * sizeof(uint16_t);
    dfa->n_states = 1;
    dfa->todo = malloc(n * sizeof(uint16_t));
    if (!make_members(&dfa->set, n) || !make_members(&dfa->following, n) || !dfa->todo)
        return regex_dfa_free(dfa);
    return dfa;
}

static void free_members(Members *members) {
    free(members->dense);
    free(members->sparse);
}

RegexDfa *regex_dfa_free(RegexDfa *dfa) {
    if (!dfa)
        return NULL;
    free(dfa->cells);
    free(dfa->states);
    free(dfa->items);
    free(dfa->table);
    free(dfa->todo);
    free_members(&dfa->set);
    free_members(&dfa->following);
    free(dfa);
    return NULL;
}

size_t regex_dfa_size(const RegexDfa *dfa) {
    return dfa->size;
}

static bool has(const Members *members, uint16_t instruction) {
    uint16_t place = members->sparse[instruction];

    return place < members->n && members->dense[place] == instruction;
}

static void insert(RegexDfa *dfa, Members *members, uint16_t instruction, size_t *n_todo) {
    if (has(members, instruction))
        return;
    members->sparse[instruction] = (uint16_t)members->n;
    members->dense[members->n++] = instruction;
    dfa->todo[(*n_todo)++] = instruction;
}

static bool looks_ahead(uint32_t what) {
    return what != REGEX_BEGIN_TEXT && what != REGEX_BEGIN_LINE;
}

/* Adds @instruction and all that is reached from it without a character. @knows_ahead: the edge
 * is known on both sides; else assertions that look ahead stay. */
static void close_over(RegexDfa *dfa, const Regex *regex, Members *members, uint16_t instruction,
    RegexEdge edge, bool knows_ahead) {
    size_t n_todo = 0;

    insert(dfa, members, instruction, &n_todo);
    while (n_todo > 0) {
        const RegexInstruction *at = &regex->instructions[dfa->todo[--n_todo]];

        switch ((RegexOp)at->op) {
        case REGEX_OP_SPLIT:
            insert(dfa, members, (uint16_t)at->arg, &n_todo);
            insert(dfa, members, at->next, &n_todo);
            break;
        case REGEX_OP_JUMP:
        case REGEX_OP_SAVE:
            insert(dfa, members, at->next, &n_todo);
            break;
        case REGEX_OP_ASSERT:
            if ((knows_ahead || !looks_ahead(at->arg)) && regex_holds((RegexAssert)at->arg, edge))
                insert(dfa, members, at->next, &n_todo);
            break;
        case REGEX_OP_MATCH:
            dfa->has_match = true;
            break;
        case REGEX_OP_CHAR:
        case REGEX_OP_SET:
            break;
        }
    }
}

static RegexEdge edge_after(uint32_t before) {
    return (RegexEdge){
        .at_begin = before & AT_BEGIN,
        .after_newline = before & AFTER_NEWLINE,
        .after_word = before & AFTER_WORD,
    };
}

static uint32_t before_of(uint32_t c) {
    return (c == '\n' ? AFTER_NEWLINE : 0) | (regex_is_word(c) ? AFTER_WORD : 0);
}

/* Forgets all states. */
static void flush(RegexDfa *dfa) {
    dfa->n_states = 1;
    dfa->n_items = 0;
    memset(dfa->starts, 0, sizeof(dfa->starts));
    if (dfa->table)
        memset(dfa->table, 0, 2 * dfa->max_states * sizeof(*dfa->table));
}

/* *@at with room for @n elements. */
static bool resize(void **at, size_t n, size_t element) {
    void *new = realloc(*at, n * element);

    if (new)
        *at = new;
    return new;
}

static void enter(RegexDfa *dfa, uint32_t state) {
    size_t mask = 2 * dfa->max_states - 1, at = dfa->states[state].hash & mask;

    while (dfa->table[at] != 0)
        at = (at + 1) & mask;
    dfa->table[at] = state;
}

/* Twice the states. False over the budget, or without memory: nothing is lost. */
static bool grow_states(RegexDfa *dfa) {
    size_t old = dfa->max_states, max = old > 0 ? 2 * old : 8;
    size_t each = dfa->width * sizeof(uint32_t) + sizeof(State) + 2 * sizeof(uint32_t);

    if (dfa->size + (max - old) * each > dfa->budget || max * dfa->width > UINT32_MAX)
        return false;
    if (!resize((void **)&dfa->cells, max * dfa->width, sizeof(uint32_t)) ||
        !resize((void **)&dfa->states, max, sizeof(State)) ||
        !resize((void **)&dfa->table, 2 * max, sizeof(uint32_t)))
        return false;
    dfa->size += (max - old) * each;
    dfa->max_states = max;
    memset(dfa->table, 0, 2 * max * sizeof(uint32_t));
    for (uint32_t i = 1; i < dfa->n_states; i++)
        enter(dfa, i);
    return true;
}

static bool grow_items(RegexDfa *dfa, size_t n) {
    size_t old = dfa->max_items, max = old > 0 ? 2 * old : 64;

    while (max < n)
        max *= 2;
    if (dfa->size + (max - old) * sizeof(uint16_t) > dfa->budget ||
        !resize((void **)&dfa->items, max, sizeof(uint16_t)))
        return false;
    dfa->size += (max - old) * sizeof(uint16_t);
    dfa->max_items = max;
    return true;
}

static int compare_items(const void *a, const void *b) {
    return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

/* Leaves only what waits: for a character, or for one to be seen. In order, so that
 * equal states look equal. Whether an assertion is among it. */
static bool keep_waiting(const Regex *regex, Members *members) {
    bool has_asserts = false;
    size_t n = 0;

    for (size_t i = 0; i < members->n; i++) {
        const RegexInstruction *at = &regex->instructions[members->dense[i]];
        bool is_assert = at->op == REGEX_OP_ASSERT && looks_ahead(at->arg);

        if (!is_assert && at->op != REGEX_OP_CHAR && at->op != REGEX_OP_SET)
            continue;
        members->dense[n++] = members->dense[i];
        has_asserts |= is_assert;
    }
    members->n = n;
    qsort(members->dense, n, sizeof(members->dense[0]), compare_items);
    return has_asserts;
}

static uint32_t find_state(
    const RegexDfa *dfa, const Members *members, uint32_t before, uint32_t hash) {
    size_t mask = 2 * dfa->max_states - 1;

    if (dfa->max_states == 0)
        return 0;
    for (size_t at = hash & mask; dfa->table[at] != 0; at = (at + 1) & mask) {
        const State *state = &dfa->states[dfa->table[at]];

        if (state->hash == hash && state->before == before && state->n == members->n &&
            (state->n == 0 ||
                memcmp(&dfa->items[state->from], members->dense, state->n * sizeof(uint16_t)) == 0))
            return dfa->table[at];
    }
    return 0;
}

/* The cell value for the state of @members after @before; UNKNOWN when there is no room. */
static uint32_t intern(RegexDfa *dfa, const Regex *regex, Members *members, uint32_t before) {
    uint32_t hash, state;

    if (!keep_waiting(regex, members))
        before = 0; /* nobody will ask */
    if (members->n == 0 && !regex->sees_lines)
        return DEAD; /* else a newline could still come */
    hash = (uint32_t)hash_str(str_of((const char *)members->dense, members->n * sizeof(uint16_t))) +
           before;
    state = find_state(dfa, members, before, hash);
    if (state != 0)
        return (uint32_t)(state * dfa->width);
    if (dfa->n_states == dfa->max_states || dfa->max_states == 0)
        if (!grow_states(dfa))
            return UNKNOWN;
    if (dfa->n_items + members->n > dfa->max_items && !grow_items(dfa, dfa->n_items + members->n))
        return UNKNOWN;
    state = (uint32_t)dfa->n_states++;
    dfa->states[state] = (State){
        .from = (uint32_t)dfa->n_items,
        .n = (uint32_t)members->n,
        .hash = hash,
        .before = before,
    };
    if (members->n > 0)
        memcpy(&dfa->items[dfa->n_items], members->dense, members->n * sizeof(uint16_t));
    dfa->n_items += members->n;
    memset(&dfa->cells[state * dfa->width], 0, dfa->width * sizeof(uint32_t));
    enter(dfa, state);
    return (uint32_t)(state * dfa->width);
}

/* The set of @state with its assertions decided by what follows; has_match says whether that
 * is all a match needs. */
static void look_ahead(RegexDfa *dfa, const Regex *regex, const State *state, RegexEdge edge) {
    dfa->set.n = 0;
    dfa->has_match = false;
    for (uint32_t i = 0; i < state->n; i++)
        close_over(dfa, regex, &dfa->set, dfa->items[state->from + i], edge, true);
}

/* Where @row leads with @letter, by doing what the simulation would do. Writes it into the
 * row, unless there is no room: then UNKNOWN, and dfa->following is the state that
 * found none. */
static uint32_t learn(
    RegexDfa *dfa, const Regex *regex, uint32_t row, size_t letter, uint32_t *ret_before) {
    const State *state = &dfa->states[row / dfa->width];
    bool is_end = letter == regex->alphabet.n;
    uint32_t c = is_end ? 0 : regex->alphabet.members[letter], cell;
    RegexEdge edge = edge_after(state->before);

    edge.at_end = is_end;
    edge.before_newline = !is_end && c == '\n';
    edge.before_word = !is_end && regex_is_word(c);
    look_ahead(dfa, regex, state, edge);
    if (dfa->has_match || is_end)
        return dfa->cells[row + letter] = dfa->has_match ? MATCH : DEAD;

    *ret_before = before_of(c);
    edge = edge_after(*ret_before);
    dfa->following.n = 0;
    for (size_t i = 0; i < dfa->set.n; i++) {
        const RegexInstruction *at = &regex->instructions[dfa->set.dense[i]];

        if (regex_takes(regex, at, c))
            close_over(dfa, regex, &dfa->following, at->next, edge, false);
    }
    close_over(dfa, regex, &dfa->following, regex->start, edge, false); /* or begins here */
    cell = dfa->has_match ? MATCH : intern(dfa, regex, &dfa->following, *ret_before);
    if (cell != UNKNOWN)
        dfa->cells[row + letter] = cell;
    return cell;
}

/* The state at the beginning of a search. */
static uint32_t start_at(RegexDfa *dfa, const Regex *regex, uint32_t before) {
    if (dfa->starts[before] != UNKNOWN)
        return dfa->starts[before];
    dfa->following.n = 0;
    dfa->has_match = false;
    close_over(dfa, regex, &dfa->following, regex->start, edge_after(before), false);
    dfa->starts[before] = dfa->has_match ? MATCH : intern(dfa, regex, &dfa->following, before);
    return dfa->starts[before];
}

static size_t letter_of(const RegexAlphabet *alphabet, uint32_t c) {
    size_t lo = 0, hi = alphabet->n_ranges; /* from[lo] <= c < from[hi] */

    if (c < 128)
        return alphabet->ascii[c];
    while (hi - lo > 1) {
        size_t middle = (lo + hi) / 2;

        if (alphabet->from[middle] <= c)
            lo = middle;
        else
            hi = middle;
    }
    return alphabet->letters[lo];
}

/* No room for a state: forgets the others and keeps this one. UNKNOWN: does not pay. */
static uint32_t start_over(
    RegexDfa *dfa, const Regex *regex, uint32_t before, size_t at, size_t *n_flushes) {
    if (++*n_flushes > FLUSHES_MAX && at / *n_flushes < FLUSH_PAYS * dfa->n_states)
        return UNKNOWN;
    flush(dfa);
    return intern(dfa, regex, &dfa->following, before);
}

int regex_dfa_matches(RegexDfa *dfa, const Regex *regex, Str text) {
    const RegexAlphabet *alphabet = &regex->alphabet;
    size_t at = 0, n_flushes = 0;
    uint32_t before = AT_BEGIN, row;

    if (regex->prefix.len > 0) {
        at = regex_prefix_find(regex, text, 0);
        if (at == SIZE_MAX)
            return 0;
        if (at > 0)
            before = before_of((unsigned char)text.ptr[at - 1]);
    }
    row = start_at(dfa, regex, before);
    if (row == UNKNOWN) {
        flush(dfa);
        row = start_at(dfa, regex, before);
    }
    while (row > DEAD) {
        size_t letter = alphabet->n; /* the end */
        uint32_t next, c;

        if (at < text.len) {
            unsigned char byte = (unsigned char)text.ptr[at];

            if (byte < 128) {
                letter = alphabet->ascii[byte];
                at++;
            } else {
                at += regex_decode(text, at, &c);
                letter = letter_of(alphabet, c);
            }
        }
        next = dfa->cells[row + letter];
        if (next == UNKNOWN) {
            next = learn(dfa, regex, row, letter, &before);
            if (next == UNKNOWN)
                next = start_over(dfa, regex, before, at, &n_flushes);
        }
        row = next;
    }
    return row == MATCH ? 1 : row == DEAD ? 0 : REGEX_DFA_GAVE_UP;
}
