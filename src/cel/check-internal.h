#pragma once

/* Checker: state and error reporting, shared by the files of the check. check.h is the
 * interface. */

#include <stdarg.h>

#include "base/diag.h"
#include "base/vec.h"
#include "cel/check.h"
#include "cel/report.h"
#include "cel/unify.h"

typedef struct CelChecker {
    const CelEnv *env;
    const CelTree *tree;
    const CelOptions *options;
    Arena *arena;
    DiagList *diags;
    CelNodeInfo *infos;
    CelUnify unify;
    VEC(uint32_t) scope; /* the BINDERs whose macro is open, innermost last */
    uint32_t vague_end;  /* see may_be_variable() in resolve.c */
    uint32_t *children;  /* room for the children of any node */
    char *name;          /* room for any dotted name, with the container before it */
} CelChecker;

/* check.c: messages. */

/* An error at [@from, @to) of the source; @hint may be empty. */
void cel_checker_report(CelChecker *checker, uint32_t from, uint32_t to, Str text, Str hint);

/* The same at a node: under its operator or name. */
void cel_checker_report_at(CelChecker *checker, uint32_t node, Str text, Str hint);

/* The same under all of its text. */
void cel_checker_report_all(CelChecker *checker, uint32_t node, Str text, Str hint);

/* The replacement that the hint of the last report names. */
void cel_checker_fix(CelChecker *checker, CelFix fix);

/* The type of @node, as far as it is known now. */
const CelType *cel_checker_type(CelChecker *checker, uint32_t node);

/* Types and source as text for messages, in the arena. */
Str cel_checker_type_text(CelChecker *checker, const CelType *type);
Str cel_checker_source(const CelChecker *checker, uint32_t node);

/* Whether @node is joined by operators: a method appended to a + b would apply to b only. */
bool cel_checker_is_joined(const CelChecker *checker, uint32_t node);

/* All of the source of @node. */
Str cel_checker_text(const CelChecker *checker, uint32_t node);
Str cel_checker_printf(CelChecker *checker, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* resolve.c: names. */

/* An IDENT: resolves it and the SELECTs after it. */
void cel_resolve_ident(CelChecker *checker, uint32_t node);

/* All overloads of the function that @name means in the container. */
size_t cel_resolve_function(
    CelChecker *checker, Str name, bool is_absolute, const CelOverload *const **ret);

/* The variable or constant that @name means in the container; NULL: none. */
const CelVariable *cel_resolve_variable(CelChecker *checker, Str name, bool is_absolute);

/* overload.c: calls. */

void cel_check_call(CelChecker *checker, uint32_t node);

/* check-format.c: checks calls of string.format() whose text and list are literals. All types must
 * be final. */
void cel_check_formats(CelChecker *checker);

/* resolve.c: reports a call of a function that is not declared, with a suggestion. */
void cel_suggest_function(CelChecker *checker, uint32_t node);

/* Reports a field that @record does not have. */
void cel_suggest_field(CelChecker *checker, uint32_t node, const CelRecordType *record);

/* Reports a selection from @type, which has no fields. */
void cel_suggest_selection(CelChecker *checker, uint32_t node, const CelType *type);
