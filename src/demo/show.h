#pragma once

/*
 * Show: what the person sees.
 *
 * On a terminal a line per decision scrolls by above a line of figures that stays;
 * elsewhere plain lines and nothing else. Colour only repeats what words say.
 * Everything goes through one buffer and leaves in one write.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/diag.h"
#include "demo/driver.h"
#include "demo/panel.h"
#include "demo/tally.h"
#include "demo/world.h"
#include "policy/program.h"

#define SHOW_TEXT_MAX ((size_t)256 * 1024)

typedef struct Show {
    bool is_live; /* a terminal: it has a width, and lines can be replaced */
    bool has_colour;
    const Panel *panel; /* of the metrics in force; borrowed */
    Buf text;           /* not yet written */
    size_t n_shown;     /* placements since the last heading */
    size_t n_columns;   /* of it: another policy may measure something else */
    bool has_status;    /* the last line is the one with the figures */
    bool has_failed;    /* nobody reads any more */
} Show;

#define SHOW_INIT(live, colour, metrics)                                                           \
    ((Show){.is_live = (live),                                                                     \
        .has_colour = (colour),                                                                    \
        .panel = (metrics),                                                                        \
        .text = BUF_INIT(SHOW_TEXT_MAX)})

void show_done(Show *show);

/* What is going on around the placements. Borrowed. */
typedef struct Scene {
    const char *program; /* how the person called berth */
    const char *url;
    const char *policy_path, *cluster_path, *pod_path;
    const char *metrics_path; /* NULL: nothing is measured that is not in the cluster's file */
    const char *meter_url;
    const Program *rules; /* NULL at the end */
    WorldFigures figures;
    int64_t cpu_nsec_per_call; /* at the end: what berth itself used; 0: not known */
    const View *view;          /* at the end: the last one */
} Scene;

void show_start(Show *show, const Scene *scene);
/* @reading: what the leading metric says of the node; NULL: there is none. */
void show_placement(Show *show, const Placement *placement, const PanelReading *reading);

/* The line of figures at the bottom; nothing where lines cannot be replaced. */
void show_status(Show *show, const Scene *scene, const Tally *tally);

/* The policy was edited: it is in force now, or it has errors and is not. */
void show_reload(Show *show, const Program *rules);
void show_refusal(Show *show, const DiagList *diags);

/* The summary. Sorts the tally. */
void show_end(Show *show, const Scene *scene, Tally *tally);
