/*
 * System calls without a C library: errors come back as -errno, errno is left alone. Only calls
 * that ld.so makes itself, so a sandbox that lets it load libraries lets these pass.
 */
#pragma once

#include <elf.h>

#if defined __x86_64__
enum { SYS_OPENAT = 257, SYS_READ = 0, SYS_CLOSE = 3, THIS_MACHINE = EM_X86_64 };

static inline long sys_call(long number, long a, long b, long c, long d)
{
    long result;
    register long r10 __asm__("r10") = d;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined __aarch64__
enum { SYS_OPENAT = 56, SYS_READ = 63, SYS_CLOSE = 57, THIS_MACHINE = EM_AARCH64 };

static inline long sys_call(long number, long a, long b, long c, long d)
{
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c, x3 __asm__("x3") = d;

    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}
#else
/* cppcheck-suppress preprocessorErrorDirective */
#error "the resolver exists for x86-64 and aarch64"
#endif

/*
 * O_RDONLY | O_CLOEXEC, as ld.so opens libraries; and O_NONBLOCK: it looks where ld.so would not,
 * and must not wait for what stands there.
 */
static inline long sys_open(const char *path)
{
    return sys_call(SYS_OPENAT, -100, (long)path, 02004000, 0);
}

static inline long sys_read(long fd, void *to, unsigned long size)
{
    return sys_call(SYS_READ, fd, (long)to, (long)size, 0);
}

static inline void sys_close(long fd)
{
    (void)sys_call(SYS_CLOSE, fd, 0, 0, 0);
}
