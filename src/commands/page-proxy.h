#pragma once

/*
 * PageProxy: berth's pages on a loopback port of this machine, for a browser. Every request is
 * passed on to one berth through an API server (cli/replicas.h).
 *
 * Only a browser that was given the URL may use it: its key becomes a cookie. Requests for other
 * names than localhost, from other sites' pages, and for paths that could lead out of the berth
 * are refused.
 *
 * Requests arrive on the server's workers, and are passed on by the thread that calls
 * page_proxy_step().
 */

#include "cli/berth-client.h"

typedef struct PageProxy PageProxy;

#define PAGE_PROXY_URL_MAX 256u
#define PAGE_PROXY_REQUESTS_MAX 64u /* at a time */

/* Listens on 127.0.0.1:@port; 0: the system picks one. @access is borrowed, and has a proxy. 0, or
 * a negative errno. */
int page_proxy_new(const BerthAccess *access, uint16_t port, PageProxy **ret) MUST_CHECK;
PageProxy *page_proxy_free(PageProxy *proxy); /* takes NULL */
DEFINE_CLEANUP(PageProxy *, page_proxy_free)

/* The URL for the browser, with its key. */
void page_proxy_url(const PageProxy *proxy, char ret[static PAGE_PROXY_URL_MAX]);

/* Passes requests on, for about a quarter of a second. 0, or a negative errno. */
int page_proxy_step(PageProxy *proxy);
