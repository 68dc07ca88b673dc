#include "scanner/nar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What the next string has to be. */
enum state {
    MAGIC,
    OPEN,     /* "(" of a node */
    TYPE_KEY, /* "type" */
    TYPE,     /* "regular", "symlink" or "directory" */
    REGULAR,  /* "executable" or "contents" */
    EXEC,     /* "" */
    CONTENTS, /* "contents" */
    CONTENT,  /* bytes of any length, handed on as they come */
    TARGET_KEY,
    TARGET,
    DIRECTORY, /* "entry", or ")" at its end */
    ENTRY,     /* "(" */
    NAME_KEY,
    NAME,
    NODE,      /* "node" */
    CLOSE,     /* ")" of a file or a link */
    ENTRY_END, /* ")" */
    DONE,
};

/* Which part of a string is next. */
enum part { LENGTH, BYTES, PADDING };

struct nar {
    const struct nar_sink *sink;
    void *data;
    uint64_t at; /* offset in the archive */
    enum state state;
    enum part part;

    uint64_t length, left; /* of the string at hand, and what of it is still to come */
    unsigned char number[8];
    size_t n_number;
    char text[NAR_TARGET_MAX + 1];
    size_t n_text;
    unsigned padding; /* zeroes to come */

    bool executable;
    char name[NAR_NAME_MAX + 1]; /* of the node at hand; "": the top */
    unsigned depth;              /* directories that are open */
    struct level {
        char last[NAR_NAME_MAX + 1]; /* the entry before */
    } * level;                       /* NAR_DEPTH_MAX + 1 of them */
};

/* The longest string a state can want; CONTENT has no limit but the archive's. */
static uint64_t longest(enum state state)
{
    return state == CONTENT ? UINT64_MAX : state == TARGET ? NAR_TARGET_MAX : NAR_NAME_MAX;
}

struct nar *nar_new(const struct nar_sink *sink, void *data)
{
    struct nar *nar = calloc(1, sizeof(*nar));

    if (!nar || !(nar->level = calloc(NAR_DEPTH_MAX + 1, sizeof(*nar->level))))
        abort();
    nar->sink = sink;
    nar->data = data;
    return nar;
}

void nar_free(struct nar *nar)
{
    if (!nar)
        return;
    free(nar->level);
    free(nar);
}

void nar_start(struct nar *nar)
{
    nar->at = 0;
    nar->state = MAGIC;
    nar->part = LENGTH;
    nar->n_number = 0;
    nar->depth = 0;
    nar->name[0] = '\0';
    nar->level[0].last[0] = '\0';
}

static int malformed(const struct nar *nar, const char *what, struct err *err)
{
    return err_set(err, EINVAL, "malformed archive, at byte %llu: %s", (unsigned long long)nar->at,
                   what);
}

/* A node has ended: what is next is up to what holds it. */
static void end_node(struct nar *nar)
{
    nar->state = nar->depth ? ENTRY_END : DONE;
}

static int read_type(struct nar *nar, struct err *err)
{
    if (strcmp(nar->text, "regular") == 0) {
        nar->executable = false;
        nar->state = REGULAR;
    } else if (strcmp(nar->text, "symlink") == 0) {
        nar->state = TARGET_KEY;
    } else if (strcmp(nar->text, "directory") == 0) {
        if (nar->depth == NAR_DEPTH_MAX)
            return malformed(nar, "directories are nested too deeply", err);
        nar->level[++nar->depth].last[0] = '\0';
        nar->state = DIRECTORY;
        return nar->sink->enter(nar->data, nar->name, err);
    } else {
        return malformed(nar, "an unknown type of node", err);
    }
    return 0;
}

static int read_name(struct nar *nar, struct err *err)
{
    char *last = nar->level[nar->depth].last;

    if (nar->n_text == 0 || strlen(nar->text) != nar->n_text || strchr(nar->text, '/') ||
        strcmp(nar->text, ".") == 0 || strcmp(nar->text, "..") == 0)
        return malformed(nar, "a name that no entry can have", err);
    if (strcmp(last, nar->text) >= 0)
        return malformed(nar, "names are not in ascending order", err);
    memcpy(last, nar->text, nar->n_text + 1);
    memcpy(nar->name, nar->text, nar->n_text + 1);
    nar->state = NODE;
    return 0;
}

static int read_target(struct nar *nar, struct err *err)
{
    if (nar->n_text == 0 || strlen(nar->text) != nar->n_text)
        return malformed(nar, "a target that no link can have", err);
    nar->state = CLOSE;
    return nar->sink->link(nar->data, nar->name, nar->text, err);
}

/* States that want one certain word, and what follows. */
static const struct word {
    const char *text; /* NULL: not such a state */
    enum state next;
} words[DONE + 1] = {
    [MAGIC] = {"nix-archive-1", OPEN},
    [OPEN] = {"(", TYPE_KEY},
    [TYPE_KEY] = {"type", TYPE},
    [EXEC] = {"", CONTENTS},
    [CONTENTS] = {"contents", CONTENT},
    [TARGET_KEY] = {"target", TARGET},
    [ENTRY] = {"(", NAME_KEY},
    [NAME_KEY] = {"name", NAME},
    [NODE] = {"node", OPEN},
    [ENTRY_END] = {")", DIRECTORY},
};

/* A whole string has come. */
static int read_text(struct nar *nar, struct err *err)
{
    const struct word *word = &words[nar->state];

    nar->text[nar->n_text] = '\0';
    if (word->text) {
        if (strlen(word->text) != nar->n_text || strcmp(word->text, nar->text) != 0)
            return malformed(nar, nar->state == MAGIC ? "it is no Nix archive" : "a word is wrong",
                             err);
        nar->state = word->next;
        return 0;
    }
    if (nar->state == TYPE)
        return read_type(nar, err);
    if (nar->state == NAME)
        return read_name(nar, err);
    if (nar->state == TARGET)
        return read_target(nar, err);
    if (nar->state == REGULAR && strcmp(nar->text, "executable") == 0) {
        nar->executable = true;
        nar->state = EXEC;
    } else if (nar->state == REGULAR && strcmp(nar->text, "contents") == 0) {
        nar->state = CONTENT;
    } else if (nar->state == DIRECTORY && strcmp(nar->text, "entry") == 0) {
        nar->state = ENTRY;
    } else if (nar->state == DIRECTORY && strcmp(nar->text, ")") == 0) {
        nar->depth--;
        end_node(nar);
        return nar->sink->leave(nar->data, err);
    } else if (nar->state == CLOSE && strcmp(nar->text, ")") == 0) {
        end_node(nar);
    } else {
        return malformed(nar, "a word is wrong", err);
    }
    return 0;
}

/* The string's bytes are complete; its padding too. */
static int end_string(struct nar *nar, struct err *err)
{
    nar->part = LENGTH;
    nar->n_number = 0;
    if (nar->state != CONTENT)
        return read_text(nar, err);
    nar->state = CLOSE;
    return nar->sink->file_end(nar->data, err);
}

static int end_bytes(struct nar *nar, struct err *err)
{
    nar->padding = (unsigned)(-nar->length & 7);
    nar->part = PADDING;
    return nar->padding ? 0 : end_string(nar, err);
}

static int add_length(struct nar *nar, unsigned char byte, struct err *err)
{
    uint64_t length = 0;
    int r = 0;

    if (nar->state == DONE)
        return malformed(nar, "something stands behind its end", err);
    nar->number[nar->n_number++] = byte;
    if (nar->n_number < sizeof(nar->number))
        return 0;
    for (size_t i = 0; i < sizeof(nar->number); i++)
        length |= (uint64_t)nar->number[i] << 8 * i;
    if (length > longest(nar->state) || length > UINT64_MAX / 2)
        return malformed(nar, "a string is too long", err);
    nar->length = nar->left = length;
    nar->n_text = 0;
    nar->part = BYTES;
    if (nar->state == CONTENT)
        r = nar->sink->file(nar->data, nar->name, nar->executable, length, nar->at + 1, err);
    return r < 0 || length ? r : end_bytes(nar, err);
}

/* As many of the `n` bytes as belong to the string; *ret_n of them. */
static int add_bytes(struct nar *nar, const unsigned char *bytes, size_t n, size_t *ret_n,
                     struct err *err)
{
    int r = 0;

    if (n > nar->left)
        n = (size_t)nar->left;
    *ret_n = n;
    nar->left -= n;
    if (nar->state == CONTENT) {
        r = nar->sink->content(nar->data, bytes, n, err);
    } else {
        memcpy(nar->text + nar->n_text, bytes, n);
        nar->n_text += n;
    }
    return r < 0 || nar->left ? r : end_bytes(nar, err);
}

int nar_add(struct nar *nar, const void *bytes, size_t n, struct err *err)
{
    const unsigned char *at = bytes;
    int r = 0;

    while (n && r == 0) {
        size_t took = 1;

        if (nar->part == BYTES)
            r = add_bytes(nar, at, n, &took, err);
        else if (nar->part == LENGTH)
            r = add_length(nar, *at, err);
        else if (*at)
            r = malformed(nar, "its padding is not zero", err);
        else if (--nar->padding == 0)
            r = end_string(nar, err);
        at += took;
        n -= took;
        nar->at += took;
    }
    return r;
}

int nar_end(struct nar *nar, struct err *err)
{
    if (nar->state != DONE || nar->part != LENGTH || nar->n_number)
        return malformed(nar, "it ends too early", err);
    return 0;
}
