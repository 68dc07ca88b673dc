/* Any text as a packages.json: origins that can be asked for, or an error that says why. */
#include "scanner/origin.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const int fd = memfd_create("origin", MFD_CLOEXEC);
    const struct origin *origin;
    struct origins *origins = NULL;
    struct err err = {0};
    char path[64];

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (origins_read(path, &arena, &origins, &err) < 0) {
        if (err.text[0] == '\0')
            abort();
    } else {
        origin = origins_find(origins, "viewer-1.0", "viewer");
        if (origin && !origin->attribute)
            abort();
    }
    origins_free(origins);
    close(fd);
    return 0;
}
