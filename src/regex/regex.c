/* Regex: compiles a pattern, and answers whether and where it matches. */

#include "regex/regex.h"

#include <errno.h>

#include "regex/regex-internal.h"

#define SCRATCH_MAX ((size_t)16 * 1024 * 1024) /* for trees and classes while compiling */
#define MEMORY_MAX ((size_t)64 * 1024 * 1024)  /* of a simulation: grows with slots × program */

const Regex *regex_compile(
    Str pattern, size_t max_instructions, Arena *arena, RegexError *ret_error) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_MAX);
    Regex *regex = ARENA_NEW(arena, Regex);
    RegexTree tree;
    bool is_too_large;
    int r = scratch && regex ? regex_parse(pattern, scratch, &tree, ret_error) : -ENOMEM;

    if (r == REGEX_MALFORMED)
        return NULL;
    if (r == 0)
        r = regex_emit(&tree, max_instructions, arena, scratch, regex);
    if (r == 0)
        return regex;
    is_too_large = r == REGEX_MALFORMED || arena_limit_reached(arena) > 0 ||
                   (scratch && arena_limit_reached(scratch) > 0);
    *ret_error = (RegexError){
        .text =
            is_too_large ? STR("expression too large") : STR("out of memory for the expression"),
        .part = pattern,
    };
    return NULL;
}

size_t regex_n_groups(const Regex *regex) {
    return regex->n_groups;
}

size_t regex_size(const Regex *regex) {
    return regex->n_instructions;
}

/* The simulation follows every way through the program at once. Threads (an instruction that waits
 * for a character, and saved positions) are in order of priority; a MATCH drops those behind it. No
 * instruction is twice in a list, so the time is text × program for any pattern. */

static bool set_has(const RegexSet *set, uint32_t c) {
    size_t lo = 0, hi = set->n;

    if (c < 128)
        return set->ascii[c / 64] >> (c % 64) & 1;
    while (lo < hi) {
        size_t middle = (lo + hi) / 2;

        if (c > set->ranges[middle].hi)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < set->n && c >= set->ranges[lo].lo;
}

/* Whether a CHAR or SET takes @c. */
static bool takes(const Regex *regex, const RegexInstruction *instruction, uint32_t c) {
    if (instruction->op == REGEX_OP_CHAR)
        return instruction->arg == c;
    return instruction->op == REGEX_OP_SET && set_has(&regex->sets[instruction->arg], c);
}

/* The first place at or after @from where @regex->prefix is, or SIZE_MAX. */
static size_t prefix_find(const Regex *regex, Str text, size_t from) {
    Str prefix = regex->prefix;

    while (from < text.len && prefix.len <= text.len - from) {
        const char *at = memchr(text.ptr + from, prefix.ptr[0], text.len - from - prefix.len + 1);

        if (!at)
            return SIZE_MAX;
        if (memcmp(at, prefix.ptr, prefix.len) == 0)
            return (size_t)(at - text.ptr);
        from = (size_t)(at - text.ptr) + 1;
    }
    return SIZE_MAX;
}

typedef struct Threads {
    uint16_t *dense;  /* instructions, in order of priority */
    uint16_t *sparse; /* by instruction: its index in dense, if dense agrees */
    size_t *slots;    /* n_slots for each place in dense */
    size_t n;
} Threads;

/* The remaining work while a thread follows instructions that consume no character. */
typedef struct Todo {
    uint32_t what; /* an instruction, or RESTORE + a slot */
    size_t position;
} Todo;

#define RESTORE 0x10000u

/* For any number of searches with one regex. */
typedef struct Simulation {
    const Regex *regex;
    size_t n_slots;
    Threads now, next;
    size_t *current; /* slots of the thread being followed */
    Todo *todo;      /* an instruction adds two at most: its other way, and a slot to restore */
    Str text;
    bool is_done; /* without slots: a thread reached MATCH */
    uint64_t n_steps;
} Simulation;

static void make_threads(Threads *threads, size_t n, size_t n_slots, Arena *arena) {
    threads->dense = ARENA_RAW(arena, uint16_t, n);
    threads->sparse = ARENA_ARRAY(arena, uint16_t, n); /* read before it is written: see has() */
    threads->slots = ARENA_RAW(arena, size_t, n * n_slots);
}

/* @n_slots positions are kept: 2 per capture; 0: only whether there is a match. Returns false if
 * out of memory. */
static bool simulation_init(
    Simulation *s, const Regex *regex, Str text, size_t n_slots, Arena *arena) {
    size_t n = regex->n_instructions;

    *s = (Simulation){
        .regex = regex,
        .n_slots = n_slots,
        .current = ARENA_RAW(arena, size_t, n_slots),
        .todo = ARENA_RAW(arena, Todo, 2 * n + 1),
        .text = text,
    };
    make_threads(&s->now, n, n_slots, arena);
    make_threads(&s->next, n, n_slots, arena);
    return !arena_has_failed(arena);
}

static bool has(const Threads *threads, uint16_t instruction) {
    uint16_t place = threads->sparse[instruction];

    return place < threads->n && threads->dense[place] == instruction;
}

/* Adds the thread at @instruction, and follows all ways that take no character, in order of
 * priority. The slots it has so far are in s->current. */
static void add(Simulation *s, Threads *threads, uint16_t instruction, size_t at) {
    size_t n_todo = 0;

    s->todo[n_todo++] = (Todo){.what = instruction};
    while (n_todo > 0) {
        Todo todo = s->todo[--n_todo];
        const RegexInstruction *code = &s->regex->instructions[todo.what & 0xFFFF];
        size_t place = threads->n;

        if (todo.what >= RESTORE) {
            s->current[todo.what - RESTORE] = todo.position;
            continue;
        }
        if (has(threads, (uint16_t)todo.what))
            continue;
        s->n_steps++;
        threads->dense[place] = (uint16_t)todo.what;
        threads->sparse[todo.what] = (uint16_t)place;
        threads->n++;
        switch ((RegexOp)code->op) {
        case REGEX_OP_SPLIT:
            s->todo[n_todo++] = (Todo){.what = code->arg};
            s->todo[n_todo++] = (Todo){.what = code->next};
            break;
        case REGEX_OP_SAVE:
            if (code->arg < s->n_slots) {
                s->todo[n_todo++] =
                    (Todo){.what = RESTORE + code->arg, .position = s->current[code->arg]};
                s->current[code->arg] = at;
            }
            s->todo[n_todo++] = (Todo){.what = code->next};
            break;
        case REGEX_OP_ASSERT:
            if (regex_holds((RegexAssert)code->arg, s->text, at))
                s->todo[n_todo++] = (Todo){.what = code->next};
            break;
        case REGEX_OP_MATCH:
            s->is_done |= s->n_slots == 0;
            __attribute__((fallthrough));
        default:
            if (s->n_slots > 0)
                memcpy(&threads->slots[place * s->n_slots], s->current,
                    s->n_slots * sizeof(*s->current));
            break;
        }
    }
}

/* A new thread that starts here, with the lowest priority. */
static void begin(Simulation *s, size_t at) {
    for (size_t i = 0; i < s->n_slots; i++)
        s->current[i] = SIZE_MAX;
    if (s->n_slots > 0)
        s->current[0] = at;
    add(s, &s->now, s->regex->start, at);
}

/* All threads take @c, from @at to @after. Returns whether one had matched at @at: then @slots has
 * its slots, and threads with less priority are dropped. */
static bool step(Simulation *s, uint32_t c, bool is_end, size_t at, size_t after, size_t *slots) {
    s->next.n = 0;
    for (size_t i = 0; i < s->now.n; i++) {
        const RegexInstruction *code = &s->regex->instructions[s->now.dense[i]];
        const size_t *saved = &s->now.slots[i * s->n_slots];

        s->n_steps++;
        if (code->op == REGEX_OP_MATCH) {
            if (s->n_slots > 0)
                memcpy(slots, saved, s->n_slots * sizeof(*slots));
            if (s->n_slots > 1)
                slots[1] = at;
            return true;
        }
        if (is_end || !takes(s->regex, code, c))
            continue;
        if (s->n_slots > 0)
            memcpy(s->current, saved, s->n_slots * sizeof(*saved));
        add(s, &s->next, code->next, after);
    }
    return false;
}

/* Where the next thread could begin, at or after @at; SIZE_MAX: nowhere. */
static size_t find_begin(const Simulation *s, size_t at) {
    if (s->regex->is_anchored && at > 0)
        return SIZE_MAX;
    return s->regex->prefix.len > 0 ? prefix_find(s->regex, s->text, at) : at;
}

/* The leftmost match that starts at or after @from. 1 with @ret_slots (SIZE_MAX: did not match), 0,
 * or REGEX_LIMIT when it would take more than *@work steps. Subtracts the steps it takes. */
static int simulate(Simulation *s, size_t from, uint64_t *work, size_t *ret_slots) {
    const Str text = s->text;
    bool has_matched = false;
    size_t at = from;

    s->now.n = 0;
    s->is_done = false;
    while (true) {
        uint32_t c = 0;
        size_t after;
        Threads swap;

        if (s->now.n == 0) {
            size_t begins_at = has_matched ? SIZE_MAX : find_begin(s, at);

            if (begins_at == SIZE_MAX)
                return has_matched;
            at = begins_at;
        }
        s->n_steps = 1;
        if (!has_matched && !(s->regex->is_anchored && at > 0))
            begin(s, at);
        after = at < text.len ? at + regex_decode(text, at, &c) : at;
        has_matched |= step(s, c, at == text.len, at, after, ret_slots);
        if (s->is_done)
            return 1;
        if (s->n_steps > *work) {
            *work = 0;
            return REGEX_LIMIT;
        }
        *work -= s->n_steps;
        if (at == text.len)
            return has_matched;
        swap = s->now;
        s->now = s->next;
        s->next = swap;
        at = after;
    }
}

/* The simulation has its own memory and frees it at once: otherwise an evaluation that matches ten
 * thousand strings would accumulate it. */
int regex_matches(const Regex *regex, Str text) {
    _cleanup_(arena_freep) Arena *arena = NULL;
    Simulation simulation;
    uint64_t work = UINT64_MAX;

    if (regex->is_literal)
        return prefix_find(regex, text, 0) != SIZE_MAX;
    arena = arena_new(MEMORY_MAX);
    if (!arena || !simulation_init(&simulation, regex, text, 0, arena))
        return -ENOMEM;
    return simulate(&simulation, 0, &work, NULL);
}

struct RegexScan {
    Arena *arena; /* holds all of this */
    Simulation simulation;
    size_t n_spans;
    size_t at;           /* SIZE_MAX: the end */
    size_t previous_end; /* end of the last match; SIZE_MAX: none */
    size_t *slots;
};

RegexScan *regex_scan_free(RegexScan *scan) {
    if (scan)
        (void)arena_free(scan->arena);
    return NULL;
}

RegexScan *regex_scan_new(const Regex *regex, Str text, size_t n_spans) {
    _cleanup_(arena_freep) Arena *arena = arena_new(MEMORY_MAX);
    RegexScan *scan = arena ? ARENA_NEW(arena, RegexScan) : NULL;
    size_t n_all = regex->n_groups + 1;
    size_t n_slots = 2 * (n_spans == 0 ? 1 : n_spans < n_all ? n_spans : n_all);

    if (!scan)
        return NULL;
    scan->n_spans = n_spans;
    scan->previous_end = SIZE_MAX;
    scan->slots = ARENA_RAW(arena, size_t, n_slots);
    if (!simulation_init(&scan->simulation, regex, text, n_slots, arena))
        return NULL;
    scan->arena = TAKE_PTR(arena);
    return scan;
}

/* Sets where the search after a match begins: at its end @to, or a character further if it is
 * empty. */
static void advance(RegexScan *scan, size_t to) {
    Str text = scan->simulation.text;
    uint32_t c;

    if (to > scan->at)
        scan->at = to;
    else if (scan->at < text.len)
        scan->at += regex_decode(text, scan->at, &c);
    else
        scan->at = SIZE_MAX;
}

static void write_spans(const RegexScan *scan, RegexSpan *ret) {
    for (size_t i = 0; i < scan->n_spans; i++) {
        ret[i] = (RegexSpan){SIZE_MAX, SIZE_MAX};
        if (2 * i < scan->simulation.n_slots && scan->slots[2 * i + 1] != SIZE_MAX)
            ret[i] = (RegexSpan){scan->slots[2 * i], scan->slots[2 * i + 1]};
    }
}

int regex_scan_next(RegexScan *scan, uint64_t *work, RegexSpan *ret_spans) {
    while (scan->at != SIZE_MAX) {
        bool is_empty, is_adjacent;
        int r = simulate(&scan->simulation, scan->at, work, scan->slots);

        if (r != 1) {
            if (r == 0)
                scan->at = SIZE_MAX;
            return r;
        }
        /* An empty match right at the end of the previous one does not count (Go's rule). */
        is_empty = scan->slots[1] == scan->at;
        is_adjacent = scan->slots[0] == scan->previous_end;
        scan->previous_end = scan->slots[1];
        advance(scan, scan->slots[1]);
        if (is_empty && is_adjacent)
            continue;
        write_spans(scan, ret_spans);
        return 1;
    }
    return 0;
}
