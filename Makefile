# stormlint's build: one Makefile, no recursion.
#
#   make                 build/stormlint (MODE=release; also debug asan tsan cover)
#   make demo            a store, its worst offenders, a trace, a plan  [STORE=DIR PROGRAM=FILE]
#   make test            everything CI runs; closes with "N passed, N failed"
#   make test-nix        what touches Nix, with another one than the machine's: NIX=DIR of its programs
#   make acceptance-nixpkgs  the article's two programs, built from nixpkgs (a Nix with network; hours)
#   make bench-http      what a request costs, beside a bare server; bench-http-scan: 200 clients for a
#                        minute while scans are under way
#   make bench-web       how soon the dashboard is seen, with 10,000 programs
#   make bench           the scanner and the loader model against yardsticks, as ratios
#   make bench-scale     storms of 100,000 programs over 1,000,000 objects, a synthetic index
#   make bench-scale-store   everything on stores of 1,000 and N packages (default 100,000) below DIR
#   make apply-world     every plan of a store carried out on copies  LIST=FILE (root; minutes)
#   make note-world      every program of a store with its closure note  LIST=FILE (root; an hour)
#   make plan-world      every plan of a store held against what they promise  STORE=PATH|INDEX
#   make fuzz            every fuzz target for T seconds (default 10)
#   make install         PREFIX=/usr/local DESTDIR=; install-resolver: the reader of closure notes
#   make fmt lint tidy layers    format, check the style, the code, the architecture
#   make deps            install what is missing (Debian 12; root or sudo)
#   make help clean

MODE   ?= release
CC     := $(if $(filter default,$(origin CC)),gcc,$(CC))
O      := build/$(MODE)
PKG_CONFIG ?= pkg-config
CLANG  := $(findstring clang,$(CC))
PKGS   := libelf jansson sqlite3
# what reaches other machines: in stormlint-net only
NET_PKGS := libmicrohttpd zlib libcurl libsodium liblzma libzstd libbrotlidec
VERSION := 0.1.0
# where SARIF says that the pages of the rules are: the installed ones, or a web site
# where install-resolver puts the reader of closure notes, which the policy "resolver" names
RESOLVER_PATH := $(or $(PREFIX),/usr/local)/lib/libstormlint-resolve.so
RULES_URL ?= file://$(or $(PREFIX),/usr/local)/share/doc/stormlint/rules

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
MODE_fuzz    := -O1 -g -fsanitize=fuzzer-no-link,address,undefined
MODE_cover   := -O0 -g3 --coverage

PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PKGS) $(NET_PKGS) 2>/dev/null)
PKG_LIBS   := $(shell $(PKG_CONFIG) --libs $(PKGS) 2>/dev/null)
CPPFLAGS += -I. -D_GNU_SOURCE -DVERSION='"$(VERSION)"' -DRULES_URL='"$(RULES_URL)"' -DRESOLVER_PATH='"$(RESOLVER_PATH)"' \
            $(PKG_CFLAGS)
CFLAGS   += -std=gnu17 $(WARN) $(GCC) $(if $(CI)$(DEVELOPER),-Werror) $(MODE_$(MODE)) -pthread
LDFLAGS  += $(if $(filter release,$(MODE)),$(LINK))
LDLIBS   += $(PKG_LIBS)
NET_LIBS := $(shell $(PKG_CONFIG) --libs $(NET_PKGS) 2>/dev/null)

# the dashboard's sources; empty: without it
WEB    ?= web

# one short line a step; V=1 shows the commands
Q      := $(if $(V),,@)
say     = $(if $(V),,@printf '  %-5s %s\n' '$(1)' '$(2)')

## The architecture: what each folder may include and link, in link order

USES_base    := base
USES_resolver := resolver
USES_scanner := scanner $(USES_base)
USES_loader  := loader $(USES_resolver) $(USES_scanner)
USES_linter  := linter $(USES_loader)
USES_planner := planner $(USES_linter)
USES_audit   := audit $(USES_planner)
USES_check   := check $(USES_loader)
USES_server  := server $(USES_audit)
USES_cli     := cli check $(USES_server)

LAYERS := $(USES_cli)
libs    = $(patsubst %,$(O)/lib%.a,$(USES_$(1)))
objs    = $(patsubst %.c,$(O)/%.o,$(sort $(wildcard $(1)/*.c)))

all: build/stormlint build/stormlint-net build/stormlint-apply
build/stormlint: $(O)/stormlint build/stormlint-net FORCE
	@cmp -s $< $@ || cp $< $@
$(O)/stormlint: $(O)/main.o $(O)/no_net.o $(call libs,cli) | $(O)/stormlint-net
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

# what stormlint becomes when it has to reach other machines
build/stormlint-net: $(O)/stormlint-net FORCE
	@cmp -s $< $@ || cp $< $@
$(O)/stormlint-net: $(O)/main.o $(call libs,cli)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) $(NET_LIBS) -o $@

# the small one: what it does not call is not linked, and no_db.c stands in place of SQLite
build/stormlint-apply: $(O)/stormlint-apply FORCE
	@cmp -s $< $@ || cp $< $@
$(O)/stormlint-apply: $(O)/main_apply.o $(O)/no_db.o $(call libs,cli)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(filter-out -lsqlite3,$(LDLIBS)) -o $@

define layer
$(O)/lib$(1).a: $(call objs,$(1))
	@rm -f $$@
	@$(AR) rcs $$@ $$^
endef
$(foreach l,$(LAYERS),$(eval $(call layer,$(l))))
$(O)/libbase.a: $(O)/gen/schema.o
$(O)/liblinter.a: $(O)/gen/rule_pages.o
$(O)/libserver.a: $(O)/gen/api_schemas.o $(O)/gen/$(if $(WEB),assets,no_assets).o

$(O)/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@
$(O)/%.o: $(O)/%.c
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

## The resolver: what reads notes on stock glibc, loaded by ld.so itself. No C library, nothing to
## be relocated; its decisions (resolver/*.c) are also what the loader model runs

include resolver/flags.mk
RESOLVER   := $(O)/libstormlint-resolve.so
RESOLVER_H := $(wildcard resolver/*.h resolver/module/*.h) resolver/flags.mk
RESOLVER_W := $(filter-out -Wnull-dereference,$(WARN)) $(if $(CI)$(DEVELOPER),-Werror)

resolver: $(RESOLVER)
$(O)/libstormlint-resolve.so: $(RESOLVER_C) $(RESOLVER_H)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(RESOLVER_FLAGS) $(RESOLVER_W) \
	  $(RESOLVER_$(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))) \
	  $(if $(CLANG),,$(RESOLVER_gcc)) $(RESOLVER_C) -o $@

# the same for aarch64, made by clang and lld from anywhere
resolver-aarch64: $(O)/aarch64/libstormlint-resolve.so
$(O)/aarch64/libstormlint-resolve.so: $(RESOLVER_C) $(RESOLVER_H)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)clang --target=aarch64-linux-gnu -isystem /usr/aarch64-linux-gnu/include $(RESOLVER_FLAGS) \
	  $(RESOLVER_W) $(RESOLVER_aarch64) -fuse-ld=lld -Wl,-z,max-page-size=65536 $(RESOLVER_C) -o $@

# schema.sql is the one schema: it is compiled in as a string
$(O)/gen/schema.c: schema.sql
	@mkdir -p $(@D)
	@{ echo 'extern const char schema_sql[];'; echo 'const char schema_sql[] ='; \
	   sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&\\n"/' $<; echo ';'; } > $@

# what only tests use and Debian does not have: tests/npm/package-lock.json
npm: build/npm/.stamp
build/npm/.stamp: tests/npm/package-lock.json
	@mkdir -p build/npm
	$(call say,NPM,$<)
	$(Q)cp tests/npm/package.json tests/npm/package-lock.json build/npm/
	$(Q)cd build/npm && npm ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@

# what the dashboard is made of (web/package-lock.json); `make WEB=` builds without it
build/npm-web/.stamp: web/package-lock.json
	@mkdir -p build/npm-web
	$(call say,NPM,$<)
	$(Q)cp web/package.json web/package-lock.json build/npm-web/
	$(Q)cd build/npm-web && npm ci --ignore-scripts --no-audit --no-fund --silent || \
	  { echo "the dashboard's libraries cannot be had from npm; 'make WEB=' builds without the dashboard" >&2; exit 1; }
	@touch $@

# its files as they are served: stormlint serve --web build/site
site: build/site/.stamp
build/site/.stamp: tools/site build/npm-web/.stamp $(sort $(shell find web 2>/dev/null))
	$(call say,SITE,$(@D))
	$(Q)tools/site web build/npm-web/node_modules build/site
	@touch $@

# the pages of the rules are compiled in, too: id, text, id, text, ...
$(O)/gen/rule_pages.c: $(sort $(wildcard docs/rules/*.md))
	@mkdir -p $(@D)
	@{ echo 'extern const char *const rule_pages[];'; echo 'const char *const rule_pages[] = {'; \
	   for page in $^; do echo "\"$$(basename $$page .md)\","; \
	   sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&\\n"/' $$page; echo ','; done; echo '0};'; } > $@

# so are the schemas of the HTTP interface, and the files of its pages
$(O)/gen/api_schemas.c: server/schemas.json
	@mkdir -p $(@D)
	@{ echo 'extern const char api_schemas[];'; echo 'const char api_schemas[] ='; \
	   sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&\\n"/' $<; echo ';'; } > $@
$(O)/gen/assets.c: tools/assets build/site/.stamp
	@mkdir -p $(@D)
	@tools/assets build/site > $@
$(O)/gen/no_assets.c: tools/assets
	@mkdir -p $(@D)
	@tools/assets > $@

# rebuild when the compiler or its flags change
$(O)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(subst ','"'"',$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS))' | cmp -s - $@ || \
	 echo '$(subst ','"'"',$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS))' > $@

## Tests. tests/unit/<layer>_<module>.c links that layer and those below, nothing else;
## tests/<suite>/run is a suite of its own (see tests/run)

TESTKIT  := $(patsubst %.c,$(O)/%.o,$(sort $(wildcard tests/*.c tests/elf/*.c)))
UNITS    := $(patsubst tests/%.c,$(O)/tests/%,$(sort $(wildcard tests/unit/*.c)))
PROGRAMS := $(patsubst tests/loader/%.c,$(O)/tests/%,$(sort $(wildcard tests/loader/*.c)))
APPLIERS := $(patsubst tests/apply/%.c,$(O)/tests/%,$(sort $(wildcard tests/apply/*.c)))
NOTERS   := $(patsubst tests/note/%.c,$(O)/tests/%,$(sort $(wildcard tests/note/*.c)))
FUZZERS  := $(patsubst tests/fuzz/%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
REPLAYS  := $(FUZZERS:%=$(O)/tests/fuzz/%)

$(O)/libtestkit.a: $(TESTKIT)
	@rm -f $@
	@$(AR) rcs $@ $^

.SECONDEXPANSION:
layer_of = $(firstword $(subst _, ,$(notdir $(1))))
$(UNITS): $(O)/tests/%: $(O)/tests/%.o $(O)/libtestkit.a $$(call libs,$$(call layer_of,$$*))
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) $(NET_LIBS) -lcmocka -o $@
$(PROGRAMS): $(O)/tests/%: $(O)/tests/loader/%.o $(O)/libtestkit.a $(call libs,loader)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -lz -o $@
$(APPLIERS): $(O)/tests/%: $(O)/tests/apply/%.o $(O)/libtestkit.a $(call libs,planner)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@
$(NOTERS): $(O)/tests/%: $(O)/tests/note/%.o $(O)/libtestkit.a $(call libs,planner)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@
$(REPLAYS): %: %.o $(O)/tests/fuzz/replay.o $(O)/libtestkit.a $(O)/libcheck.a $(call libs,server)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) $(NET_LIBS) -o $@

test-programs: $(UNITS) $(PROGRAMS) $(APPLIERS) $(NOTERS) $(REPLAYS) $(O)/stormlint \
               $(if $(filter x86_64% aarch64%,$(shell $(CC) -dumpmachine)),$(RESOLVER))

unit: $(UNITS)
	@tests/unit/run $(UNITS)
recorded: $(O)/tests/recorded
	@$<
golden: build/stormlint $(O)/tests/mktree
	@tests/golden/run $(O)

# everything: installs what is missing first, so that make reads its flags anew afterwards
test: deps
	+@$(MAKE) --no-print-directory all test-programs npm
	+@$(MAKE) --no-print-directory MODE=asan test-programs
	@MAKE='$(MAKE)' tests/run $(O) build/asan

# with a newer Nix than the machine's: nothing else here knows one, so `make test` does not do it
test-nix: all resolver $(O)/tests/mktree
	@[ -x '$(NIX)/nix-build' ] || { echo "NIX='$(NIX)': there is no nix-build; name the directory of a Nix's programs" >&2; exit 2; }
	@export PATH='$(abspath $(NIX))':"$$PATH"; nix-build --version; status=0; \
	for suite in closures nix cache readers; do \
	  echo "$$suite"; tests/$$suite/run $(O) || status=1; \
	done; exit $$status

.PHONY: acceptance-nixpkgs
acceptance-nixpkgs:
	@tools/acceptance-nixpkgs

# random trees under the real loader: make fuzz-loader SEED=1 COUNT=10000 [LOADER=FILE]
fuzz-loader: $(O)/tests/random
	@$< $(or $(SEED),1) $(or $(COUNT),1000) $(if $(LOADER),--loader $(LOADER))

# every fuzz target for T seconds; inputs that found something are kept in build/fuzz
fuzz:
	@tools/deps clang
	+@$(MAKE) --no-print-directory MODE=fuzz CC=clang $(FUZZERS)
$(FUZZERS): %: $(O)/tests/fuzz/%.o $(O)/libtestkit.a $(O)/libcheck.a $(call libs,server)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -fsanitize=fuzzer $^ $(LDLIBS) $(NET_LIBS) -o $(O)/$@
	@tests/fuzz/search $(O)/$@ $(or $(T),10)

# deliberate faults in the loader's rules: is each one noticed?
mutate:
	@tests/mutate

## Style and architecture

SRC := $(sort $(wildcard main*.c no_*.c $(LAYERS:%=%/*.c) resolver/module/*.c tests/*.c tests/*/*.c))
HDR := $(sort $(wildcard $(LAYERS:%=%/*.h) resolver/module/*.h tests/*.h tests/*/*.h))
SCRIPTS = $(shell git ls-files | grep -v /corpus/ | xargs grep -l -m1 '^\#! */bin/\(ba\|da\)*sh' 2>/dev/null)

BIOME = $(CURDIR)/build/npm/node_modules/.bin/biome check --config-path=$(CURDIR)/web

lint: npm site
	@tools/deps lint
	clang-format --dry-run -Werror $(SRC) $(HDR)
	cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,performance,portability --inline-suppr \
	  --suppressions-list=tests/cppcheck-suppressions -I. -D_GNU_SOURCE \
	  '-DRESOLVER_PATH=""' '-Djson_object_foreach(object,key,value)=while(next(&key,&value))' \
	  '-Djson_array_foreach(array,index,value)=while(next(&index,&value))' $(SRC)
	shellcheck $(SCRIPTS)
	cd web && $(BIOME) --error-on-warnings .
	cd tests/web && $(BIOME) --error-on-warnings .
	node tests/web/types.mjs build/web-types/schemas.d.ts
	build/npm/node_modules/.bin/tsc -p web
	codespell --ignore-words=tests/codespell-words $(shell git ls-files | grep -v '\.gz$$\|/corpus/')
# a process for each file: `make -j -k tidy` uses all cores and finds everything
TIDY := $(filter-out tests/% resolver/module/%,$(SRC))
tidy: $(TIDY:%=%.tidy)
tidy-deps:
	@tools/deps lint
$(TIDY:%=%.tidy): %.tidy: tidy-deps FORCE
	$(call say,TIDY,$*)
	$(Q)clang-tidy --quiet $* -- $(CPPFLAGS) -std=gnu17 2>/dev/null
fmt:
	clang-format -i $(SRC) $(HDR)
	@! [ -e build/npm/.stamp ] || { cd web && $(BIOME) --write . && cd ../tests/web && $(BIOME) --write .; }

# no layer includes one that is not in its list; each library has one door
layers: $(LAYERS:%=layer-%) layer-resolver-alone
	@! grep -Hn 'include "tests/' main*.c $(LAYERS:%=%/*.[ch]) 2>/dev/null || { echo "only tests know tests/"; exit 1; }
	@! grep -ln '<sqlite3\.h>' $(SRC) $(HDR) | grep -vx 'base/db\.c'
	@! grep -ln '<g\?elf\.h>\|<libelf\.h>' $(filter-out tests/%,$(SRC) $(HDR)) | \
	  xargs -r grep -ln '<gelf\.h>\|<libelf\.h>' | grep -vx 'scanner/elf_read\.c'
	@! grep -ln '<microhttpd\.h>' $(SRC) $(HDR) | grep -vx 'server/http\.c'
	@! grep -ln '<curl/' $(SRC) $(HDR) | grep -vx 'scanner/fetch\.c'
	@! grep -ln '<sodium\.h>' $(SRC) $(HDR) | grep -vx 'scanner/crypto\.c'
	@! grep -ln '<lzma\.h>\|<zstd\.h>\|<brotli/' $(SRC) $(HDR) | grep -vx 'scanner/unpack\.c'
	@! grep -ln '<zlib\.h>' $(filter-out tests/%,$(SRC) $(HDR)) | grep -vx 'server/gzip\.c'
	@! grep -ln '<jansson\.h>' $(SRC) $(HDR) | grep -vx 'base/json\.h'
layer-%:
	@for other in $(filter-out $(USES_$*),$(LAYERS)); do \
	  ! grep -Hn "#include \"$$other/" $(wildcard $*/*.[ch]) /dev/null || \
	  { echo "$* must not know $$other"; exit 1; }; done

# inside ld.so there is no C library: constants of the system and the compiler's own headers only
layer-resolver-alone:
	@! grep -Hn '#include' resolver/*.[ch] resolver/module/*.[ch] | \
	  grep -v '"resolver/\|<elf\.h>\|<link\.h>\|<stdbool\.h>\|<stddef\.h>' || \
	  { echo "the resolver must not know a C library"; exit 1; }

## Installing

PREFIX ?= /usr/local
install: all
	install -D -m 755 build/stormlint $(DESTDIR)$(PREFIX)/bin/stormlint
	install -D -m 755 build/stormlint-net $(DESTDIR)$(PREFIX)/bin/stormlint-net
	install -D -m 755 build/stormlint-apply $(DESTDIR)$(PREFIX)/bin/stormlint-apply
	install -D -m 644 nix/stormlint-hook.sh $(DESTDIR)$(PREFIX)/share/stormlint/stormlint-hook.sh
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/doc/stormlint/rules docs/rules/*.md
	$(if $(wildcard docs/stormlint.1),install -D -m 644 docs/stormlint.1 $(DESTDIR)$(PREFIX)/share/man/man1/stormlint.1)
	$(if $(wildcard tools/stormlint.bash),install -D -m 644 tools/stormlint.bash \
	  $(DESTDIR)$(PREFIX)/share/bash-completion/completions/stormlint)
# versioned apart from the rest: a new release of stormlint changes no program that names it
install-resolver: resolver
	install -D -m 755 $(RESOLVER) $(DESTDIR)$(RESOLVER_PATH)
deps:
	@tools/deps
bench: all resolver
	@bench/run
bench-http bench-http-scan: all
	@tools/deps bench
	@bench/$(@:bench-%=%)
bench-scale: all $(O)/bench/synthetic
	@bench/scale
bench-web:
	@bench/web
$(O)/bench/synthetic: $(O)/bench/synthetic.o $(call libs,scanner)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@
bench-scale-store: all $(O)/bench/store
	@bench/scale-store $(N) $(DIR)
$(O)/bench/store: $(O)/bench/store.o $(O)/libtestkit.a $(call libs,scanner)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

# LIST: a file of store paths, one a line. Packages are covered by edited copies, in a mount namespace
apply-world: all
	@unshare -m tests/apply/world build/stormlint $(LIST)

note-world: all resolver
	@unshare -m tests/note/world $(O) $(LIST) $(OPTIONS)

plan-world: all
	@tests/plan/world build/stormlint $(STORE)

# scans, ranks, traces and plans: the tour of README.md, on a store of Debian packages or on yours
STORE ?= build/demo/store
demo: deps
	+@$(MAKE) --no-print-directory all
	@tools/demo $(STORE) $(PROGRAM)

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile
clean:
	rm -rf build
FORCE:
.PHONY: all apply-world note-world plan-world test-nix demo help clean FORCE test test-programs unit recorded golden fuzz fuzz-loader mutate \
        lint tidy tidy-deps fmt layers install deps bench bench-http bench-http-scan bench-scale bench-scale-store bench-web npm site $(FUZZERS) resolver resolver-aarch64 \
        install-resolver layer-resolver-alone
-include $(shell find $(O) -name '*.d' 2>/dev/null)
