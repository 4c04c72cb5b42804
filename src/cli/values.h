#pragma once

/*
 * Values: what people write behind options, checked.
 *
 * All that return a number return 0, or EXIT_USAGE after saying on stderr which option of which
 * command has which wrong value and what was expected.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define LISTEN_ADDRESS_MAX 64u

typedef struct Listen {
    char address[LISTEN_ADDRESS_MAX]; /* numeric, no brackets */
    uint16_t port;
} Listen;

int value_error(const char *command, const char *option, const char *value, const char *wanted);

/* ADDR:PORT, [ADDR]:PORT or :PORT (all addresses); numeric, or "localhost", so that
 * nothing waits for DNS. */
int value_listen(const char *command, const char *option, const char *value, Listen *ret);

/* A part of a DNS name (RFC 1123), as the name of a namespace is. */
bool value_is_label(Str text);
int value_namespace(const char *command, const char *value);

/* One of some words, which @choices has as a help text does: "table|json". @ret is its place among
 * them, from 0. */
int value_choice(
    const char *command, const char *option, const char *value, const char *choices, unsigned *ret);

/* Bytes, with the suffixes of Kubernetes: 128Mi. */
int value_size(const char *command, const char *option, const char *value, size_t *ret);

/* A length of time with its unit, from @min_ns to @max_ns: 100ms, 1.5s. */
int value_duration(const char *command, const char *option, const char *value, int64_t min_ns,
    int64_t max_ns, int64_t *ret_ns);

/* A time like 2026-01-31T20:00:00Z, since 1970. */
int value_time(const char *command, const char *option, const char *value, int64_t *ret_nsec);

int value_number(const char *command, const char *option, const char *value, int64_t min,
    int64_t max, int64_t *ret);
