/* The YAML of kubeconfig files, and lookups in it that keep the first error. */

#include "kube/kubeconfig-tree.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/message.h"
#include "kube/access.h"

#define NAMES_SHOWN 12u

/* --- complaints --- */

void tree_refuse(Tree *tree, Place place, const char *format, ...) {
    char what[ACCESS_ERROR_MAX], where[64] = "";
    va_list arguments;

    if (tree->r < 0)
        return;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    if (place.line > 0)
        (void)snprintf(where, sizeof(where), ":%zu:%zu", place.line, place.column);
    tree->r = message_fail(-EINVAL, tree->error, "%.*s%s: %s", STR_FMT(place.file), where, what);
}

void tree_lack_memory(Tree *tree) {
    if (tree->r == 0)
        tree->r = message_fail(-ENOMEM, tree->error, "kubeconfig: out of memory");
}

/* --- nodes --- */

const YamlNode *tree_find(Tree *tree, const YamlNode *mapping, const char *key, YamlKind kind) {
    const YamlNode *node = yaml_find(mapping, str_from_c(key));

    if (!node || node->kind == YAML_NULL)
        return NULL;
    if (node->kind == kind)
        return node;
    tree_refuse(tree, node->place, "%s must be %s, not %s%s", key, yaml_kind_name(kind),
        yaml_kind_name(node->kind),
        kind == YAML_STRING && node->kind < YAML_STRING ? "; put it in quotes" : "");
    return NULL;
}

const YamlNode *tree_find_text(Tree *tree, const YamlNode *mapping, const char *key) {
    const YamlNode *node = tree_find(tree, mapping, key, YAML_STRING);

    return node && node->text.len > 0 ? node : NULL;
}

bool tree_read_bool(Tree *tree, const YamlNode *mapping, const char *key) {
    const YamlNode *node = tree_find(tree, mapping, key, YAML_BOOL);

    return node && node->boolean;
}

char *tree_copy(Tree *tree, Str text) {
    char *copied = secret_copy(text);

    if (!copied)
        tree_lack_memory(tree);
    return copied;
}

char *tree_read_text(Tree *tree, const YamlNode *mapping, const char *key) {
    const YamlNode *node = tree_find_text(tree, mapping, key);

    return node ? tree_copy(tree, node->text) : NULL;
}

/* --- values --- */

char *tree_resolve(Tree *tree, const TreeFile *file, Str path) {
    const char *slash = strrchr(file->path, '/');
    int folder = slash && path.ptr[0] != '/' ? (int)(slash - file->path) + 1 : 0;
    char *resolved = NULL;

    if (asprintf(&resolved, "%.*s%.*s", folder, file->path, STR_FMT(path)) < 0) {
        tree_lack_memory(tree);
        return NULL;
    }
    return resolved;
}

void tree_read_path(Tree *tree, const TreeEntry *entry, const char *key, Secret *ret) {
    const YamlNode *node = tree_find_text(tree, entry->body, key);

    if (node)
        ret->path = tree_resolve(tree, entry->file, node->text);
}

/* Base64 of PEM. */
static void read_data(Tree *tree, const TreeEntry *entry, const char *key, Secret *ret) {
    _cleanup_(secret_buf_done) Buf pem = BUF_INIT(ACCESS_FILE_MAX);
    const YamlNode *node = tree_find_text(tree, entry->body, key);
    const char *complaint;

    if (!node)
        return;
    (void)buf_reserve(&pem, node->text.len / 4 * 3 + 3); /* in one piece: nothing left behind */
    if (!base64_decode(node->text, &pem)) {
        tree_refuse(tree, node->place, "%s is no base64; %.*s takes a file's name", key,
            (int)(strlen(key) - strlen("-data")), key);
        return;
    }
    if (buf_error(&pem) == -ENOMEM) {
        tree_lack_memory(tree);
        return;
    }
    complaint = buf_error(&pem) ? "is too large" : secret_complaint(SECRET_PEM, buf_str(&pem));
    if (complaint)
        tree_refuse(tree, node->place, "%s %s", key, complaint);
    else
        ret->text = tree_copy(tree, buf_str(&pem));
}

void tree_read_pem(Tree *tree, const TreeEntry *entry, const char *key, Secret *ret) {
    char data_key[64];
    const YamlNode *data;

    (void)snprintf(data_key, sizeof(data_key), "%s-data", key);
    data = tree_find_text(tree, entry->body, data_key);
    ret->kind = SECRET_PEM;
    if (data && tree_find_text(tree, entry->body, key))
        tree_refuse(tree, data->place, "%s and %s are both given; remove one", key, data_key);
    tree_read_path(tree, entry, key, ret);
    read_data(tree, entry, data_key, ret);
}

/* --- files --- */

/* Nothing that may be a value is repeated. */
static Str show_diag(const Diag *diag) {
    if (str_has_prefix(diag->text, STR("alias ")))
        return STR("an alias is not supported");
    if (str_has_prefix(diag->text, STR("tag ")))
        return STR("a tag is not supported");
    return diag->text;
}

static void complain_of_syntax(Tree *tree, const TreeFile *file, const DiagList *diags) {
    for (size_t i = 0; i < diags->diags.n; i++) {
        const Diag *diag = &diags->diags.items[i];

        if (diag->level != DIAG_ERROR)
            continue;
        tree_refuse(tree, diag->place, "%.*s%s%.*s", STR_FMT(show_diag(diag)),
            diag->hint.len > 0 ? "; " : "", STR_FMT(diag->hint));
        return;
    }
    tree_refuse(tree, tree_file_place(file), "is no YAML");
}

static void check_word(Tree *tree, const YamlNode *root, const char *key, const char *word) {
    const YamlNode *node = tree_find_text(tree, root, key);

    if (node && !str_is(node->text, word))
        tree_refuse(tree, node->place, "this is no kubeconfig: %s is \"%.*s\", not \"%s\"", key,
            STR_FMT(str_take(node->text, 64)), word);
}

static void parse_file(Tree *tree, const KubeconfigFile *from, TreeFile *file) {
    DiagList diags = DIAG_LIST_IN(tree->arena);
    YamlStream stream = {0};
    int r;

    file->path = from->path;
    if (tree->r < 0)
        return;
    r = yaml_parse(str_from_c(from->path), from->text, tree->arena, &diags, &stream);
    file->root = stream.n_documents > 0 ? stream.documents[0] : NULL;
    if (r == -ENOMEM)
        tree_lack_memory(tree);
    else if (r < 0)
        complain_of_syntax(tree, file, &diags);
    else if (stream.n_documents > 1)
        tree_refuse(tree, stream.documents[1]->place, "a second document; a kubeconfig is one");
    else if (file->root && file->root->kind != YAML_MAPPING)
        tree_refuse(tree, file->root->place, "this is no kubeconfig: it is %s",
            yaml_kind_name(file->root->kind));
    check_word(tree, file->root, "kind", "Config");
    check_word(tree, file->root, "apiVersion", "v1");
}

void tree_parse(Tree *tree, const KubeconfigFile *files, size_t n_files) {
    tree->files = ARENA_ARRAY(tree->arena, TreeFile, n_files);
    if (!tree->files) {
        tree_lack_memory(tree);
        return;
    }
    tree->n_files = n_files;
    for (size_t i = 0; i < n_files; i++)
        parse_file(tree, &files[i], &tree->files[i]);
}

static void wipe(const YamlNode *node) {
    if (!node)
        return;
    secret_wipe(node->text);
    for (size_t i = 0; i < node->n; i++)
        wipe(node->kind == YAML_MAPPING ? node->pairs[i].value : node->items[i]);
}

void tree_wipe(const Tree *tree) {
    for (size_t i = 0; i < tree->n_files; i++)
        wipe(tree->files[i].root);
}

/* --- entries --- */

static const YamlNode *list_of(Tree *tree, const TreeFile *file, TreeSection section) {
    return tree_find(tree, file->root, section.list, YAML_SEQUENCE);
}

static const YamlNode *entry_name(Tree *tree, const YamlNode *item, TreeSection section) {
    const YamlNode *name;

    if (item->kind != YAML_MAPPING) {
        tree_refuse(tree, item->place, "an entry of %s must be a mapping with name and %s",
            section.list, section.body);
        return NULL;
    }
    name = tree_find_text(tree, item, "name");
    if (!name)
        tree_refuse(tree, item->place, "an entry of %s has no name", section.list);
    return name;
}

/* Whether @file has it; two of one name in one file are an error, also here. */
static bool find_in_file(
    Tree *tree, const TreeFile *file, TreeSection section, Str name, TreeEntry *ret) {
    const YamlNode *list = list_of(tree, file, section);
    bool found = false;

    for (size_t i = 0; list && i < list->n && tree->r == 0; i++) {
        const YamlNode *at = entry_name(tree, list->items[i], section);

        if (!at || !str_eq(at->text, name))
            continue;
        if (found)
            tree_refuse(tree, at->place, "a second entry of %s is called \"%.*s\"", section.list,
                STR_FMT(name));
        found = true;
        *ret = (TreeEntry){
            .file = file,
            .name = at->text,
            .body = tree_find(tree, list->items[i], section.body, YAML_MAPPING),
        };
    }
    return found;
}

Str tree_list_names(Tree *tree, TreeSection section) {
    _cleanup_(buf_done) Buf names = BUF_INIT(ACCESS_ERROR_MAX);
    size_t n = 0;

    for (size_t i = 0; i < tree->n_files; i++) {
        const YamlNode *list = list_of(tree, &tree->files[i], section);

        for (size_t k = 0; list && k < list->n; k++) {
            const YamlNode *name = yaml_find(list->items[k], STR("name"));

            if (!name || name->text.len == 0 || n++ >= NAMES_SHOWN)
                continue;
            buf_append(&names, n > 1 ? STR(", ") : STR_NULL);
            buf_append(&names, str_take(name->text, 64));
        }
    }
    if (n > NAMES_SHOWN)
        buf_printf(&names, " and %zu more", n - NAMES_SHOWN);
    return arena_copy(tree->arena, n == 0 ? STR("none") : buf_str(&names));
}

/* "a.yaml", "a.yaml and 2 more files" */
static Str list_files(Tree *tree) {
    const char *first = tree->files[0].path;

    if (tree->n_files == 1)
        return str_from_c(first);
    return arena_printf(tree->arena, "%s and %zu more file%s", first, tree->n_files - 1,
        tree->n_files > 2 ? "s" : "");
}

TreeEntry tree_find_entry(Tree *tree, TreeSection section, Str name, Place place) {
    TreeEntry entry = {0};

    for (size_t i = 0; i < tree->n_files && tree->r == 0; i++)
        if (find_in_file(tree, &tree->files[i], section, name, &entry))
            return entry;
    if (tree->r == 0)
        tree_refuse(tree, place, "%s \"%.*s\" is not in %.*s; it has: %.*s", section.body,
            STR_FMT(str_take(name, 128)), STR_FMT(list_files(tree)),
            STR_FMT(tree_list_names(tree, section)));
    return entry;
}
