/*
 * A list while it comes in: the sink stages it beside what it has, and takes it in place of that
 * when it is whole.
 */

#include <string.h>

#include "kube/reflector-internal.h"
#include "json/read.h"

void list_begin(Reflector *reflector) {
    reflector->options.sink.begin(reflector->options.sink.context);
    reflector->is_staging = true;
    reflector->list_began_at = reflector->options.clock();
    reflector->is_counted = false;
    reflector->has_malformed = false;
}

int list_add(Reflector *reflector, Str object) {
    int r = reflector->options.sink.item(reflector->options.sink.context, object);

    if (r < 0)
        return r;
    if (r > 0)
        reflector->figures.n_unfit++;
    reflector->has_malformed |= r == SINK_MALFORMED;
    return 0;
}

int list_end(Reflector *reflector) {
    int r = reflector->options.sink.end(reflector->options.sink.context);

    if (r < 0)
        return r;
    reflector->is_staging = false;
    reflector->needs_list = false;
    reflector->n_refusals = 0;
    reflector->n_stalls = 0;
    reflector->figures.is_synced = true;
    reflector->figures.synced_at_nsec = reflector->list_began_at;
    reflector->figures.listed_at_nsec = reflector->list_began_at;
    return 0;
}

void list_drop(Reflector *reflector) {
    buf_done(&reflector->deferred);
    buf_done(&reflector->continue_token);
    if (reflector->is_staging)
        reflector->options.sink.begin(reflector->options.sink.context); /* frees what it had */
    reflector->is_staging = false;
    reflector->needs_list = true;
}

/* --- pages --------------------------------------------------------------------------------- */

/* 0; 1 when they are no array; or -ENOMEM. */
static int add_items(Reflector *reflector, Str items) {
    JsonReader reader;

    json_reader_init(&reader, items);
    json_array(&reader);
    while (json_element(&reader)) {
        Str object = STR_NULL;
        int r;

        json_skip_fast(&reader, &object);
        if (json_error(&reader) != JSON_OK)
            break;
        r = list_add(reflector, object);
        if (r < 0)
            return r;
    }
    json_end(&reader);
    return json_error(&reader) == JSON_OK ? 0 : 1;
}

/* Takes the page that is in body. False: it has failed; reflector_fail() was called. */
static bool take_page(Reflector *reflector, ListPage *ret) {
    int r;

    arena_reset(reflector->arena);
    if (!list_page_read(buf_str(&reflector->body), reflector->arena, ret)) {
        reflector_fail(reflector, NEXT_LIST, "the answer is no list");
        return false;
    }
    /* All pages show the cluster at one version. */
    if (reflector->continue_token.len == 0 && !reflector_set_version(reflector, ret->version)) {
        reflector_fail(reflector, NEXT_LIST, "the list has no version that can be used");
        return false;
    }
    r = add_items(reflector, ret->items);
    if (r != 0) {
        reflector_fail(reflector, NEXT_LIST,
            r < 0 ? "a list could not be kept: out of memory" : "a list cannot be read");
        return false;
    }
    return true;
}

bool list_take_page(Reflector *reflector) {
    ListPage page;
    int r;

    if (!take_page(reflector, &page))
        return false;
    buf_reset(&reflector->continue_token);
    buf_append(&reflector->continue_token, page.continue_token);
    if (buf_error(&reflector->continue_token)) {
        reflector_fail(reflector, NEXT_LIST, "the list cannot be continued");
        return false;
    }
    if (reflector->continue_token.len > 0)
        return true;
    r = list_end(reflector);
    if (r < 0) {
        reflector_fail(reflector, NEXT_LIST, "a list could not be kept: %s", strerror(-r));
        return false;
    }
    reflector_notice(reflector, REFLECTOR_SYNCED, NULL, 0);
    return true;
}

/* Where a list goes on is forgotten after some minutes: one that took longer than that is to
 * come in larger steps. */
void list_enlarge_pages(Reflector *reflector) {
    reflector->page_items *= 2;
    if (reflector->page_items > REFLECTOR_PAGE_ITEMS_MOST)
        reflector->page_items = REFLECTOR_PAGE_ITEMS_MOST;
}

void list_shrink_pages(Reflector *reflector) {
    reflector->page_items /= 4;
    if (reflector->page_items < REFLECTOR_PAGE_ITEMS_LEAST)
        reflector->page_items = REFLECTOR_PAGE_ITEMS_LEAST;
}
