#include "dashboard/frame.h"

#include <stdio.h>

#include "base/calendar.h"
#include "base/nsec.h"
#include "dashboard/piece.h"
#include "version.h"

/* --- head ------------------------------------------------------------------------------------- */

static const char *frame_title(const Frame *frame) {
    return frame->page ? frame->page->title : frame->title;
}

/* What a page is about, where it is about one thing: it stands in the title, and so in the
 * browser's history. */
static Str subject_of(const Frame *frame) {
    const DashboardPage *page = frame->page;

    for (size_t i = 0; page && i < DASHBOARD_PARAMETERS_MAX && page->parameters[i].len > 0; i++)
        if (str_is(page->parameters[i], "name"))
            return query_get(frame->sitting->query, STR("name"));
    return STR_NULL;
}

static void draw_meta(Html *html, const char *name, const char *content) {
    html_open(html, "meta");
    html_attr(html, "name", str_from_c(name));
    html_attr(html, "content", str_from_c(content));
}

static void draw_head(const Frame *frame, Html *html) {
    Str subject = subject_of(frame);

    html_open(html, "head");
    html_open(html, "meta");
    html_attr(html, "charset", STR("utf-8"));
    html_open(html, "title");
    if (subject.len > 0) {
        html_text(html, subject);
        html_text(html, STR(" · "));
    }
    html_text(html, str_from_c(frame_title(frame)));
    html_text(html, STR(" · berth"));
    html_close(html);
    draw_meta(html, "viewport", "width=device-width, initial-scale=1");
    draw_meta(html, "color-scheme", "light dark");
    draw_meta(html, "robots", "noindex");
    html_open(html, "script"); /* not a module: it says light or dark before anything is painted */
    html_attr(html, "src", STR("/assets/first.js"));
    html_close(html);
    html_open(html, "link");
    html_attr(html, "rel", STR("stylesheet"));
    html_attr(html, "href", STR("/assets/board.css"));
    html_open(html, "link");
    html_attr(html, "rel", STR("icon"));
    html_attr(html, "href", STR("/assets/icon.svg"));
    html_open(html, "script");
    html_attr(html, "type", STR("module"));
    html_attr(html, "src", STR("/assets/board.js"));
    html_close(html);
    html_close(html);
}

/* --- patterns --------------------------------------------------------------------------------- */

/* Parts of bars differ in colour and in how they are hatched: strokes over a tile of 12 by 12. */
static const char *const hatches[PIECE_COLOURS] = {
    "",
    "M0 12L12 0",
    "M0 0L12 12",
    "M0 6H12",
    "M6 0V12",
    "M0 12L12 0M0 0L12 12",
    "M6 5V7",
    "M0 6H12M6 0V12",
};

static void draw_pattern(Html *html, unsigned colour) {
    char id[16], class[16];

    (void)snprintf(id, sizeof(id), "fill-%u", colour);
    (void)snprintf(class, sizeof(class), "colour-%u", colour);
    html_open(html, "pattern");
    html_attr(html, "id", str_from_c(id));
    html_attr(html, "class", str_from_c(class));
    html_attr(html, "patternUnits", STR("userSpaceOnUse"));
    html_attr(html, "width", STR("12"));
    html_attr(html, "height", STR("12"));
    html_open(html, "rect");
    html_attr(html, "width", STR("12"));
    html_attr(html, "height", STR("12"));
    html_close(html);
    html_open(html, "path");
    html_attr(html, "d", str_from_c(hatches[colour - 1]));
    html_close(html);
    html_close(html);
}

static void draw_patterns(Html *html) {
    html_open(html, "svg");
    html_attr(html, "class", STR("patterns"));
    html_attr(html, "width", STR("0"));
    html_attr(html, "height", STR("0"));
    html_attr(html, "aria-hidden", STR("true"));
    html_attr(html, "focusable", STR("false"));
    html_open(html, "defs");
    for (unsigned i = 1; i <= PIECE_COLOURS; i++)
        draw_pattern(html, i);
    html_close(html);
    html_close(html);
}

/* --- the sentence ----------------------------------------------------------------------------- */

static const struct {
    const char *symbol, *class;
} healths[_HEALTH_MAX] = {
    [HEALTH_HEALTHY] = {"√", "sentence healthy"},
    [HEALTH_DEGRADED] = {"‼", "sentence degraded"},
    [HEALTH_BYPASSED] = {"×", "sentence bypassed"},
    [HEALTH_NOT_READY] = {"×", "sentence not-ready"},
};

static void begin_figure(Html *html, const char *what) {
    html_open(html, "div");
    html_element_c(html, "dt", NULL, what);
    html_open(html, "dd");
}

static void end_figure(Html *html) {
    html_close(html);
    html_close(html);
}

static void draw_age(Html *html, const char *what, int64_t nsec, const char *none) {
    begin_figure(html, what);
    if (nsec < 0)
        html_text(html, str_from_c(none));
    else
        html_duration(html, nsec);
    end_figure(html);
}

static void draw_speed(const Sentence *sentence, Html *html) {
    begin_figure(html, "errors");
    if (sentence->n_requests == 0)
        html_text(html, STR("no requests"));
    else
        html_printf(html, "%.1f %%", sentence->error_rate * 100);
    end_figure(html);
    begin_figure(html, "p99 of filters");
    if (sentence->p99_nsec == 0)
        html_text(html, STR("none yet"));
    else
        html_duration(html, sentence->p99_nsec);
    html_text(html, STR(" of "));
    html_duration(html, sentence->deadline_nsec);
    end_figure(html);
}

static void draw_figures(const Sentence *sentence, Html *html) {
    static const HtmlParameter waiting[] = {{"state", STR("waiting")}};

    html_open(html, "dl");
    html_attr(html, "class", STR("figures"));
    draw_speed(sentence, html);
    draw_age(html, "cluster heard", sentence->cluster_age_nsec, "not watched");
    draw_age(html, "metrics", sentence->metrics_age_nsec, "none");
    begin_figure(html, "policy");
    html_link(html, "/policies", NULL, 0, sentence->policy_digest);
    end_figure(html);
    begin_figure(html, "nodes");
    html_count(html, sentence->n_nodes);
    end_figure(html);
    begin_figure(html, "pods waiting");
    html_open_link(html, "/pods", waiting, ELEMENTS_OF(waiting));
    html_count(html, sentence->n_waiting);
    html_close(html);
    end_figure(html);
    html_close(html);
}

static void draw_reasons(const Sentence *sentence, Html *html) {
    html_open(html, "details");
    html_attr(html, "id", STR("reasons"));
    html_open(html, "summary");
    html_printf(html, "%zu reason%s", sentence->n_reasons, sentence->n_reasons == 1 ? "" : "s");
    html_close(html);
    html_open(html, "ul");
    for (size_t i = 0; i < sentence->n_reasons; i++)
        html_element(html, "li", NULL, sentence->reasons[i]);
    html_close(html);
    html_close(html);
}

static void draw_sentence(const Sentence *sentence, Html *html) {
    html_open(html, "section");
    html_attr(html, "id", STR("sentence"));
    html_attr(html, "class", str_from_c(healths[sentence->health].class));
    html_attr(html, "aria-label", STR("Is it us?"));
    html_flag(html, "data-live");
    html_open(html, "p");
    html_open(html, "span");
    html_attr(html, "class", STR("symbol"));
    html_attr(html, "aria-hidden", STR("true"));
    html_text(html, str_from_c(healths[sentence->health].symbol));
    html_close(html);
    html_text(html, STR(" berth is "));
    html_element(html, "strong", NULL, sentence->text);
    html_close(html);
    if (sentence->n_reasons > 0)
        draw_reasons(sentence, html);
    draw_figures(sentence, html);
    html_close(html);
}

/* --- ways ------------------------------------------------------------------------------------- */

static void draw_nav(const Frame *frame, Html *html) {
    html_open(html, "nav");
    html_attr(html, "aria-label", STR("Pages"));
    html_open(html, "ul");
    for (size_t i = 0; i < frame->n_pages; i++) {
        const DashboardPage *page = frame->pages[i];

        if (!page->label)
            continue;
        html_open(html, "li");
        html_open_link(html, page->path, NULL, 0);
        if (page == frame->page)
            html_attr(html, "aria-current", STR("page"));
        html_attr(html, "title", str_from_c(page->question));
        html_text(html, str_from_c(page->label));
        html_close(html);
        html_close(html);
    }
    html_close(html);
    html_close(html);
}

static void draw_search(Html *html) {
    html_open(html, "form");
    html_attr(html, "role", STR("search"));
    html_attr(html, "action", STR("/pods"));
    html_attr(html, "method", STR("get"));
    piece_label(html, "search", STR("Find a pod"));
    html_open(html, "input");
    html_attr(html, "type", STR("search"));
    html_attr(html, "id", STR("search"));
    html_attr(html, "name", STR("q"));
    html_attr(html, "placeholder", STR("Find a pod"));
    html_attr(html, "autocomplete", STR("off"));
    html_attr(html, "spellcheck", STR("false"));
    html_element_c(html, "button", NULL, "Find");
    html_close(html);
}

static void draw_top(const Frame *frame, Html *html) {
    html_open(html, "header");
    html_attr(html, "class", STR("top"));
    html_open_link(html, "/", NULL, 0);
    html_attr(html, "class", STR("brand"));
    html_text(html, STR("berth"));
    html_close(html);
    draw_nav(frame, html);
    draw_search(html);
    html_open(html, "div"); /* where modules put their buttons: pause, theme, keys */
    html_attr(html, "id", STR("tools"));
    html_close(html);
    draw_sentence(frame->sitting->sentence, html);
    html_close(html);
}

/* It was made for another time than now. */
static void draw_at(const Sitting *sitting, Html *html) {
    if (sitting->at_nsec == 0)
        return;
    html_open(html, "p");
    html_attr(html, "class", STR("notice"));
    html_text(html, STR("This link was made for what was known "));
    html_time(html, sitting->at_nsec, sitting->wall_nsec);
    html_text(html,
        STR(". The newest decisions and the attempts of a pod are shown as of then, as far as they "
            "are still kept; everything else is of now."));
    html_close(html);
}

void frame_begin(const Frame *frame, Html *html) {
    buf_append(html->out, STR("<!DOCTYPE html>\n"));
    html_open(html, "html");
    html_attr(html, "lang", STR("en"));
    draw_head(frame, html);
    html_open(html, "body");
    html_open_link(html, "#main", NULL, 0);
    html_attr(html, "class", STR("skip"));
    html_text(html, STR("Skip to the page"));
    html_close(html);
    draw_patterns(html);
    draw_top(frame, html);
    html_open(html, "main");
    html_attr(html, "id", STR("main"));
    html_attr(html, "tabindex", STR("-1"));
    html_open(html, "h1");
    html_text(html, str_from_c(frame_title(frame)));
    if (frame->page && frame->page->question)
        html_element_c(html, "small", "question", frame->page->question);
    html_close(html);
    draw_at(frame->sitting, html);
}

/* --- footer ----------------------------------------------------------------------------------- */

/* This address, with the time. */
static void draw_permalink(const Frame *frame, Html *html) {
    HtmlParameter parameters[QUERY_PARAMETERS_MAX + 1];
    const Query *query = frame->sitting->query;
    _cleanup_(buf_done) Buf at = BUF_INIT(64);
    size_t n = 0;

    for (size_t i = 0; i < query->n_names; i++)
        if (query->values[i].ptr && !str_is(query->names[i], "at"))
            /* Names of parameters are literals of the pages' tables. */
            parameters[n++] = (HtmlParameter){query->names[i].ptr, query->values[i]};
    calendar_print((frame->sitting->at_nsec ? frame->sitting->at_nsec : frame->sitting->wall_nsec) /
                       NSEC_PER_SEC,
        0,
        &at);
    parameters[n++] = (HtmlParameter){"at", buf_str(&at)};
    html_open_link(html, frame->page->path, parameters, n);
    html_attr(html, "id", STR("permalink"));
    html_flag(html, "data-live");
    html_text(html, STR("Link to this page, with the time"));
    html_close(html);
}

static void draw_share(const Frame *frame, Html *html) {
    static const HtmlParameter anonymous[] = {{"anonymize", STR("true")}};

    html_open(html, "section");
    html_attr(html, "class", STR("share"));
    html_attr(html, "aria-label", STR("Share"));
    html_open(html, "ul");
    if (frame->page) {
        html_open(html, "li");
        draw_permalink(frame, html);
        html_close(html);
    }
    if (frame->page && frame->page->json) {
        html_open(html, "li");
        html_open_link(html, frame->page->json, NULL, 0);
        html_attr(html, "id", STR("json"));
        html_text(html, STR("The same as JSON"));
        html_close(html);
        html_close(html);
    }
    html_open(html, "li");
    html_link(html,
        "/api/v1/bundle",
        anonymous,
        ELEMENTS_OF(anonymous),
        STR("Bundle for somebody else, names hashed"));
    html_text(html, STR(" or "));
    html_element_c(html, "code", NULL, "berth bundle");
    html_close(html);
    html_close(html);
    html_close(html);
}

void frame_end(const Frame *frame, Html *html) {
    html_close(html); /* main */
    html_open(html, "footer");
    draw_share(frame, html);
    html_element_c(html, "p", "version", "berth " BERTH_VERSION);
    html_close(html); /* footer */
    html_close(html); /* body */
    html_close(html); /* html */
    buf_append_char(html->out, '\n');
}
