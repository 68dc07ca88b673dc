/*
 * Closure notes from the command line, for tests and measurements.
 *
 *	closure [--root DIR] [--store DIR] [--print] PROGRAM READER OUT
 *
 * Writes PROGRAM with its closure note and DT_AUDIT READER to OUT. Prints what was done: rows, rows
 * of plugins, then what was left out and why.
 */
#include "planner/closure.h"
#include "planner/elf_edit.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static unsigned char *read_file(struct arena *arena, const char *path, uint64_t *ret_size)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes;
    struct stat st;

    if (!file || fstat(fileno(file), &st) < 0) {
        perror(path);
        exit(2);
    }
    bytes = arena_alloc(arena, (size_t)st.st_size + 1);
    if (fread(bytes, 1, (size_t)st.st_size, file) != (size_t)st.st_size)
        exit(2);
    (void)fclose(file);
    *ret_size = (uint64_t)st.st_size;
    return bytes;
}

static void write_file(const char *path, const struct elf_edited *edited)
{
    FILE *file = fopen(path, "wb");

    if (!file || fwrite(edited->bytes, 1, edited->size, file) != edited->size ||
        fclose(file) != 0 || chmod(path, 0755) < 0) {
        perror(path);
        exit(2);
    }
}

static void print(const struct closure_made *made, bool all)
{
    const char *at = (const char *)made->note.bytes, *end = at + made->note.size;

    printf("%zu rows, %zu of plugins, %zu left out\n", made->n_rows, made->n_plugin_rows,
           made->n_left_out);
    for (size_t i = 0; i < made->n_left_out && i < CLOSURE_LEFT_OUT_KEPT; i++)
        printf("left out: %s asks %s: %s\n", made->left_out[i].requester, made->left_out[i].name,
               made->left_out[i].why);
    for (; all && at && at < end; at += strlen(at) + 1)
        puts(at);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"root", 1, NULL, 'r'}, {"store", 1, NULL, 's'}, {"print", 0, NULL, 'p'}, {0}};
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(world_closep) struct world *world = NULL;
    const char *root = "/", *store[] = {"/nix/store"};
    struct policy policy = *policy_default();
    struct elf_change change = {.closure = NOTE_SET};
    struct subject subject;
    struct closure_made made;
    struct elf_edited edited;
    unsigned char *bytes;
    bool all = false;
    struct err err;
    uint64_t size;

    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'r')
            root = optarg;
        else if (c == 's')
            store[0] = optarg;
        else if (c == 'p')
            all = true;
        else
            return 2;
    }
    if (argc - optind != 3)
        return 2;
    policy.store = store;
    policy.n_stores = 1;
    if (world_live(root, 0, 0, &world, &err) < 0 ||
        subject_init(
            &subject,
            &(struct subject_query){.world = world, .policy = &policy, .program = argv[optind]},
            &arena, &err) < 0 ||
        closure_make(&subject, &made, &err) < 0)
        goto failed;
    print(&made, all);
    if (!made.note.bytes)
        return 3;
    bytes = read_file(&arena, argv[optind], &size);
    change.closure_descriptor = made.note;
    change.audit = argv[optind + 1];
    if (elf_edit(bytes, size, &change, &arena, &edited, &err) < 0)
        goto failed;
    write_file(argv[optind + 2], &edited);
    return 0;
failed:
    fprintf(stderr, "%s\n", err.text);
    return 1;
}
