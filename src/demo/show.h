#pragma once

/*
 * Show: what the person sees.
 *
 * On a terminal a line per decision scrolls by above a line of figures that stays;
 * elsewhere plain lines and nothing else.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "demo/driver.h"
#include "demo/panel.h"
#include "demo/tally.h"
#include "demo/voice.h"
#include "demo/world.h"
#include "policy/program.h"

typedef struct Show {
    Voice voice;
    const Panel *panel; /* of the metrics in force; borrowed */
    size_t n_shown;     /* placements since the last heading */
    size_t n_columns;   /* of it: another policy may measure something else */
    bool has_hinted;    /* how to ask why a pod found no node */
} Show;

#define SHOW_INIT(live, colour, metrics)                                                           \
    ((Show){.voice = VOICE_INIT(live, colour), .panel = (metrics)})

void show_done(Show *show);

/* What is going on around the placements. Borrowed. */
typedef struct Stage {
    const char *program; /* how the person called berth */
    const char *url;
    const char *dashboard_url; /* NULL: there is none */
    const char *policy_path, *cluster_path, *pod_path;
    const char *metrics_path; /* NULL: nothing is measured that is not in the cluster's file */
    const char *meter_url;
    const Program *rules; /* in force */
    WorldFigures figures;
    int64_t cpu_nsec_per_call; /* at the end: what berth itself used; 0: not known */
    const View *view;          /* at the end: the last one */
} Stage;

void show_start(Show *show, const Stage *stage);
/* @reading: what the leading metric says of the node; NULL: there is none. */
void show_placement(Show *show, const Placement *placement, const PanelReading *reading);

/* Once, on a terminal: how to ask why, after a placement that found no node. */
void show_hint(Show *show, const Stage *stage, const Placement *placement);

/* The line of figures at the bottom; nothing where lines cannot be replaced. */
void show_status(Show *show, const Stage *stage, const Tally *tally);

/* The policy was edited: it is in force now, or it has errors and is not. */
void show_reload(Show *show, const Program *rules);
void show_refusal(Show *show, const DiagList *diags);

/* The summary. Sorts the tally. */
void show_end(Show *show, const Stage *stage, Tally *tally);
