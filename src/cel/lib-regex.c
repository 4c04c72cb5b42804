/* matches() of the language, find() and findAll() of Kubernetes, cel-go's regex.*. A constant
 * pattern is compiled with the expression, any other for each call, which is charged for it.
 * matches() charges for text × pattern beforehand; searches charge for the steps they take. */

#include "base/vec.h"
#include "cel/library.h"
#include "regex/regex.h"

#define COMPILE_FUEL 100                             /* for a pattern, and … */
#define COMPILE_FUEL_BYTE 16                         /* … each byte of it */
#define COMPILE_MEMORY_MAX ((size_t)8 * 1024 * 1024) /* of a pattern made at run time */
#define STEPS_PER_FUEL 4                             /* steps of a search */
#define GROUP_MAX 9                                  /* \1 to \9 in a replacement */
#define PATTERN_SHOWN_MAX 200                        /* bytes of a pattern in an error */

static Str describe(RegexError error, Arena *arena) {
    return arena_printf(arena, "error parsing regexp: %.*s: `%.*s`", STR_FMT(error.text),
        STR_FMT(str_take(error.part, PATTERN_SHOWN_MAX)));
}

static const void *prepare_pattern(CelValue argument, Arena *arena, Str *ret_error) {
    RegexError error = {0};
    const Regex *regex = regex_compile(cel_str(argument), CEL_REGEX_MAX, arena, &error);

    if (!regex)
        *ret_error = describe(error, arena);
    return regex;
}

/* The pattern of a call, and a scan of its text. */
typedef struct Search {
    CelRun *run;
    const Regex *regex; /* NULL: the reason is in @error */
    Arena *own;         /* of a pattern compiled for this call; else NULL */
    RegexScan *scan;
    Str text;
    CelValue error; /* CEL_ABSENT: none */
} Search;

static void search_done(Search *search) {
    search->scan = regex_scan_free(search->scan);
    search->own = arena_free(search->own);
}

static void compile(Search *search, CelValue pattern, const char *intro) {
    RegexError error = {0};
    Str described;

    if (!cel_charge(search->run, COMPILE_FUEL + (uint64_t)pattern.len * COMPILE_FUEL_BYTE)) {
        search->error = cel_exhausted(search->run);
        return;
    }
    search->own = arena_new(COMPILE_MEMORY_MAX);
    if (search->own)
        search->regex = regex_compile(cel_str(pattern), CEL_REGEX_MAX, search->own, &error);
    if (search->regex)
        return;
    described = search->own ? describe(error, search->own) : STR_NULL;
    search->error = described.ptr ? cel_fail(search->run, "%s%.*s", intro, STR_FMT(described))
                                  : cel_no_memory(search->run);
}

/* Prepares a search of text @args[0]. Pattern @args[1] is compiled unless @prepared; an error in it
 * begins with @intro. @n_spans 0: no scan is made, for matches(). */
static Search search_of(
    CelRun *run, const CelValue *args, const void *prepared, const char *intro, size_t n_spans) {
    Search search = {.run = run, .regex = prepared, .text = cel_str(args[0])};

    if (!prepared)
        compile(&search, args[1], intro);
    if (!search.regex || n_spans == 0)
        return search;
    search.scan = regex_scan_new(search.regex, search.text, n_spans);
    if (!search.scan)
        search.error = cel_no_memory(run);
    return search;
}

CEL_FUNCTION(matches) {
    _cleanup_(search_done) Search search = search_of(run, args, prepared, "", 0);
    int r;

    if (!search.regex)
        return search.error;
    if (!cel_charge(run, (1 + (uint64_t)args[0].len / 8) * (1 + regex_size(search.regex) / 8)))
        return cel_exhausted(run);
    r = regex_matches(search.regex, search.text);
    return r < 0 ? cel_no_memory(run) : cel_bool(r);
}

/* False: no further match, or search->error is set. */
static bool next_match(Search *search, RegexSpan *ret_spans) {
    uint64_t before, work;
    int r;

    if (search->error.kind == CEL_ERROR)
        return false;
    if (__builtin_mul_overflow((uint64_t)search->run->fuel, STEPS_PER_FUEL, &work))
        work = UINT64_MAX;
    before = work;
    r = regex_scan_next(search->scan, &work, ret_spans);
    if (!cel_charge(search->run, (before - work) / STEPS_PER_FUEL + 1) || r == REGEX_LIMIT) {
        search->run->fuel = 0;
        search->error = cel_exhausted(search->run);
        return false;
    }
    return r == 1;
}

static CelValue part_of(Str text, RegexSpan span) {
    return cel_string(
        span.from < span.to ? str_of(text.ptr + span.from, span.to - span.from) : STR(""));
}

CEL_FUNCTION(find) {
    _cleanup_(search_done) Search search = search_of(run, args, prepared, "Illegal regex: ", 1);
    RegexSpan span;

    if (next_match(&search, &span))
        return part_of(search.text, span);
    return search.error.kind == CEL_ERROR ? search.error : cel_string(STR(""));
}

/* Appends up to @limit (negative: all) results of the search to a list: the whole match, or with
 * @group the text of the only group, if it matched. */
static CelValue collect(Search *search, int64_t limit, bool group) {
    VEC(CelValue) found = {0};
    RegexSpan spans[2];

    while ((limit < 0 || (int64_t)found.n < limit) && next_match(search, spans)) {
        if (group && (spans[1].from == SIZE_MAX || spans[1].from == spans[1].to))
            continue;
        if (!VEC_ADD(&found, search->run->arena, part_of(search->text, spans[group])))
            return cel_no_memory(search->run);
    }
    if (search->error.kind == CEL_ERROR)
        return search->error;
    return cel_list_end(search->run, found.items, found.n);
}

static CelValue find_all_up_to(
    CelRun *run, const CelValue *args, const void *prepared, int64_t limit) {
    _cleanup_(search_done) Search search = search_of(run, args, prepared, "Illegal regex: ", 1);

    return collect(&search, limit, false);
}

CEL_RETURNS(find_all, find_all_up_to(run, args, prepared, -1))
CEL_RETURNS(find_all_limit, find_all_up_to(run, args, prepared, args[2].i))

/* regex.extract() and regex.extractAll(): the whole match, or the one group there may be. */

static CelValue too_many_groups(CelRun *run, CelValue pattern) {
    _cleanup_(buf_done) Buf shown = BUF_INIT(16 * PATTERN_SHOWN_MAX);

    cel_value_print(pattern, run, PATTERN_SHOWN_MAX, &shown);
    return cel_fail(run, "regular expression has more than one capturing group: %.*s",
        STR_FMT(buf_str(&shown)));
}

CEL_FUNCTION(extract) {
    _cleanup_(search_done) Search search =
        search_of(run, args, prepared, "given regex is invalid: ", 2);
    size_t n_groups = search.regex ? regex_n_groups(search.regex) : 0;
    RegexSpan spans[2];

    if (n_groups > 1)
        return too_many_groups(run, args[1]);
    if (!next_match(&search, spans))
        return search.error.kind == CEL_ERROR ? search.error : cel_none();
    if (n_groups == 1 && (spans[1].from == SIZE_MAX || spans[1].from == spans[1].to))
        return cel_none(); /* a group that matched nothing, or nothing but "" */
    return cel_make_optional(run, part_of(search.text, spans[n_groups]));
}

CEL_FUNCTION(extract_all) {
    _cleanup_(search_done) Search search =
        search_of(run, args, prepared, "given regex is invalid: ", 2);
    size_t n_groups = search.regex ? regex_n_groups(search.regex) : 0;

    return n_groups > 1 ? too_many_groups(run, args[1]) : collect(&search, -1, n_groups == 1);
}

/* regex.replace(). */

typedef struct Replacement {
    Search search;
    Str written; /* the replacement, with \0 to \9 */
    Buf out;
} Replacement;

/* Appends @part; if that takes too much fuel, run->limit is set. */
static void append(Replacement *r, Str part) {
    buf_append(&r->out, part);
    (void)cel_pay(r->search.run, 1 + part.len / 8);
}

/* The character after a \: another \, or the number of a group. Null, or an error. */
static CelValue append_escaped(Replacement *r, char c, const RegexSpan *spans) {
    CelRun *run = r->search.run;
    size_t group = (size_t)(c - '0'), n_groups = regex_n_groups(r->search.regex);

    if (c == '\\')
        append(r, STR("\\"));
    else if (c < '0' || c > '9')
        return cel_fail(run,
            "invalid replacement string: '%.*s' \\ must be followed by a digit or \\",
            STR_FMT(r->written));
    else if (group > n_groups)
        return cel_fail(run,
            "replacement string references group %zu but regex has only %zu group(s)", group,
            n_groups);
    else if (spans[group].from != SIZE_MAX)
        append(r, cel_str(part_of(r->search.text, spans[group])));
    return run->limit ? cel_limit(run) : cel_null();
}

/* Appends the replacement of one match. Null, or an error. */
static CelValue append_replacement(Replacement *r, const RegexSpan *spans) {
    CelValue v = cel_null();

    for (Str rest = r->written; rest.len > 0 && v.kind != CEL_ERROR; rest = str_skip(rest, 2)) {
        size_t plain = str_find(rest, '\\');

        append(r, str_take(rest, plain));
        rest = str_skip(rest, plain);
        if (rest.len == 1)
            return cel_fail(r->search.run,
                "invalid replacement string: '%.*s' \\ not allowed at end", STR_FMT(r->written));
        if (rest.len > 1)
            v = append_escaped(r, rest.ptr[1], spans);
    }
    return v;
}

/* Replaces up to @count (negative: all) matches, and copies the text between them. */
static CelValue replace_matches(Replacement *r, int64_t count) {
    Search *search = &r->search;
    RegexSpan spans[GROUP_MAX + 1];
    size_t done = 0; /* of the text */

    while (count != 0 && next_match(search, spans)) {
        CelValue v;

        append(r, str_of(search->text.ptr + done, spans[0].from - done));
        v = append_replacement(r, spans);
        if (v.kind == CEL_ERROR)
            return v;
        done = spans[0].to;
        count -= count > 0;
    }
    if (search->error.kind == CEL_ERROR)
        return search->error;
    buf_append(&r->out, str_skip(search->text, done));
    return buf_error(&r->out) < 0 ? cel_no_memory(search->run)
                                  : cel_make_string(search->run, buf_str(&r->out));
}

static CelValue replace_up_to(
    CelRun *run, const CelValue *args, const void *prepared, int64_t count) {
    Replacement r = {
        .search = search_of(run, args, prepared, "", GROUP_MAX + 1),
        .written = cel_str(args[2]),
        .out = BUF_INIT(CEL_MEMORY_DEFAULT),
    };
    CelValue v = r.search.regex ? replace_matches(&r, count) : r.search.error;

    search_done(&r.search);
    buf_done(&r.out);
    return v;
}

CEL_RETURNS(replace, replace_up_to(run, args, prepared, -1))

CEL_FUNCTION(replace_count) {
    int64_t count = args[3].i;

    return count != 0 ? replace_up_to(run, args, prepared, count) : args[0];
}

/* prepare_pattern() refuses a bad constant pattern. Not is_literal, which would refuse other
 * failures too: 'a'.matches(dyn(1)) must fail only when run. */
#define PATTERN                                                                                    \
    .cost = CEL_COST_REGEX, .prepare = prepare_pattern, .prepare_arg = 1, .reads_text = true
#define PART .result_size = CEL_SIZE_FIRST
#define REPLACED .result_size = CEL_SIZE_PRODUCT

static const CelOverloadSpec overloads[] = {
    {"matches", "string.(string) -> bool", matches, PATTERN},
    {"matches", "(string, string) -> bool", matches, PATTERN},
    {"find", "string.(string) -> string", find, PATTERN, PART},
    {"findAll", "string.(string) -> list(string)", find_all, PATTERN, PART},
    {"findAll", "string.(string, int) -> list(string)", find_all_limit, PATTERN, PART},
    {"regex.extract", "(string, string) -> optional_type(string)", extract, PATTERN, PART},
    {"regex.extractAll", "(string, string) -> list(string)", extract_all, PATTERN, PART},
    {"regex.replace", "(string, string, string) -> string", replace, PATTERN, REPLACED},
    {"regex.replace", "(string, string, string, int) -> string", replace_count, PATTERN, REPLACED},
};

CEL_LIBRARY(cel_regex_library, "regex", overloads);
