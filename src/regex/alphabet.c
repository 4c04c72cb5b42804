/*
 * The alphabet: Unicode cut into as few letters as the pattern needs.
 *
 * All ends of all ranges cut the code points into pieces; each set in turn then splits the
 * letters whose pieces it has only some of. What is left together behaves alike
 * everywhere, so the DFA needs one column for it: usually a handful, where bytes would
 * take 256.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "regex/program.h"

#define STEPS_MAX (1 << 22) /* pieces × sets; over it there is no DFA for the pattern */

typedef VEC(uint32_t) Cuts;

/* The new letters of the pieces of an old one: outside and inside what splits it. */
typedef struct Halves {
    uint32_t letters[2];
} Halves;

typedef struct Pieces {
    const uint32_t *from; /* where each begins; the first at 0 */
    size_t n;
    uint32_t *letters; /* of each */
    uint32_t n_letters;
    Halves *split; /* by old letter */
} Pieces;

static bool cut(Cuts *cuts, RegexRange range, Arena *scratch) {
    uint32_t *lo = VEC_PUSH(cuts, scratch);
    uint32_t *hi;

    if (!lo)
        return false;
    *lo = range.lo;
    hi = VEC_PUSH(cuts, scratch);
    if (!hi)
        return false;
    *hi = range.hi + 1;
    return true;
}

static const RegexRange newline = {'\n', '\n'};
static const RegexRange word[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};

/* All code points of a set, its ASCII part bit by bit. */
static bool cut_set(Cuts *cuts, const RegexSet *set, Arena *scratch) {
    bool was_in = false;

    for (uint32_t c = 0; c < 128; c++) {
        bool is_in = set->ascii[c / 64] >> (c % 64) & 1;

        if (is_in != was_in && !cut(cuts, (RegexRange){c, c}, scratch))
            return false;
        was_in = is_in;
    }
    for (uint32_t i = 0; i < set->n; i++)
        if (!cut(cuts, set->ranges[i], scratch))
            return false;
    return true;
}

static bool cut_all(const Regex *regex, Cuts *cuts, Arena *scratch) {
    if (!cut(cuts, (RegexRange){0, 127}, scratch) || !cut(cuts, newline, scratch))
        return false;
    for (size_t i = 0; i < ELEMENTS_OF(word); i++)
        if (!cut(cuts, word[i], scratch))
            return false;
    for (size_t i = 0; i < regex->n_sets; i++)
        if (!cut_set(cuts, &regex->sets[i], scratch))
            return false;
    for (size_t i = 0; i < regex->n_instructions; i++) {
        uint32_t c = regex->instructions[i].arg;

        if (regex->instructions[i].op == REGEX_OP_CHAR && !cut(cuts, (RegexRange){c, c}, scratch))
            return false;
    }
    return true;
}

static int compare_cuts(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static size_t order_cuts(uint32_t *cuts, size_t n) {
    size_t n_left = 0;

    qsort(cuts, n, sizeof(*cuts), compare_cuts);
    for (size_t i = 0; i < n; i++)
        if (cuts[i] <= REGEX_CODE_POINT_MAX && (n_left == 0 || cuts[n_left - 1] != cuts[i]))
            cuts[n_left++] = cuts[i];
    return n_left;
}

/* Something that has some of the pieces. */
typedef bool HasFn(const Regex *regex, uint32_t which, uint32_t c);

static bool set_has(const Regex *regex, uint32_t which, uint32_t c) {
    return regex_set_has(&regex->sets[which], c);
}
static bool char_is(const Regex *regex, uint32_t which, uint32_t c) {
    return which == c;
}
static bool is_word(const Regex *regex, uint32_t which, uint32_t c) {
    return regex_is_word(c);
}

/* Splits the letters that @has only in part. */
static void refine(Pieces *pieces, const Regex *regex, HasFn *has, uint32_t which) {
    uint32_t n = 0;

    memset(pieces->split, 0xFF, pieces->n_letters * sizeof(*pieces->split));
    for (size_t i = 0; i < pieces->n; i++) {
        bool is_in = has(regex, which, pieces->from[i]);
        uint32_t *new = &pieces->split[pieces->letters[i]].letters[is_in];

        if (*new == UINT32_MAX)
            *new = n++;
        pieces->letters[i] = *new;
    }
    pieces->n_letters = n;
}

/* False when that are too many steps or letters. */
static bool refine_all(Pieces *pieces, const Regex *regex) {
    uint64_t steps = 0;
    bool sees_words = false, sees_lines = false;

    for (size_t i = 0; i < regex->n_sets; i++) {
        refine(pieces, regex, set_has, (uint32_t)i);
        steps += pieces->n;
        if (steps > STEPS_MAX || pieces->n_letters > REGEX_LETTERS_MAX)
            return false;
    }
    for (size_t i = 0; i < regex->n_instructions; i++) {
        const RegexInstruction *at = &regex->instructions[i];

        if (at->op == REGEX_OP_ASSERT) {
            sees_words |= at->arg == REGEX_WORD_EDGE || at->arg == REGEX_NO_WORD_EDGE;
            sees_lines |= at->arg == REGEX_BEGIN_LINE || at->arg == REGEX_END_LINE;
        }
        if (at->op != REGEX_OP_CHAR)
            continue;
        refine(pieces, regex, char_is, at->arg);
        steps += pieces->n;
        if (steps > STEPS_MAX || pieces->n_letters > REGEX_LETTERS_MAX)
            return false;
    }
    if (sees_words)
        refine(pieces, regex, is_word, 0);
    if (sees_lines)
        refine(pieces, regex, char_is, '\n');
    return pieces->n_letters <= REGEX_LETTERS_MAX;
}

/* The tables the DFA reads: ASCII by index, the rest by search, neighbours of one letter
 * joined. */
static int write_tables(const Pieces *pieces, Arena *arena, RegexAlphabet *ret) {
    uint32_t *members = ARENA_RAW(arena, uint32_t, pieces->n_letters);
    uint32_t *from;
    uint8_t *letters;
    size_t first = 0, n = 0;

    while (pieces->from[first] < 128)
        first++;
    from = ARENA_RAW(arena, uint32_t, pieces->n - first);
    letters = ARENA_RAW(arena, uint8_t, pieces->n - first);
    if (!members || !from || !letters)
        return -ENOMEM;
    for (size_t i = 0; i < pieces->n; i++) {
        uint32_t end = i + 1 < pieces->n ? pieces->from[i + 1] : 128;
        uint8_t letter = (uint8_t)pieces->letters[i];

        members[letter] = pieces->from[i];
        for (uint32_t c = pieces->from[i]; c < end && c < 128; c++)
            ret->ascii[c] = letter;
        if (i < first || (n > 0 && letters[n - 1] == letter))
            continue;
        from[n] = pieces->from[i];
        letters[n++] = letter;
    }
    ret->members = members;
    ret->from = from;
    ret->letters = letters;
    ret->n_ranges = (uint32_t)n;
    ret->n = (uint16_t)pieces->n_letters;
    return 0;
}

int regex_alphabet_make(const Regex *regex, Arena *arena, Arena *scratch, RegexAlphabet *ret) {
    Cuts cuts = {0};
    Pieces pieces = {.n_letters = 1};

    *ret = (RegexAlphabet){0};
    if (!cut_all(regex, &cuts, scratch))
        return -ENOMEM;
    pieces.n = order_cuts(cuts.items, cuts.n);
    pieces.from = cuts.items;
    pieces.letters = ARENA_ARRAY(scratch, uint32_t, pieces.n);
    pieces.split = ARENA_RAW(scratch, Halves, pieces.n);
    if (!pieces.letters || !pieces.split)
        return -ENOMEM;
    return refine_all(&pieces, regex) ? write_tables(&pieces, arena, ret) : 0;
}
