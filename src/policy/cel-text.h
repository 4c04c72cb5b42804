#pragma once

/*
 * Writes CEL for the built-in rules (kind.h).
 *
 * The text is readable, and its evaluation never fails: labels are looked up with a default, and
 * texts are converted to numbers only after a check. A buffer over its limit keeps the error
 * (buf_error()): check it once, at the end.
 */

#include "policy/kind.h"

/* An argument of cel_text(). */
typedef enum TextArgKind {
    TEXT_ARG_RAW,      /* text as it is */
    TEXT_ARG_STRING,   /* text as a literal: 'text' */
    TEXT_ARG_ESCAPED,  /* text inside of a literal */
    TEXT_ARG_LABEL,    /* text as a key to look up, with a default: [?'key'].orValue('') */
    TEXT_ARG_RESOURCE, /* text as a resource, in whole units, of cpu thousandths: .memory, ['x'] */
    TEXT_ARG_NUMBER,   /* a double literal: 0.5, 500.0, 1e+20 */
    TEXT_ARG_INT,
    TEXT_ARG_DURATION, /* nanoseconds as 1h30m0s, as duration() reads it */
    TEXT_ARG_STRINGS,  /* ['a', 'b'] */
    TEXT_ARG_BUF,      /* another buffer; if that has failed, so does the output */
} TextArgKind;

typedef struct TextArg {
    TextArgKind kind;
    union {
        Str text;
        double number;
        int64_t integer;
        const StrList *strings;
        const Buf *buf;
    };
} TextArg;

#define TEXT_RAW(c) ((TextArg){.kind = TEXT_ARG_RAW, .text = str_from_c(c)})
#define TEXT_QUOTED(str) ((TextArg){.kind = TEXT_ARG_STRING, .text = (str)})
#define TEXT_ESCAPED(str) ((TextArg){.kind = TEXT_ARG_ESCAPED, .text = (str)})
#define TEXT_LABEL(str) ((TextArg){.kind = TEXT_ARG_LABEL, .text = (str)})
#define TEXT_RESOURCE(str) ((TextArg){.kind = TEXT_ARG_RESOURCE, .text = (str)})
#define TEXT_NUMBER(value) ((TextArg){.kind = TEXT_ARG_NUMBER, .number = (value)})
#define TEXT_INT(value) ((TextArg){.kind = TEXT_ARG_INT, .integer = (value)})
#define TEXT_DURATION(ns) ((TextArg){.kind = TEXT_ARG_DURATION, .integer = (ns)})
#define TEXT_STRINGS(list) ((TextArg){.kind = TEXT_ARG_STRINGS, .strings = (list)})
#define TEXT_BUF(other) ((TextArg){.kind = TEXT_ARG_BUF, .buf = (other)})

/* Appends @template, with its $1 to $9 replaced by the arguments. */
#define cel_text(out, template, ...)                                                               \
    cel_text_write((out), (template), (const TextArg[]){__VA_ARGS__})
void cel_text_write(Buf *out, const char *template, const TextArg *args);

/* The same with $1 = @part; nothing when it is empty. */
void cel_text_part(Buf *out, const char *template, const Buf *part);

/* @separator, but not before the first: when something was written since @begin. */
void cel_text_separate(Buf *out, size_t begin, const char *separator);

/* The condition of @selector over the map of labels that the expression @labels gives:
 * `labels[?'a'].orValue('') == 'x' && …`; "true" for one without requirements. Needs brackets
 * anywhere but next to &&. */
void cel_text_selector(Buf *out, const Selector *selector, const char *labels);
void cel_text_requirement(Buf *out, const Requirement *requirement, const char *labels);

/* One of several parts of a rule that must all hold: its expression, and the message where it is
 * false. */
typedef struct TextPart {
    size_t size; /* of an item */
    void (*condition)(Buf *out, const void *item);
    void (*message)(Buf *out, const void *item);
    /* For cel_text_entries(): how one is read. */
    void (*read)(YamlReader *reader, const YamlPair *pair, void *item);
} TextPart;

/* `C && D` of @n items; and their messages, of several those that apply:
 *
 *     [C ? '' : M, D ? '' : N].filter(m, m != '').join('; ') */
void cel_text_all(RuleText *ret, const TextPart *part, const void *items, size_t n);
void cel_text_messages(Buf *out, const TextPart *part, const void *items, size_t n);

/* The same of the entries of the mapping @value, by the parts of @kind. */
void cel_text_entries(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret);
