#include "cluster/sequence.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/names.h"

/* The sequence, its three arrays and its text in one block. */
typedef struct Parts {
    NameSequence sequence;
    uint32_t numbers[];
} Parts;

/* The order while it is put together: by row the one that follows. It begins and ends with the
 * unknown node, which is in no sequence. */
typedef struct Links {
    const Guess *guesses;
    size_t n_rows;
    uint32_t *next; /* SEQUENCE_NOWHERE: not in it */
    size_t n, text_size;
} Links;

static void insert(Links *links, uint32_t last, uint32_t row) {
    links->next[row] = links->next[last];
    links->next[last] = row;
    links->n++;
    links->text_size += links->guesses[row].len;
}

/* Those of @rows that are not there yet. */
static void insert_missing(Links *links, const uint32_t *rows, size_t n) {
    uint32_t last = (uint32_t)links->n_rows;

    for (size_t i = 0; i < n; i++) {
        if (links->guesses[rows[i]].len == 0)
            continue;
        if (links->next[rows[i]] == SEQUENCE_NOWHERE)
            insert(links, last, rows[i]);
        last = rows[i];
    }
}

static NameSequence *write_down(const Links *links) {
    size_t n_numbers = (links->n + 1) + links->n + (links->n_rows + 1), place = 0;
    Parts *parts = malloc(sizeof(*parts) + n_numbers * sizeof(uint32_t) + links->text_size);
    uint32_t *at, *rows, *places, end = 0;
    char *text;

    if (!parts)
        return NULL;
    at = parts->numbers;
    rows = at + links->n + 1;
    places = rows + links->n;
    text = (char *)(places + links->n_rows + 1);
    memset(places, 0xff, (links->n_rows + 1) * sizeof(*places)); /* SEQUENCE_NOWHERE */
    for (uint32_t row = links->next[links->n_rows]; row != links->n_rows; row = links->next[row]) {
        const Guess *guess = &links->guesses[row];

        at[place] = end;
        rows[place] = row;
        places[row] = (uint32_t)place++;
        memcpy(text + end, guess->literal, guess->len);
        end += guess->len;
    }
    at[place] = end;
    parts->sequence = (NameSequence){
        .n = place,
        .text = text,
        .at = at,
        .rows = rows,
        .places = places,
    };
    return &parts->sequence;
}

NameSequence *sequence_new(
    const Guess *guesses, size_t n_rows, NameSequence *earlier, const uint32_t *rows, size_t n) {
    Links links = {.guesses = guesses, .n_rows = n_rows};
    NameSequence *made;

    links.next = malloc((n_rows + 1) * sizeof(*links.next));
    if (!links.next)
        return NULL;
    memset(links.next, 0xff, n_rows * sizeof(*links.next)); /* SEQUENCE_NOWHERE */
    links.next[n_rows] = (uint32_t)n_rows;
    if (earlier)
        insert_missing(&links, earlier->rows, earlier->n);
    insert_missing(&links, rows, n);
    made = write_down(&links);
    if (made)
        made->earlier = earlier;
    free(links.next);
    return made;
}

size_t sequence_count_missing(
    const NameSequence *sequence, const Guess *guesses, const uint32_t *rows, size_t n) {
    size_t n_missing = 0;

    for (size_t i = 0; i < n; i++)
        n_missing += sequence->places[rows[i]] == SEQUENCE_NOWHERE && guesses[rows[i]].len > 0;
    return n_missing;
}
