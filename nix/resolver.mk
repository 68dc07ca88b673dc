# The resolver alone, without the rest of the tree: a file that changes only with it.
PREFIX  ?= /usr/local
include resolver/flags.mk
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
CLANG   := $(findstring clang,$(shell $(CC) --version))

libstormlint-resolve.so: $(RESOLVER_C)
	$(CC) $(RESOLVER_FLAGS) $(RESOLVER_$(MACHINE)) $(if $(CLANG),,$(RESOLVER_gcc)) $^ -o $@
install: libstormlint-resolve.so
	install -D -m 755 $< $(PREFIX)/lib/$<
.PHONY: install
