#include "cluster/sequence.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/names.h"

/* The sequence, its three arrays and its text in one block. */
typedef struct SequenceBlock {
    NameSequence sequence;
    uint32_t numbers[];
} SequenceBlock;

/* The order while it is put together: by row the one that follows. It begins and ends with the
 * unknown node, which is in no sequence. */
typedef struct Links {
    const NameHint *hints;
    size_t n_rows;
    uint32_t *next; /* SEQUENCE_NOWHERE: not in it */
    size_t n, text_size;
} Links;

static void insert(Links *links, uint32_t last, uint32_t row) {
    links->next[row] = links->next[last];
    links->next[last] = row;
    links->n++;
    links->text_size += links->hints[row].len;
}

/* Those of @rows that are not there yet. */
static void insert_missing(Links *links, const uint32_t *rows, size_t n) {
    uint32_t last = (uint32_t)links->n_rows;

    for (size_t i = 0; i < n; i++) {
        if (links->hints[rows[i]].len == 0)
            continue;
        if (links->next[rows[i]] == SEQUENCE_NOWHERE)
            insert(links, last, rows[i]);
        last = rows[i];
    }
}

static NameSequence *write_down(const Links *links) {
    size_t n_numbers = (links->n + 1) + links->n + (links->n_rows + 1), place = 0;
    SequenceBlock *block = malloc(sizeof(*block) + n_numbers * sizeof(uint32_t) + links->text_size);
    uint32_t *at, *rows, *places, end = 0;
    char *text;

    if (!block)
        return NULL;
    at = block->numbers;
    rows = at + links->n + 1;
    places = rows + links->n;
    text = (char *)(places + links->n_rows + 1);
    memset(places, 0xff, (links->n_rows + 1) * sizeof(*places)); /* SEQUENCE_NOWHERE */
    for (uint32_t row = links->next[links->n_rows]; row != links->n_rows; row = links->next[row]) {
        const NameHint *hint = &links->hints[row];

        at[place] = end;
        rows[place] = row;
        places[row] = (uint32_t)place++;
        memcpy(text + end, hint->literal, hint->len);
        end += hint->len;
    }
    at[place] = end;
    block->sequence = (NameSequence){
        .n = place,
        .text = text,
        .at = at,
        .rows = rows,
        .places = places,
    };
    return &block->sequence;
}

NameSequence *sequence_new(
    const NameHint *hints, size_t n_rows, NameSequence *earlier, const uint32_t *rows, size_t n) {
    Links links = {.hints = hints, .n_rows = n_rows};
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
    const NameSequence *sequence, const NameHint *hints, const uint32_t *rows, size_t n) {
    size_t n_missing = 0;

    for (size_t i = 0; i < n; i++)
        n_missing += sequence->places[rows[i]] == SEQUENCE_NOWHERE && hints[rows[i]].len > 0;
    return n_missing;
}
