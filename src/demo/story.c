/* Texts about the first placements. */

#include "demo/story.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/nsec.h"

/* If no pending pod is placed, the suggestions come after this many attempts. */
#define ATTEMPTS_BEFORE_SUGGESTIONS 60u

__attribute__((format(printf, 2, 3))) static void print_text(
    DemoPrinter *printer, const char *format, ...) {
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    console_clear_status(&printer->console);
    console_paint(&printer->console, STYLE_BOLD);
    console_paragraph(&printer->console, "-- ", str_from_c(text));
    console_plain(&printer->console);
}

/* On a terminal: while the demo runs. */
static void print_explain(
    DemoPrinter *printer, const DemoStatus *status, const Placement *placement) {
    char command[160];

    if (!printer->console.is_live)
        return;
    (void)snprintf(command, sizeof(command), "explain --last %s/%s",
        placement->pod->workload->namespace, placement->pod->name);
    printer_suggest_command(printer, status, command);
}

static bool tell_placed(Story *story, DemoPrinter *printer, const Placement *placement) {
    if (story->has_placed || placement->score < 0 || placement->n_passed == placement->n_candidates)
        return false;
    story->has_placed = true;
    print_text(printer,
        "placed: %zu nodes have room for %s, so kube-scheduler asked berth about them. %zu passed "
        "the filters of the policies; the others are counted by reason. berth scored those that "
        "passed, kube-scheduler added its own scores, and %.*s was the best.",
        placement->n_candidates, placement->pod->name, placement->n_passed,
        STR_FMT(placement->node));
    return true;
}

static bool tell_retried(Story *story, DemoPrinter *printer, const Placement *placement) {
    if (story->has_retried)
        return false;
    story->has_retried = true;
    print_text(printer,
        "placed at last: %s was pending until another pod ended. kube-scheduler tried it again "
        "(attempt %u), and %.*s had room.",
        placement->pod->name, placement->pod->n_attempts, STR_FMT(placement->node));
    return true;
}

static bool tell_pending(
    Story *story, DemoPrinter *printer, const DemoStatus *status, const Placement *placement) {
    const char *why = printer->console.is_live ? " Why, and what would help:" : "";

    if (story->n_pending == ELEMENTS_OF(story->pending) || placement->n_candidates == 0 ||
        !str_is_empty(placement->error))
        return false;
    for (size_t i = 0; i < story->n_pending; i++)
        if (story->pending[i] == placement->pod->workload)
            return false;
    if (story->n_pending == 0)
        print_text(printer,
            "pending: %s fits on %zu nodes, and the policies rejected all of them. kube-scheduler "
            "tries it again when the cluster has changed, after 1 s, 2 s, 4 s, up to 10 s.%s",
            placement->pod->name, placement->n_candidates, why);
    else
        print_text(printer,
            "pending, too, for other reasons: %s. Owners delete pods that are pending for %d s.%s",
            placement->pod->name, (int)(DEMO_PATIENCE_NSEC / NSEC_PER_SEC), why);
    story->pending[story->n_pending++] = placement->pod->workload;
    print_explain(printer, status, placement);
    return true;
}

/* On a terminal, after the rest of the story. */
static void suggest(Story *story, DemoPrinter *printer, const DemoStatus *status) {
    story->has_suggested = true;
    if (!printer->console.is_live)
        return;
    print_text(printer, "It goes on until Ctrl-C. Open %s in a browser.",
        status->dashboard_url ? status->dashboard_url : status->url);
    printer_suggest(printer, status);
}

bool story_tell(
    Story *story, DemoPrinter *printer, const DemoStatus *status, const Placement *placement) {
    bool is_told;

    if (str_is_empty(placement->node))
        is_told = tell_pending(story, printer, status, placement);
    else if (placement->pod->n_attempts > 1)
        is_told = tell_retried(story, printer, placement);
    else
        is_told = tell_placed(story, printer, placement);
    story->n_attempts++;
    if (!story->has_suggested &&
        (story->has_retried || story->n_attempts > ATTEMPTS_BEFORE_SUGGESTIONS)) {
        suggest(story, printer, status);
        is_told = true;
    }
    console_flush(&printer->console);
    return is_told;
}
