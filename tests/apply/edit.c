/*
 * The ELF editor from the command line, for tests and the benchmark.
 *
 *	edit [--needed A,B,..] [--run-path TEXT] [--rename A=B] [--note FILE | --no-note]
 *	     [--closure FILE | --no-closure] [--audit PATH] [--renew] IN OUT
 *
 * Prints "in place", "nothing to do", or what was appended. Exit status 1: refused, with the
 *reason.
 */
#include "planner/elf_edit.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LIST = 4096 };

static unsigned char *read_file(struct arena *arena, const char *path, uint64_t *ret_size)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes;
    long size;

    if (!file || fseek(file, 0, SEEK_END) < 0 || (size = ftell(file)) < 0) {
        perror(path);
        exit(2);
    }
    rewind(file);
    bytes = arena_alloc(arena, (size_t)size + 1);
    if (fread(bytes, 1, (size_t)size, file) != (size_t)size)
        exit(2);
    (void)fclose(file);
    *ret_size = (uint64_t)size;
    return bytes;
}

static void write_file(const char *path, const struct elf_edited *edited)
{
    FILE *file = fopen(path, "wb");

    if (!file || fwrite(edited->bytes, 1, edited->size, file) != edited->size ||
        fclose(file) != 0) {
        perror(path);
        exit(2);
    }
}

static const char **split(struct arena *arena, char *text, size_t *ret_n)
{
    const char **list = arena_calloc(arena, MAX_LIST, sizeof(*list));
    char *save = NULL;

    for (char *at = strtok_r(text, ",", &save); at && *ret_n < MAX_LIST;
         at = strtok_r(NULL, ",", &save))
        list[(*ret_n)++] = at;
    return list;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"needed", 1, NULL, 'n'},     {"run-path", 1, NULL, 'r'},
        {"rename", 1, NULL, 'v'},     {"note", 1, NULL, 's'},
        {"no-note", 0, NULL, 'x'},    {"closure", 1, NULL, 'c'},
        {"no-closure", 0, NULL, 'y'}, {"audit", 1, NULL, 'a'},
        {"renew", 0, NULL, 'w'},      {0},
    };
    CLEANUP(arena_release) struct arena arena = {0};
    struct rename *renames = arena_calloc(&arena, MAX_LIST, sizeof(*renames));
    struct elf_change change = {.renames = renames};
    struct elf_edited edited;
    struct err err;
    uint64_t size;
    unsigned char *bytes;

    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'n') {
            change.needed = split(&arena, optarg, &change.n_needed);
        } else if (c == 'r') {
            change.run_path = optarg;
        } else if (c == 'v' && strchr(optarg, '=')) {
            char *to = strchr(optarg, '=');

            *to = '\0';
            renames[change.n_renames++] = (struct rename){optarg, to + 1};
        } else if (c == 's') {
            change.note = NOTE_SET;
            bytes = read_file(&arena, optarg, &size);
            change.descriptor = (struct note){bytes, (uint32_t)size};
        } else if (c == 'x') {
            change.note = NOTE_REMOVE;
        } else if (c == 'c') {
            change.closure = NOTE_SET;
            bytes = read_file(&arena, optarg, &size);
            change.closure_descriptor = (struct note){bytes, (uint32_t)size};
        } else if (c == 'y') {
            change.closure = NOTE_REMOVE;
        } else if (c == 'a') {
            change.audit = optarg;
        } else if (c == 'w') {
            change.renew = true;
        } else {
            return 2;
        }
    }
    if (argc - optind != 2)
        return 2;
    bytes = read_file(&arena, argv[optind], &size);
    if (elf_edit(bytes, size, &change, &arena, &edited, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    puts(edited.nothing_to_do ? "nothing to do" : edited.in_place ? "in place" : edited.segment);
    write_file(argv[optind + 1], &edited);
    return 0;
}
