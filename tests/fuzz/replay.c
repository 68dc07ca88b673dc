/*
 * Feed files to a fuzz target, without a fuzzer: replay FILE...
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "re");
        long size;
        uint8_t *data;

        if (!file || fseek(file, 0, SEEK_END) < 0 || (size = ftell(file)) < 0) {
            fprintf(stderr, "%s: cannot be read\n", argv[i]);
            return 1;
        }
        rewind(file);
        data = malloc((size_t)size + !size); /* exactly: asan guards the end */
        if (!data || fread(data, 1, (size_t)size, file) != (size_t)size)
            return 1;
        (void)fclose(file);
        (void)LLVMFuzzerTestOneInput(data, (size_t)size);
        free(data);
    }
    return 0;
}
