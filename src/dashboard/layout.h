#pragma once

/*
 * PageLayout: the header of every page (health summary, navigation, search) and its footer (links
 * for sharing).
 */

#include "dashboard/dashboard.h"

/* Everything up to the inside of <main>, and from there to the end. @page NULL: an error page,
 * @title. */
typedef struct PageLayout {
    const DashboardPage *page;
    const char *title;          /* for those without a page; else NULL */
    const DashboardPage *pages; /* all, for the navigation */
    size_t n_pages;
    const PageContext *context;
} PageLayout;

void layout_begin(const PageLayout *layout, Html *html);
void layout_end(const PageLayout *layout, Html *html);
