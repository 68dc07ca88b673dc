/*
 * The resolver's decision: which path to give ld.so for a name, or none (docs/closure-note.md).
 *
 *	struct resolver r = {.look = look, .class = ELFCLASS64, .machine = EM_X86_64, ...};
 *	path = resolver_answer(&r, &asker, "libz.so.1");	NULL: ld.so searches by itself
 *
 * It answers only what a stock loader would find as well, and steps aside whenever something
 * could come first that it cannot judge. The file system is only seen through `look`, so that the
 * loader model predicts a start by running this very code over its world; the library that ld.so
 * loads runs it over system calls.
 *
 * One thread at a time: ld.so asks under its own lock.
 */
#pragma once

#include "resolver/note.h"

enum { RESOLVER_PATH_MAX = 4096 };

/* The environment variable that switches it off, and its value. */
#define RESOLVER_SWITCH "STORMLINT_RESOLVE=off"

/* The library's DT_SONAME: the number changes when decisions do. */
#define RESOLVER_SONAME "libstormlint-resolve.so.1"

/* What came of looking at a path: opening it for reading and, to `verify` it, reading its head. */
enum seen {
    SEEN_ABSENT,  /* ENOENT or ENOTDIR: ld.so goes on here */
    SEEN_UNSURE,  /* any other error, or no head of a library: what follows is for ld.so to say */
    SEEN_FOREIGN, /* verified: a library of another class or machine, which ld.so passes over */
    SEEN_THERE,   /* verified: a library for this machine, by its head */
};

/* The first bytes of an ELF file, as far as they are looked at. */
enum { SEEN_SIZE = 20 };
struct seen_head {
    uint8_t class, data, version, osabi;
    uint16_t type, machine; /* read as little-endian */
};

/* What is known about the directory of a hint. */
enum hint_state { HINT_ABSENT, HINT_PLAIN, HINT_LEVELS };

/* Who asks. */
struct asker {
    const char *path; /* as opened; CLOSURE_PROGRAM for the program */
    bool is_program;
    bool rpath, runpath; /* has such a tag */
};

struct resolver {
    enum seen (*look)(void *data, const char *path, bool verify);
    void *data;
    uint16_t machine; /* EM_*, decides which sub-directories ld.so looks into */
    bool off;
    bool inherits; /* some object seen so far has DT_RPATH and no DT_RUNPATH */

    struct closure_note closure; /* of the program; rows.at NULL: none */
    struct rows own;             /* the program's resolution note; at NULL: none */
    const char *library_path;    /* LD_LIBRARY_PATH; NULL: not set, or empty */

    /* What it remembers. */
    enum { PATH_UNSEEN, PATH_PLAIN, PATH_OPAQUE } library_path_state;
    const char *hint; /* the last directory of a hint, in a note */
    uint64_t hint_len;
    enum hint_state hint_state;
    char path[RESOLVER_PATH_MAX];   /* put together to be looked at */
    char answer[RESOLVER_PATH_MAX]; /* an answer that does not end its list */
};

/* What the head of an ELF file says on `machine`. Too short, or not ELF at all: SEEN_UNSURE. */
enum seen resolver_judge(uint16_t machine, const struct seen_head *head);

/*
 * The path to open for `name`, valid until the next call; NULL: no opinion. The path was looked at
 * and can be opened: ld.so does not forgive an answer that cannot.
 */
const char *resolver_answer(struct resolver *resolver, const struct asker *asker, const char *name);
