/*
 * Compares two texts by line: marks the lines that were removed from the old text and those that
 * were added in the new text, then writes hunks in one walk over both.
 *
 * Row d of the search holds, for each diagonal (x lines of the old text, y of the new text,
 * k = x - y), the largest x that d edits reach; all rows are kept, to trace the edits back.
 */

#include "base/linediff.h"

#include <errno.h>

#include "base/arena.h"

#define BUDGET ((size_t)32 * 1024 * 1024)
#define NOWHERE (-1) /* no path with this number of edits ends on the diagonal */

typedef struct Lines {
    Str *items;      /* with their newline, which the last may lack */
    bool *is_marked; /* the line was removed, or added */
    size_t n;
} Lines;

typedef struct Diff {
    Arena *arena;
    Lines before, after;
    size_t n_head, n_tail; /* lines that both begin and end with */
    int32_t n, m;          /* lines between these, before and after */
} Diff;

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static Str cut_line(Str *text) {
    size_t at = str_find(*text, '\n');
    Str line = str_take(*text, at == SIZE_MAX ? text->len : at + 1);

    *text = str_skip(*text, line.len);
    return line;
}

static int split(Arena *arena, Str text, Lines *ret) {
    size_t n = 0;

    for (Str rest = text; rest.len > 0; n++)
        (void)cut_line(&rest);
    *ret = (Lines){
        .items = ARENA_RAW(arena, Str, n),
        .is_marked = ARENA_ARRAY(arena, bool, n),
        .n = n,
    };
    if (!ret->items || !ret->is_marked)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        ret->items[i] = cut_line(&text);
    return 0;
}

static bool is_same(const Diff *diff, size_t x, size_t y) {
    return str_eq(diff->before.items[x], diff->after.items[y]);
}

static void trim(Diff *diff) {
    size_t n = diff->before.n, m = diff->after.n;
    size_t n_both = least(n, m);

    while (diff->n_head < n_both && is_same(diff, diff->n_head, diff->n_head))
        diff->n_head++;
    while (diff->n_tail < n_both - diff->n_head &&
           is_same(diff, n - 1 - diff->n_tail, m - 1 - diff->n_tail))
        diff->n_tail++;
    diff->n = (int32_t)(n - diff->n_head - diff->n_tail);
    diff->m = (int32_t)(m - diff->n_head - diff->n_tail);
}

static int32_t slide(const Diff *diff, int32_t x, int32_t y) {
    while (x < diff->n && y < diff->m &&
           is_same(diff, diff->n_head + (size_t)x, diff->n_head + (size_t)y)) {
        x++;
        y++;
    }
    return x;
}

/* Entry @i of row @d, which is diagonal 2i - d, from the row before: one line removed, or one
 * added, whichever leads further. */
static int32_t step(const Diff *diff, const int32_t *last, int32_t d, int32_t i) {
    int32_t k = 2 * i - d;
    int32_t removed = i > 0 && last[i - 1] != NOWHERE ? last[i - 1] + 1 : NOWHERE;
    int32_t added = i < d ? last[i] : NOWHERE;

    if (removed > diff->n)
        removed = NOWHERE;
    if (added != NOWHERE && added - k > diff->m)
        added = NOWHERE;
    return removed > added ? removed : added;
}

/* Computes rows until one reaches the end of both texts. Returns its number, or -1: too many edits,
 * or no memory. */
static int32_t search(const Diff *diff, int32_t **rows) {
    for (int32_t d = 0; d <= (int32_t)LINEDIFF_EDITS_MAX; d++) {
        rows[d] = ARENA_RAW(diff->arena, int32_t, d + 1);
        if (!rows[d])
            return -1;
        for (int32_t i = 0; i <= d; i++) {
            int32_t k = 2 * i - d;
            int32_t x = d == 0 ? 0 : step(diff, rows[d - 1], d, i);

            rows[d][i] = x == NOWHERE ? NOWHERE : slide(diff, x, x - k);
            if (rows[d][i] == diff->n && diff->n - k == diff->m)
                return d;
        }
    }
    return -1;
}

static void mark_way(Diff *diff, int32_t *const *rows, int32_t d) {
    int32_t k = diff->n - diff->m;

    for (; d > 0; d--) {
        int32_t i = (k + d) / 2;
        int32_t x = step(diff, rows[d - 1], d, i);

        if (i > 0 && rows[d - 1][i - 1] != NOWHERE && rows[d - 1][i - 1] + 1 == x) {
            diff->before.is_marked[diff->n_head + (size_t)x - 1] = true;
            k--;
        } else {
            diff->after.is_marked[diff->n_head + (size_t)(x - k) - 1] = true;
            k++;
        }
    }
}

static void mark_all(Diff *diff) {
    for (size_t i = diff->n_head; i < diff->before.n - diff->n_tail; i++)
        diff->before.is_marked[i] = true;
    for (size_t i = diff->n_head; i < diff->after.n - diff->n_tail; i++)
        diff->after.is_marked[i] = true;
}

static void mark(Diff *diff) {
    int32_t **rows = NULL;
    int32_t d = -1;

    if (diff->before.n <= LINEDIFF_LINES_MAX && diff->after.n <= LINEDIFF_LINES_MAX)
        rows = ARENA_ARRAY(diff->arena, int32_t *, LINEDIFF_EDITS_MAX + 1);
    if (rows)
        d = search(diff, rows);
    if (d >= 0)
        mark_way(diff, rows, d);
    else
        mark_all(diff);
}

/* Lines [x, x_end) of the text before and [y, y_end) of the text after. */
typedef struct Hunk {
    size_t x, x_end, y, y_end;
} Hunk;

static bool has_gone(const Diff *diff, size_t x) {
    return x < diff->before.n && diff->before.is_marked[x];
}

static bool is_new(const Diff *diff, size_t y) {
    return y < diff->after.n && diff->after.is_marked[y];
}

/* The next change from (*x, *y) on. Returns false if there is none. */
static bool find_change(const Diff *diff, size_t *x, size_t *y) {
    while (!has_gone(diff, *x) && !is_new(diff, *y)) {
        if (*x >= diff->before.n)
            return false;
        (*x)++;
        (*y)++;
    }
    return true;
}

static void pass_change(const Diff *diff, size_t *x, size_t *y) {
    while (has_gone(diff, *x))
        (*x)++;
    while (is_new(diff, *y))
        (*y)++;
}

/* The hunk that begins with the change at (x, y): changes with at most twice the context between
 * them are one hunk. */
static Hunk gather(const Diff *diff, size_t x, size_t y, size_t from, size_t context) {
    size_t lead = least(context, x - from);
    Hunk hunk = {.x = x - lead, .y = y - lead};
    size_t trail;

    do {
        pass_change(diff, &x, &y);
        hunk.x_end = x;
        hunk.y_end = y;
    } while (find_change(diff, &x, &y) && x - hunk.x_end <= 2 * context);
    trail = least(context, diff->before.n - hunk.x_end);
    trail = least(trail, x - hunk.x_end);
    hunk.x_end += trail;
    hunk.y_end += trail;
    return hunk;
}

static void write_line(Buf *out, char sign, Str line) {
    buf_append_char(out, sign);
    buf_append(out, line);
    if (!str_has_suffix(line, STR("\n")))
        buf_append(out, STR("\n\\ No newline at end of file\n"));
}

/* "3,4"; a range of one line is "3"; an empty range has the number of the line before it. */
static void write_range(Buf *out, size_t from, size_t n) {
    buf_printf(out, "%zu", n == 0 ? from : from + 1);
    if (n != 1)
        buf_printf(out, ",%zu", n);
}

static void write_hunk(const Diff *diff, const Hunk *hunk, Buf *out) {
    size_t x = hunk->x, y = hunk->y;

    buf_append(out, STR("@@ -"));
    write_range(out, x, hunk->x_end - x);
    buf_append(out, STR(" +"));
    write_range(out, y, hunk->y_end - y);
    buf_append(out, STR(" @@\n"));
    while (x < hunk->x_end || y < hunk->y_end) {
        if (has_gone(diff, x)) {
            write_line(out, '-', diff->before.items[x++]);
        } else if (is_new(diff, y)) {
            write_line(out, '+', diff->after.items[y++]);
        } else {
            write_line(out, ' ', diff->before.items[x++]);
            y++;
        }
    }
}

static void write_name(Buf *out, const char *sign, Str name) {
    buf_printf(out, "%s ", sign);
    for (size_t i = 0; i < name.len; i++)
        buf_append_char(out, (unsigned char)name.ptr[i] < ' ' ? '?' : name.ptr[i]);
    buf_append_char(out, '\n');
}

static void write_hunks(const Diff *diff, size_t context, Buf *out) {
    size_t x = diff->n_head, y = diff->n_head, from = 0;

    while (find_change(diff, &x, &y)) {
        Hunk hunk = gather(diff, x, y, from, context);

        write_hunk(diff, &hunk, out);
        x = from = hunk.x_end;
        y = hunk.y_end;
    }
}

static size_t count_marked(const Lines *lines) {
    size_t n = 0;

    for (size_t i = 0; i < lines->n; i++)
        n += lines->is_marked[i];
    return n;
}

int linediff_write(const LinediffText *before, const LinediffText *after, size_t context, Buf *out,
    LinediffCounts *counts) {
    _cleanup_(arena_freep) Arena *arena = NULL;
    Diff diff = {0};
    int r;

    if (str_eq(before->text, after->text))
        return 0;
    /* Every byte could be a line of its own, so the budget grows with the texts. */
    arena = arena_new(BUDGET + (before->text.len + after->text.len) * (2 * sizeof(Str)));
    if (!arena)
        return -ENOMEM;
    diff.arena = arena;
    r = split(arena, before->text, &diff.before);
    if (r == 0)
        r = split(arena, after->text, &diff.after);
    if (r < 0)
        return r;
    trim(&diff);
    mark(&diff);
    write_name(out, "---", before->name);
    write_name(out, "+++", after->name);
    write_hunks(&diff, context, out);
    if (counts) {
        counts->n_added += count_marked(&diff.after);
        counts->n_removed += count_marked(&diff.before);
    }
    return 0;
}
