#pragma once

/*
 * Play: a scenario on its stage: what its steps are made of.
 *
 * Steps are taken one after another on the driving thread (demo/rig.h) and tell the person what
 * happens. When one goes wrong, or Ctrl-C is pressed, those that follow do nothing: a scenario is
 * a plain list of them, and play->status says at the end how it went.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "demo/driver.h"
#include "demo/folder.h"
#include "demo/rig.h"
#include "demo/voice.h"
#include "demo/workload.h"

#define PLAY_NAME_MAX 96u
#define PLAY_WORDS_MAX 16u /* of a command */
#define PLAY_POLICY_MAX ((size_t)64 * 1024)
#define PLAY_PATIENCE_MSEC 20000u /* until something that was done shows */

enum {
    _PLAY_GOES_ON,
    PLAY_STOPPED,  /* by the person */
    PLAY_UNSOLVED, /* something did not come out as it should: play->error */
};

typedef struct Play {
    const char *program; /* how the person called berth */
    bool solves;
    unsigned pace_msec; /* between two pods */
    Rig rig;
    Voice voice;
    Folder folder;
    char policy_path[FOLDER_PATH_MAX + 32];
    Buf policy;       /* what is in policy_path */
    int status;       /* 0, one of the above, or a negative errno */
    char *error;      /* DAEMON_ERROR_MAX */
    bool has_columns; /* a heading stands above the placements */
    size_t n_pods, n_placed;

    /* For scenarios: the pod and the node that it is about. */
    const WorldPod *pod;
    char pod_name[PLAY_NAME_MAX]; /* "ml/render-abcde" */
    char node[PLAY_NAME_MAX];
    size_t n_nodes_used, n_there;
} Play;

const char *play_url(const Play *play);

/* --- what is said ----------------------------------------------------------------------------- */

void play_heading(Play *play, const char *text);
__attribute__((format(printf, 2, 3))) void play_say(Play *play, const char *format, ...);
/* Something happens in the world. */
__attribute__((format(printf, 2, 3))) void play_tell(Play *play, const char *format, ...);
/* The same, but only to who has asked for the answer: it would give it away. */
__attribute__((format(printf, 2, 3))) void play_reveal(Play *play, const char *format, ...);
/* What is to be read in the answer of a command. */
__attribute__((format(printf, 2, 3))) void play_note(Play *play, const char *format, ...);

/* The event that `kubectl describe pod` shows, as kube-scheduler writes it. */
void play_describe(Play *play, const Placement *placement);

/* --- what is done ----------------------------------------------------------------------------- */

/* A new pod of @workload wants a node. What became of it is shown and is in @ret: all zero when
 * nothing is done any more. Strings live until the next. */
void play_place(Play *play, const Workload *workload, Placement *ret);

/* The same without a word; @life as in world_make_pod(). */
void play_place_quietly(Play *play, const Workload *workload, uint64_t life, Placement *ret);

/* Another attempt of the pod that the scenario is about, if it has no node; not shown. */
void play_retry(Play *play, Placement *ret);
void play_show(Play *play, const Placement *placement); /* a line */

/* The scenario is about this one. */
void play_choose_pod(Play *play, const Placement *placement);

/* The person edits the policy: the first @from in it becomes @to, as shown. It is not waited for
 * what berth makes of it. */
void play_edit(Play *play, const char *from, const char *to);

/* Until @is_so of the view in force; it is @what that is waited for. */
void play_await(Play *play, const char *what, RigCondition *is_so, const void *context);

/* The same for the text of a page. */
void play_await_page(Play *play, const char *what, const char *path, const char *text);

/* This must be so, or the scenario has not come out as it should. */
void play_expect(Play *play, bool is_so, const char *what);

/* Time goes by. */
void play_pause(Play *play, unsigned msec);

/* --- commands of berth ------------------------------------------------------------------------ */

/* For a person to type; and the same, typed and run: what it prints is shown as it comes. Its exit
 * code is not looked at: a check that finds something fails. */
void play_suggest(Play *play, const char *const words[]);
void play_run(Play *play, const char *const words[]);

/* A list of words for these. */
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* What a page says: `curl -s`, which not everybody has, is played. */
void play_fetch(Play *play, const char *path);
