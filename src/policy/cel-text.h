#pragma once

/*
 * Writes CEL for the built-in rules (kind.h).
 *
 * The text is readable, and its evaluation never fails: labels are read with a default, and texts
 * are converted to numbers only after a check. Check buf_error() once, at the end.
 */

#include "policy/kind.h"

/* An argument of cel_text(). */
typedef enum TextArgKind {
    TEXT_ARG_RAW,      /* unchanged text */
    TEXT_ARG_STRING,   /* a literal: 'text' */
    TEXT_ARG_ESCAPED,  /* text inside a literal */
    TEXT_ARG_LABEL,    /* look-up of a key with default: [?'key'].orValue('') */
    TEXT_ARG_RESOURCE, /* a resource, cpu in thousandths: .memory, ['x'] */
    TEXT_ARG_NUMBER,   /* a double literal: 0.5, 500.0, 1e+20 */
    TEXT_ARG_INT,
    TEXT_ARG_DURATION, /* nanoseconds, for duration(): 1h30m0s */
    TEXT_ARG_STRINGS,  /* ['a', 'b'] */
    TEXT_ARG_BUF,      /* another buffer; its error becomes the output's */
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

/* Appends @template, with $1 to $9 replaced by the arguments. */
#define cel_text(out, template, ...)                                                               \
    cel_text_write((out), (template), (const TextArg[]){__VA_ARGS__})
void cel_text_write(Buf *out, const char *template, const TextArg *args);

/* Like cel_text() with $1 = @part; nothing if @part is empty. */
void cel_text_part(Buf *out, const char *template, const Buf *part);

/* Appends @separator if anything was written since @begin. */
void cel_text_separate(Buf *out, size_t begin, const char *separator);

/* Appends the condition of @selector on the map of labels @labels, an expression:
 * `labels[?'a'].orValue('') == 'x' && …`; "true" without requirements. Needs parentheses except
 * next to &&. */
void cel_text_selector(Buf *out, const Selector *selector, const char *labels);
void cel_text_requirement(Buf *out, const Requirement *requirement, const char *labels);

/* The parts of a rule that must all hold, each with a condition, and a message if it is false. */
typedef struct TextPart {
    size_t size; /* of an item */
    void (*condition)(Buf *out, const void *item);
    void (*message)(Buf *out, const void *item);
    /* For cel_text_entries(): reads an item. */
    void (*read)(YamlReader *reader, const YamlPair *pair, void *item);
} TextPart;

/* Writes `C && D` of @n items, and the messages of those that fail:
 * [C ? '' : M, D ? '' : N].filter(m, m != '').join('; ') */
void cel_text_all(RuleText *ret, const TextPart *part, const void *items, size_t n);
void cel_text_messages(Buf *out, const TextPart *part, const void *items, size_t n);

/* Like cel_text_all(), for the entries of the mapping @value, by the parts of @kind. */
void cel_text_entries(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret);
