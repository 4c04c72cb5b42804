#include "serve/books.h"

#include "api/routes.h"

bool books_open(Books *books, size_t n_decisions, size_t decisions_bytes) {
    *books = (Books){
        .metrics = metrics_new(route_names, _ROUTE_MAX),
        .warnings = warnings_new(),
        .callers = callers_new(),
        .changes = changes_new(),
        .latency = latency_new(),
        .decisions = n_decisions > 0 ? decisions_new(n_decisions, decisions_bytes) : NULL,
    };
    return books->metrics && books->warnings && books->callers && books->changes &&
           books->latency && (n_decisions == 0 || books->decisions);
}

void books_done(Books *books) {
    metrics_free(books->metrics);
    warnings_free(books->warnings);
    callers_free(books->callers);
    changes_free(books->changes);
    latency_free(books->latency);
    decisions_free(books->decisions);
    *books = (Books){0};
}
