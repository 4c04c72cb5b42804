#pragma once

/*
 * Widgets: the parts that pages consist of.
 *
 * They write no styles: colours are classes and patterns (layout.c), lengths are attributes of SVG.
 * A widget that is left open contains what follows, until html_close().
 */

#include "dashboard/html.h"
#include "http/server.h"

/* A <section> with its heading, which the modules keep up to date; left open. */
void widget_section(Html *html, const char *id, const char *title);

/* A command to copy: <div class="command"> with <pre><code> and a button that JavaScript shows. */
void widget_command(Html *html, Str command);

/* A command with @words, quoted where a shell needs that (a NULL pointer is left out), and --server
 * of @server, unless that is NULL. */
void widget_shell(
    Html *html, const char *command, const Str *words, size_t n, const Server *server);

/* A curl command for @path of @server ("/api/v1/changes"); nothing if @server is NULL. */
void widget_curl(Html *html, const Server *server, const char *path);

/* Shown for an empty list, with the next step; @next may be NULL. */
void widget_empty(Html *html, const char *what, const char *next);

/* Writes the error of a parameter. Returns 400, for the page to return. */
unsigned widget_problem(Html *html, const char *error);

/* An empty list of decisions: @none_yet, or, unless @are_kept, that decisions are not kept. */
void widget_no_decisions(Html *html, bool are_kept, const char *none_yet);

/* Writes that there is no memory for @what ("this page"). Returns 503, for the page to return. */
unsigned widget_no_memory(Html *html, const char *what);

/* Links to the page of a pod or node, in templates: "<td>" NODE_LINK "</td>", NODE_FMT(name). */
#define POD_LINK "<a href='/pod?namespace=%.*s&name=%.*s' class='pod'>%.*s/%.*s</a>"
#define POD_FMT(namespace, name)                                                                   \
    STR_FMT(namespace), STR_FMT(name), STR_FMT(namespace), STR_FMT(name)
#define NODE_LINK "<a href='/node?name=%.*s' class='node'>%.*s</a>"
#define NODE_FMT(name) STR_FMT(name), STR_FMT(name)

/* A <table class="data"> with a caption and headings "Pod|State|#Attempts"; columns that begin with
 * '#' hold numbers. Left open in <tbody> until widget_table_end(); @columns must stay valid until
 * then. Ids of captions, and only these, begin with "caption-": a suffix would not be unique, as
 * @id may contain a name. */
void widget_table(Html *html, const char *id, const char *caption, const char *columns);
void widget_table_end(Html *html);

void widget_option(Html *html, Str value, Str text, bool is_selected);

#define WIDGET_COLOURS 8u /* of the palette: patterns fill-1 to fill-8 of the frame */

/* A bar of parts, as SVG with its numbers as text: score parts, outcomes. */
typedef struct BarPart {
    Str label;
    double value;
    unsigned colour; /* 1 to WIDGET_COLOURS, then the first again; patterns differ, too */
} BarPart;
void widget_bar(Html *html, const BarPart *parts, size_t n, double whole);

/* A mark in a line chart: a stroke of full height for a problem, else of half. */
typedef struct ChartMark {
    double place; /* 0: at the left; 1: at the right */
    bool is_bad;
} ChartMark;

/* A line over time, as SVG, with its last and highest value as text. NaN: a gap. */
typedef struct LineChart {
    const char *label, *unit; /* values in "ms" are written as durations: 340 µs */
    const double *values;     /* the oldest first */
    size_t n;
    const ChartMark *marks;
    size_t n_marks;
} LineChart;
void widget_line(Html *html, const LineChart *line);
