# stormlint's build: one Makefile, no recursion.
#
#   make                 build/stormlint (MODE=release; also debug asan tsan cover)
#   make demo            a demo store, its worst offenders, a trace, a plan   [STORE=/nix/store]
#   make test            everything CI runs; closes with "N passed, N failed"
#   make bench           the scanner and the loader model against yardsticks, as ratios
#   make fuzz            every fuzz target for T seconds (default 10)
#   make install         PREFIX=/usr/local DESTDIR=
#   make fmt lint tidy layers    format, check the style, the code, the architecture
#   make deps            install what is missing (Debian 12; root or sudo)
#   make help clean

MODE   ?= release
CC     := $(if $(filter default,$(origin CC)),gcc,$(CC))
O      := build/$(MODE)
CLANG  := $(findstring clang,$(CC))
PKGS   := libelf jansson sqlite3
VERSION := 0.1.0

## Flags: warnings are the same everywhere, only the mode differs

WARN   := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
          -Wpointer-arith -Wwrite-strings -Wcast-qual -Wformat=2 -Wundef -Wvla -Wimplicit-fallthrough \
          -Wnull-dereference -Wdouble-promotion -Wswitch-enum -Wconversion -Wsign-conversion \
          -Werror=implicit-function-declaration \
          -Werror=incompatible-pointer-types -Werror=int-conversion -Werror=return-type
GCC    := $(if $(CLANG),,-Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wformat-signedness)
X86    := $(filter x86_64%,$(shell $(CC) -dumpmachine 2>/dev/null))
HARDEN := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection \
          $(if $(X86),-fcf-protection=full) $(if $(CLANG),,-ftrivial-auto-var-init=zero) -fPIE \
          -fno-common -fno-strict-overflow -fno-delete-null-pointer-checks
LINK   := -pie -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code -Wl,--as-needed

MODE_debug   := -Og -g3
MODE_release := -O2 -g $(HARDEN)
MODE_asan    := -O1 -g3 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
MODE_tsan    := -O1 -g3 -fsanitize=thread
MODE_cover   := -O0 -g3 --coverage

CPPFLAGS += -I. -D_GNU_SOURCE -DVERSION='"$(VERSION)"' $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
CFLAGS   += -std=gnu17 $(WARN) $(GCC) $(if $(CI)$(DEVELOPER),-Werror) $(MODE_$(MODE)) -pthread
LDFLAGS  += $(if $(filter release,$(MODE)),$(LINK))
LDLIBS   += $(shell pkg-config --libs $(PKGS) 2>/dev/null)

## The architecture: what each folder may include and link, in link order

USES_base    := base
USES_scanner := scanner $(USES_base)
USES_loader  := loader $(USES_scanner)
USES_planner := planner $(USES_loader)
USES_check   := check $(USES_loader)
USES_cli     := cli check $(USES_planner)

LAYERS := $(USES_cli)
libs    = $(patsubst %,$(O)/lib%.a,$(USES_$(1)))
objs    = $(patsubst %.c,$(O)/%.o,$(sort $(wildcard $(1)/*.c)))

all: build/stormlint
build/stormlint: $(O)/stormlint FORCE
	@cmp -s $< $@ || cp $< $@
$(O)/stormlint: $(O)/main.o $(call libs,cli)
	$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

define layer
$(O)/lib$(1).a: $(call objs,$(1))
	@rm -f $$@
	@$(AR) rcs $$@ $$^
endef
$(foreach l,$(LAYERS),$(eval $(call layer,$(l))))
$(O)/libbase.a: $(O)/gen/schema.o

$(O)/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@
$(O)/%.o: $(O)/%.c
	$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

# schema.sql is the one schema: it is compiled in as a string
$(O)/gen/schema.c: schema.sql
	@mkdir -p $(@D)
	@{ echo 'extern const char schema_sql[];'; echo 'const char schema_sql[] ='; \
	   sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&\\n"/' $<; echo ';'; } > $@

# rebuild when the compiler or its flags change
$(O)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(subst ','"'"',$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS))' | cmp -s - $@ || \
	 echo '$(subst ','"'"',$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS))' > $@

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile
clean:
	rm -rf build
FORCE:
.PHONY: all help clean FORCE
-include $(shell find $(O) -name '*.d' 2>/dev/null)
