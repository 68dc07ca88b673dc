/*
 * A fuzz target without the fuzzer: feed it each file named on the command line once.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { INPUT_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        uint8_t *bytes = malloc(INPUT_MAX), *exact;
        size_t n;

        if (!file || !bytes) {
            perror(argv[i]);
            return 1;
        }
        n = fread(bytes, 1, INPUT_MAX, file);
        (void)fclose(file);
        exact = realloc(bytes, n ? n : 1); /* so that reading behind the end is noticed */
        LLVMFuzzerTestOneInput(exact, n);
        free(exact);
    }
    printf("%d inputs\n", argc - 1);
    return 0;
}
