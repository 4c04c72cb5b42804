#pragma once

/*
 * The panel as text. Without metrics nothing is printed.
 */

#include <stddef.h>

#include "base/buf.h"
#include "demo/panel.h"
#include "policy/program.h"

typedef enum PanelWidth {
    PANEL_NARROW, /* 8 columns at most */
    PANEL_WIDE,   /* PANEL_COLUMNS_WIDE at most */
} PanelWidth;

#define PANEL_COLUMNS_WIDE 13u

/* Width of the first metric, with the spaces before it. */
size_t panel_columns(const Panel *panel, PanelWidth width);
void panel_print_columns(const Panel *panel, PanelWidth width, Buf *out); /* their names */
void panel_print_reading(
    const Panel *panel, const PanelReading *reading, PanelWidth width, Buf *out);

/* Explains the columns, in lines that begin with a line break. */
void panel_print_legend(const Panel *panel, PanelWidth width, Buf *out);

/* The sources of the metrics of @rules. */
void panel_print_sources(const Program *rules, const char *url, Buf *out);

/* A heading, and a line for each metric. */
#define PANEL_SUMMARY_HEADING "Measured             lowest    median   highest    chosen"
void panel_print_summaries(const Panel *panel, const View *view, Buf *out);
