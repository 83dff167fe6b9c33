/* A wall clock that can be set, which the processes of a test or of the soak read instead of the system's.
 *
 * The offset in seconds is in a file that is mapped into every process, so that all of them see a
 * jump at the same moment. There is no lock, which a killed process could keep, and no other clock is
 * changed: what waits by the monotonic clock must not notice. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset;

__attribute__((constructor)) static void open_clock(void) {
    const char *path = getenv("TEST_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) {
        return;
    }
    void *mapped = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED) {
        offset = mapped;
    }
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_REALTIME && offset) {
        time->tv_sec += *offset;
    }
    return result;
}
