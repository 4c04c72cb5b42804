#pragma once

/*
 * Tree: the YAML of all files of a kubeconfig, which count as one, and the first complaint about
 * it. The first one sticks (r, and the message in error), later ones are dropped: so a reader of a
 * kubeconfig is a list of steps that checks r at the end.
 *
 * tree_find…() borrow from the arena; tree_read…() return copies, the caller's.
 */

#include <stddef.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/str.h"
#include "kube/kubeconfig.h"
#include "yaml/document.h"

/* One file, parsed. */
typedef struct TreeFile {
    const char *path;
    const YamlNode *root; /* NULL: an empty file */
} TreeFile;

typedef struct Tree {
    Arena *arena;
    TreeFile *files;
    size_t n_files;
    char *error; /* ACCESS_ERROR_MAX */
    int r;       /* 0, or a negative errno */
} Tree;

void tree_parse(Tree *tree, const KubeconfigFile *files, size_t n_files);

/* Wipes the values that the arena holds copies of. */
void tree_wipe(const Tree *tree);

/* --- complaints --- */

/* @place: its line is 0 when nothing in a file is meant. */
__attribute__((format(printf, 3, 4))) void tree_refuse(
    Tree *tree, Place place, const char *format, ...);
void tree_lack_memory(Tree *tree);

static inline Place tree_file_place(const TreeFile *file) {
    return (Place){.file = str_from_c(file->path)};
}

/* --- fields of a mapping --- */

/* NULL when it is not there, null, or of another kind, which is refused. @mapping may be NULL. */
const YamlNode *tree_find(Tree *tree, const YamlNode *mapping, const char *key, YamlKind kind);

/* A string. An empty one counts as not given, as it does for kubectl. */
const YamlNode *tree_find_text(Tree *tree, const YamlNode *mapping, const char *key);

bool tree_read_bool(Tree *tree, const YamlNode *mapping, const char *key);
char *tree_read_text(Tree *tree, const YamlNode *mapping, const char *key); /* NULL: not given */
char *tree_copy(Tree *tree, Str text);

/* A path, relative to the file that names it. */
char *tree_resolve(Tree *tree, const TreeFile *file, Str path);

/* --- entries of contexts, clusters and users --- */

/* "contexts" and "context": a list and what is in it. */
typedef struct TreeSection {
    const char *list, *body;
} TreeSection;

typedef struct TreeEntry {
    const TreeFile *file; /* NULL: it was not found */
    const YamlNode *body; /* NULL: none, or null */
    Str name;
} TreeEntry;

/* The first of that name, or an error. @place: where the name is used. */
TreeEntry tree_find_entry(Tree *tree, TreeSection section, Str name, Place place);

/* "dev, staging": what there is. */
Str tree_list_names(Tree *tree, TreeSection section);

/* The path of a file; given by its field @key. */
void tree_read_path(Tree *tree, const TreeEntry *entry, const char *key, Secret *ret);

/* A certificate or a key, by file (@key) or inline (@key "-data"); both are one too many. */
void tree_read_pem(Tree *tree, const TreeEntry *entry, const char *key, Secret *ret);
