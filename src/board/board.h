#pragma once

/*
 * Board: the dashboard: pages for people, drawn from what the daemon knows.
 *
 * A page is a function that draws a <main>; the board puts the frame around it: the sentence that
 * says whether it is us, the navigation, the way to search. All of it is HTML that can be read
 * without JavaScript; the modules under /assets make it live (they fetch the page again when the
 * event stream says that something is new, and exchange the parts that differ).
 *
 * Paths have no names in them (a pod may be called "filter"): /pod?namespace=…&name=….
 *
 * Every page takes ?at=2026-01-02T03:04:05Z besides its own parameters: the links that the footer
 * gives to hand on have it. Parameters without a value are as good as not given: forms send them.
 *
 * Everything is read-only. Threads: those of the hook.
 */

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "board/html.h"
#include "extender/view.h"
#include "serve/answers.h"
#include "serve/board-hook.h"
#include "serve/query.h"
#include "serve/sentence.h"

/* The hook for DaemonOptions.board. Static. */
const BoardHook *board_hook(void);

/* What a page is drawn from. Borrowed, and the same for all of one page. */
typedef struct Sitting {
    Answers *answers;
    const View *view; /* in force */
    const Query *query;
    const Sentence *sentence;
    int64_t wall_nsec; /* since 1970 */
    int64_t now_nsec;  /* monotonic */
    int64_t at_nsec;   /* ?at=…: what was known then is wanted, as far as it is kept; 0: now */
    Arena *arena;
} Sitting;

#define BOARD_PAGE_MAX ((size_t)8 * 1024 * 1024)
#define BOARD_PARAMETERS_MAX 8u

/* One page; the table of them is board.c's. */
typedef struct BoardPage {
    const char *path;                           /* "/policies" */
    const char *label;                          /* in the navigation; NULL: not there */
    const char *title;                          /* "Policies" */
    const char *question;                       /* what it answers: "Which policy is hurting?" */
    const char *json;                           /* path of the same as JSON; NULL: none */
    const Str parameters[BOARD_PARAMETERS_MAX]; /* that it takes; behind the last: empty */
    /* Draws the inside of <main>, behind the heading. 200, 400, 404 or 503. */
    unsigned (*draw)(const Sitting *sitting, Html *html);
} BoardPage;

/* By page, in the order of the navigation: board/page-NAME.c. */
extern const BoardPage page_overview; /* /            what is going on, the newest decisions */
extern const BoardPage page_pods;     /* /pods        pods asked about lately; waiting ones first */
extern const BoardPage page_pod;      /* /pod         why pending, why here, why not there */
extern const BoardPage page_policies; /* /policies    which policy is hurting? */
extern const BoardPage page_nodes;    /* /nodes       is the cluster lopsided? */
extern const BoardPage page_node;     /* /node        one of them: facts, policies, last verdicts */
extern const BoardPage page_sources;  /* /sources     are the metrics real? */
extern const BoardPage page_latency;  /* /latency     is the extender slowing my scheduler? */
extern const BoardPage page_changes;  /* /changes     what changed? */
extern const BoardPage page_what_if;  /* /what-if     what would happen if? */
