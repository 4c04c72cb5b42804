/* Every way through the program at once. Threads (an instruction that waits for a character, and
 * saved positions) lie in order of priority; a MATCH cuts off those behind it. No instruction is
 * twice in a list, so time is text × program, whatever the pattern. */

#include "regex/regex-internal.h"

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

struct RegexSimulation {
    const Regex *regex;
    size_t n_slots;
    Threads now, next;
    size_t *current; /* slots of the thread being followed */
    Todo *todo;      /* an instruction adds two at most: its other way, and a slot to restore */
    Str text;
    bool is_done; /* without slots: a thread reached MATCH */
    uint64_t n_steps;
};

static bool make_threads(Threads *threads, size_t n, size_t n_slots, Arena *arena) {
    threads->dense = ARENA_RAW(arena, uint16_t, n);
    threads->sparse = ARENA_ARRAY(arena, uint16_t, n); /* read before it is written: see has() */
    threads->slots = ARENA_RAW(arena, size_t, n * n_slots);
    return threads->dense && threads->sparse && threads->slots;
}

RegexSimulation *regex_simulation_new(const Regex *regex, size_t n_slots, Arena *arena) {
    RegexSimulation *s = ARENA_NEW(arena, RegexSimulation);
    size_t n = regex->n_instructions;

    if (!s)
        return NULL;
    s->regex = regex;
    s->n_slots = n_slots;
    s->current = ARENA_RAW(arena, size_t, n_slots);
    s->todo = ARENA_RAW(arena, Todo, 2 * n + 1);
    if (!make_threads(&s->now, n, n_slots, arena) || !make_threads(&s->next, n, n_slots, arena) ||
        !s->current || !s->todo)
        return NULL;
    return s;
}

static bool has(const Threads *threads, uint16_t instruction) {
    uint16_t place = threads->sparse[instruction];

    return place < threads->n && threads->dense[place] == instruction;
}

/* Adds the thread at @instruction, following all ways that take no character, in order of
 * priority. The slots it has so far are in s->current. */
static void add(RegexSimulation *s, Threads *threads, uint16_t instruction, size_t at) {
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
            if (regex_holds((RegexAssert)code->arg, regex_edge_at(s->text, at)))
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
static void begin(RegexSimulation *s, size_t at) {
    for (size_t i = 0; i < s->n_slots; i++)
        s->current[i] = SIZE_MAX;
    if (s->n_slots > 0)
        s->current[0] = at;
    add(s, &s->now, s->regex->start, at);
}

/* All threads take @c, which is at @at, and wait at @after. Whether one matched before it: then
 * its slots are in @slots and all with less priority are gone. */
static bool step(
    RegexSimulation *s, uint32_t c, bool is_end, size_t at, size_t after, size_t *slots) {
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
        if (is_end || !regex_takes(s->regex, code, c))
            continue;
        if (s->n_slots > 0)
            memcpy(s->current, saved, s->n_slots * sizeof(*saved));
        add(s, &s->next, code->next, after);
    }
    return false;
}

/* Where the next thread could begin, at or after @at; SIZE_MAX: nowhere. */
static size_t find_begin(const RegexSimulation *s, size_t at) {
    if (s->regex->is_anchored && at > 0)
        return SIZE_MAX;
    return s->regex->prefix.len > 0 ? regex_prefix_find(s->regex, s->text, at) : at;
}

static void swap_lists(RegexSimulation *s) {
    Threads now = s->now;

    s->now = s->next;
    s->next = now;
}

int regex_simulate(RegexSimulation *s, Str text, size_t from, uint64_t *work, size_t *ret_slots) {
    bool has_matched = false;
    size_t at = from;

    s->text = text;
    s->now.n = 0;
    s->is_done = false;
    while (true) {
        uint32_t c = 0;
        size_t after;

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
        swap_lists(s);
        at = after;
    }
}
