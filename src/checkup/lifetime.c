#include "checkup/lifetime.h"

#include "checkup/duration-text.h"

bool lifetime_judge(const char *where, double sec, Verdict *verdict) {
    if (sec == 0)
        return false;
    if (sec >= LIFETIME_WARN_DAYS * DURATION_DAY_SEC) {
        verdict_note(verdict, "%s: it expires in %s", where, duration_text(sec).text);
        return true;
    }
    if (sec < 0)
        verdict_fail(verdict, "%s: it expired %s ago", where, duration_text(sec).text);
    else if (sec < LIFETIME_FAIL_DAYS * DURATION_DAY_SEC)
        verdict_fail(verdict, "%s: it expires in %s", where, duration_text(sec).text);
    else
        verdict_warn(verdict, "%s: it expires in %s", where, duration_text(sec).text);
    verdict_fix(verdict, "berth certs --renew DIR   # or renew it where it was issued");
    return true;
}
