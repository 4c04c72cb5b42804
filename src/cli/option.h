#pragma once

/* Option: a row of a command's option table, and the parser of such tables. */

#include "base/str.h"

#define LISTEN_ADDRESS_MAX 64u

typedef struct Listen {
    char address[LISTEN_ADDRESS_MAX]; /* numeric, no brackets */
    uint16_t port;
} Listen;

typedef enum OptionKind {
    OPTION_FLAG,     /* bool; takes no value */
    OPTION_VALUE,    /* integer, set to @min; takes no value */
    OPTION_HEADING,  /* no option: begins a group in the help; @help is a paragraph below it */
    OPTION_TEXT,     /* const char * */
    OPTION_FILE,     /* the same; shells complete file names */
    OPTION_LIST,     /* array of const char *, which may be repeated up to @max times */
    OPTION_NAMES,    /* the same of Str */
    OPTION_CHOICE,   /* integer or bool: @min + the position in @argument, "table|json" */
    OPTION_NUMBER,   /* integer from @min to @max */
    OPTION_SIZE,     /* size_t: bytes with the suffixes of Kubernetes, 128Mi */
    OPTION_DURATION, /* int64_t: nanoseconds from @min to @max, 100ms */
    OPTION_TIME,     /* int64_t: nanoseconds since 1970, 2026-01-31T20:00:00Z */
    OPTION_SECONDS,  /* double: 0 or more, up to @max */
    OPTION_LISTEN,   /* Listen: ADDR:PORT, [ADDR]:PORT or :PORT; numeric, or "localhost" */
    OPTION_CUSTOM,   /* set() stores the value */
} OptionKind;

/* Completion other than the words of @argument or @values. */
typedef enum OptionCompletion {
    COMPLETE_NOTHING,
    COMPLETE_FILES,
    COMPLETE_CONTEXTS,
    COMPLETE_NODES,
    COMPLETE_PODS,
    COMPLETE_CHECKS,
} OptionCompletion;

typedef struct Option {
    const char *name; /* without dashes; of a heading: its text, or "" */
    OptionKind kind;
    char letter;          /* "-o"; 0: none */
    const char *argument; /* as the help shows it; NULL: takes no value */
    size_t offset, size;  /* of the field in the settings */
    size_t count;         /* of a list: offset of its size_t length */
    int64_t min, max;
    const char *values; /* words to complete, "a|b", where @argument has none */
    OptionCompletion complete;
    const char *initial; /* the default, for the help; NULL: none */
    const char *help;
    /* NULL when @value is fine; else the expectation. Called before the value is stored. */
    const char *(*check)(const char *value);
    /* The same, in place of storing; @value is NULL for an option that takes none. */
    const char *(*set)(void *settings, const char *value);
} Option;

/* The place of a value: {"workers", OPTION_NUMBER, …, OPTION_AT(Settings, n_workers)}. */
#define OPTION_AT(type, member)                                                                    \
    .offset = offsetof(type, member), .size = sizeof(((type *)NULL)->member)

/* The same for an array @items with @n elements in use. */
#define OPTION_LIST_AT(type, items, n)                                                             \
    .offset = offsetof(type, items), .count = offsetof(type, n),                                   \
    .max = sizeof(((type *)NULL)->items) / sizeof(((type *)NULL)->items[0])

#define OPTION_GROUP(text, ...)                                                                    \
    { text, OPTION_HEADING, .help = "" __VA_ARGS__ }

/* @word is "--name" or "-o". NULL: there is no such option. */
const Option *option_find(const Option *options, Str word);

/* Parses @value and stores it. False, with the expectation in @wanted, when it is wrong. */
#define OPTION_WANTED_MAX 256u
bool option_store(
    const Option *option, void *settings, const char *value, char wanted[static OPTION_WANTED_MAX]);

/* Functions for Option.check: the name of a namespace; any text but an empty one. */
const char *value_check_namespace(const char *value);
const char *value_check_given(const char *value);
