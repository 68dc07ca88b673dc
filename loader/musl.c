#include "loader/internal.h"

void musl_start(struct run *run)
{
    run_exit(run, EXIT_ABORT, "abort: musl's loader is not modelled yet");
}
