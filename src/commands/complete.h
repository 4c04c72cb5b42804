#pragma once

/*
 * Shell completion: `berth __complete WORD...` is run by the shells' scripts
 * (cmd-completion.c) with the words of the command line, the last of which is the one that is
 * being typed, perhaps empty.
 *
 * It prints one candidate a line, "word<TAB>what it is", and at last ":4", or ":0" when names of
 * files may stand there, too. That is cobra's protocol, which kubectl speaks with its plugins.
 * Commands, options and their values come from help texts (help-text.h), names of pods, nodes
 * and contexts from where the options on the line say that they are.
 *
 * It must not keep a person waiting, and is never the place for an error message: what fails is
 * left out, and after COMPLETE_MSEC it ends.
 */

#define COMPLETE_MSEC 1000

/* The exit code, always EXIT_FINE. */
int complete(int n_words, char *words[]);
