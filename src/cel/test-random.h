#pragma once

/*
 * Random expressions over the variables of test-fixture.h, mostly of the right types.
 *
 * A template is text with holes: @I an int, @B a bool, @S a string, @L a list of ints, @M a map
 * from strings to ints, @O an optional int, @D a value of any type; @i, @b … declare a variable of
 * that type for the rest of the template. Names are few, so they often hide each other; leaves are
 * few, so equal parts are frequent.
 */

#include <ctype.h>

#include "base/buf.h"
#include "base/rng.h"
#include "base/str.h"

#define RANDOM_NAMES 4
#define RANDOM_SCOPE_MAX 256

typedef struct RandomText {
    Rng rng;
    Buf out;
    struct {
        char type; /* 'i' */
        uint32_t name;
    } scope[RANDOM_SCOPE_MAX];
    size_t n_scope;
} RandomText;

#define RANDOM_TEMPLATES 34

/* The first templates of a type are leaves. */
static const struct {
    char type;
    size_t n_leaves;
    const char *templates[RANDOM_TEMPLATES];
} random_types[] = {
    {'I', 6,
        {"n", "0", "1", "2", "-1", "9223372036854775807", "(@I + @I)", "(@I - @I)", "(@I * @I)",
            "(@I / @I)", "(@I % @I)", "(-(@I))", "@L.size()", "@L[@I]", "@M[@S]", "@M.a",
            "@O.orValue(@I)", "@O.value()", "(@B ? @I : @I)", "@D", "cel.bind(@i, @I, @I)",
            "cel.bind(@l, @L, @I)", "cel.bind(@o, @O, @I)", "cel.bind(@b, @B, @I)", "@S.size()"}},
    {'B', 3,
        {"true", "false", "n == 1", "(@B && @B)", "(@B || @B)", "!(@B)", "(@I < @I)", "(@I == @I)",
            "(@S == @S)", "(@L == @L)", "(@I in @L)", "(@S in ['a', 'b'])", "(@I in [1, 2, 3])",
            "(@D in [1, 2u, 3, 4, 5, 6, 7, 8, 9, 10])", "@L.all(@i, @B)", "@L.exists(@i, @B)",
            "@L.exists_one(@i, @B)", "@L.all(@i, @i, @B)", "@L.exists(@i, @i, @B)",
            "@M.all(@s, @i, @B)", "@M.exists(@s, @i, @B)", "@M.existsOne(@s, @i, @B)", "has(@M.a)",
            "@O.hasValue()", "cel.bind(@b, @B, @B)", "cel.bind(@m, @M, @B)", "@D",
            /* Errors inside loops inside operators that absorb them. */
            "(@L.map(@i, @I / n) == @L || @B)", "@L.all(@i, @L.map(@i, @I / @I) == @L || @B)",
            "@L.exists(@i, @L.filter(@i, @I / @I == @I).size() == @I && @B)",
            "@M.exists(@s, @i, @L.exists(@i, @M[@S] == @I / @I || @L[@I] == @I))",
            "cel.bind(@l, @L.map(@i, @I / @I), @L.exists(@i, @B && @L == @L || @B))"}},
    {'S', 3,
        {"'a'", "'b'", "s", "(@S + @S)", "string(@I)", "(@B ? @S : @S)", "@D",
            "cel.bind(@s, @S, @S)"}},
    {'L', 3,
        {"l", "[]", "[1, n]", "[@I, @I]", "[?@O, @I]", "[?@O, ?@O]", "@L.filter(@i, @B)",
            "@L.map(@i, @I)", "@L.map(@i, @B, @I)", "@L.transformList(@i, @i, @I)",
            "@L.transformList(@i, @i, @B, @I)", "(@L + @L)", "(@B ? @L : @L)", "@M.map(@s, @M[@S])",
            "cel.bind(@l, @L, @L)", "cel.bind(@i, @I, @L)", "@D"}},
    {'M', 3,
        {"m", "{}", "{'a': n}", "{'a': @I, @S: @I}", "{?@S: @O}", "{?'a': @O, 'b': @I}",
            "@M.transformMap(@s, @i, @I)", "@M.transformMap(@s, @i, @B, @I)", "(@B ? @M : @M)",
            "cel.bind(@m, @M, @M)"}},
    {'O', 2,
        {"optional.none()", "optional.of(n)", "optional.of(@I)", "@M[?@S]", "@M.?a", "@L[?@I]",
            "@O.or(@O)", "@O.optMap(@i, @I)", "@O.optFlatMap(@i, @O)", "(@B ? @O : @O)",
            "cel.bind(@o, @O, @O)"}},
    {'D', 4,
        {"dyn(n)", "dyn(s)", "d", "dyn(double(n))", "dyn(@I)", "dyn(@B)", "dyn(@L)", "dyn(@M)",
            "(@B ? dyn(@I) : dyn(@S))"}},
};

/* A visible variable of a type, if there is one. */
static inline bool random_variable(RandomText *text, char type) {
    bool is_hidden[RANDOM_NAMES] = {false};

    for (size_t i = text->n_scope; i-- > 0;) {
        uint32_t name = text->scope[i].name;

        if (text->scope[i].type == type && !is_hidden[name] && rng_pick(&text->rng, 3) > 0) {
            buf_printf(&text->out, "v%u", name);
            return true;
        }
        is_hidden[name] = true;
    }
    return false;
}

static inline const char *random_template(RandomText *text, char type, bool is_leaf) {
    size_t t = 0, n = 0;

    while (random_types[t].type != type)
        t++;
    while (n < RANDOM_TEMPLATES && random_types[t].templates[n])
        n++;
    return random_types[t].templates[rng_pick(&text->rng, is_leaf ? random_types[t].n_leaves : n)];
}

/* Recursive: @depth deep. The value of cel.bind() does not see its variable. */
static inline void random_fill(RandomText *text, char type, int depth) {
    size_t n_scope = text->n_scope, n_hidden = 0;
    const char *at;

    if (depth <= 0 && random_variable(text, (char)tolower(type)))
        return;
    at = random_template(text, type, depth <= 0);
    n_hidden = strncmp(at, "cel.bind", 8) == 0;
    for (; *at; at++) {
        if (*at != '@') {
            buf_append_char(&text->out, *at);
        } else if (isupper((unsigned char)*++at)) {
            text->n_scope -= n_hidden;
            random_fill(text, *at, depth - 1);
            text->n_scope += n_hidden;
            n_hidden = 0;
        } else {
            uint32_t name = (uint32_t)rng_pick(&text->rng, RANDOM_NAMES);

            text->scope[text->n_scope].type = *at;
            text->scope[text->n_scope++].name = name;
            buf_printf(&text->out, "v%u", name);
        }
    }
    text->n_scope = n_scope;
}

/* Valid until the next expression is made. */
static inline Str random_expression(RandomText *text, int depth) {
    static const char types[] = "IBLMO";

    buf_reset(&text->out);
    random_fill(text, types[rng_pick(&text->rng, 5)], depth);
    return buf_str(&text->out);
}
