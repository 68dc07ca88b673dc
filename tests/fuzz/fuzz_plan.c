/* Any text as a plan file: a plan or an error that says where. */
#include "planner/plan_json.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const int fd = memfd_create("plan", MFD_CLOEXEC);
    char path[64];
    struct plan plan;
    struct err err = {0};

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (plan_read(path, &arena, &plan, &err) < 0 && err.text[0] == '\0')
        abort();
    close(fd);
    return 0;
}
