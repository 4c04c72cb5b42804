#pragma once

/* What ask.c and ask-stream.c share: a question before it is asked. Nobody else includes this. */

#include <curl/curl.h>
#include <stdbool.h>

#include "cli/ask.h"

/* All but what is to be done with the answer. @url must live as long as @curl is used, and @error
 * (CURL_ERROR_SIZE). With a @body it is POSTed. The headers are the caller's to free. */
bool ask_prepare(CURL *curl, const AskAccess *access, Str url, Str body,
    struct curl_slist **headers, char *error);

/* Server and @path as one; ptr NULL when out of memory. */
Str ask_url(const AskAccess *access, Str path, Arena *arena);
