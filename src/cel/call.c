#include "cel/call.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "cel/tree.h"
#include "cel/type.h"

#define NAMES_MAX 300 /* bytes of a call in "no such overload: …" */

static bool fits(const CelCallee *callee, const CelValue *args, uint32_t n_args) {
    if (callee->n_args != n_args)
        return false;
    for (uint32_t i = 0; i < n_args; i++) {
        if (callee->kinds[i] != CEL_ABSENT && callee->kinds[i] != args[i].kind)
            return false;
    }
    return true;
}

static void print_kind(CelValue v, Buf *out) {
    buf_append(out, cel_type_of(v)->name);
}

static void print_kinds(const CelValue *args, uint32_t n, Buf *out) {
    for (uint32_t i = 0; i < n; i++) {
        buf_append(out, i > 0 ? STR(", ") : STR_NULL);
        print_kind(args[i], out);
    }
}

/* !int, int + string, list[string], string.startsWith(int), size(int) */
static void print_call(const CelCallee *callee, const CelValue *args, uint32_t n_args, Buf *out) {
    const char *sign = cel_operator_text(str_from_c(callee->name));

    if (sign && n_args == 1) {
        buf_append(out, str_from_c(sign));
        print_kind(args[0], out);
    } else if (sign && n_args == 2) {
        print_kind(args[0], out);
        if (sign[0] == '[')
            buf_append_char(out, '[');
        else
            buf_printf(out, " %s ", sign);
        print_kind(args[1], out);
        buf_append(out, sign[0] == '[' ? STR("]") : STR_NULL);
    } else {
        uint32_t first = callee->is_receiver && n_args > 0;

        print_kinds(args, first, out);
        buf_printf(out, "%s%s(", first ? "." : "", callee->name);
        print_kinds(args + first, n_args - first, out);
        buf_append_char(out, ')');
    }
}

static CelValue no_such_overload(
    CelRun *run, const CelCallee *callee, const CelValue *args, uint32_t n_args) {
    _cleanup_(buf_done) Buf out = BUF_INIT(NAMES_MAX);

    print_call(callee, args, n_args, &out);
    return cel_fail(run, "no such overload: %.*s", STR_FMT(buf_str(&out)));
}

CelValue cel_call_checked(
    CelRun *run, const CelCallee *callee, const CelValue *args, uint32_t n_args) {
    if (!fits(callee, args, n_args) || !callee->fn)
        return no_such_overload(run, callee, args, n_args);
    return callee->fn(run, args, callee->prepared);
}

CelValue cel_call_dispatch(
    CelRun *run, const CelCallee *callees, const CelValue *args, uint32_t n_args) {
    for (uint32_t i = 0; i < callees->n_candidates; i++) {
        if (fits(&callees[i], args, n_args) && callees[i].fn)
            return callees[i].fn(run, args, callees[i].prepared);
    }
    return no_such_overload(run, callees, args, n_args);
}
