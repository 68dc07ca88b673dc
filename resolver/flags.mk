# What the resolver is made with, for the main Makefile and for a derivation of its own.
# No C library is there: nothing may be called that the compiler brings in by itself.
RESOLVER_C       := $(sort $(wildcard resolver/*.c resolver/module/*.c))
RESOLVER_FLAGS   := -std=gnu17 -O2 -fPIC -ffreestanding -fno-builtin -fvisibility=hidden \
                    -fno-stack-protector -fno-asynchronous-unwind-tables -nostdlib -shared \
                    -I. -D_GNU_SOURCE -Wl,--hash-style=gnu,--build-id=none \
                    -Wl,-z,noseparate-code,-z,now,-z,norelro,-z,noexecstack,-z,defs \
                    -Wl,-soname,libstormlint-resolve.so.1
# a process that enforces control flow is not downgraded by it
RESOLVER_x86_64  := -fcf-protection=full
RESOLVER_aarch64 := -mbranch-protection=standard
RESOLVER_gcc     := -fno-tree-loop-distribute-patterns
