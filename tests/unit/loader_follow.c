/*
 * From scripts and wrappers to programs: a table of files, and where starting each of them leads.
 */
#include "loader/follow.h"

#include "base/str.h"
#include "tests/tree.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#define GUILE  "#!/s/guile/bin/guile --no-auto-compile\n#!#; Guix wrapper\n"
#define EXECL  "#\\-(let ((cl (command-line))) (apply execl \"/s/bin/python3\" (car cl) "
#define BINARY "\177ELF has been generated using the following command:\nmakeCWrapper "

static const struct file {
    const char *path, *text; /* NULL: a program */
} files[] = {
    {"/bin/sh", NULL},
    {"/bin/bash", NULL},
    {"/bin/env", NULL},
    {"/s/bin/python3", NULL},
    {"/s/bin/perl", NULL},
    {"/s/bin/app", NULL},
    {"/s/guile/bin/guile", NULL},

    /* #! lines */
    {"/py", "#!/s/bin/python3\nprint()\n"},
    {"/py-arg", "#! \t/s/bin/python3  -s -E \t\nprint()\n"},
    {"/py-no-end", "#!/s/bin/python3"},
    {"/chain", "#!/py -x\n"},
    {"/gone", "#!/no/such/interpreter\n"},
    {"/loop", "#!/loop\n"},
    {"/nothing", "#!\nexec /s/bin/app\n"},
    {"/text", "just text\n"},
    {"/env-py", "#!/bin/env python3\nprint()\n"},
    {"/env-args", "#!/bin/env python3 -u\n"},
    {"/env-split", "#!/bin/env -S -u GONE A=b python3 -u\n"},
    {"/env-quotes", "#!/bin/env -S python3 \"-u\"\n"},
    {"/env-none", "#!/bin/env ruby\n"},
    {"/env-option", "#!/bin/env --chdir=/\n"},
    {"/env-bash", "#!/bin/env bash\nexport A=b\nexec /s/bin/app \"$@\"\n"},

    /* shell */
    {"/wrap", "#! /bin/bash -e\nexport A='x'${A:+':'}$A\ncd /d\nexec -a \"$0\" \"/s/bin/app\" -1 "
              "\"$@\" -2\n"},
    {"/wrap-wrap", "#!/bin/sh\nexport B=1\nexec /wrap -0 \"$@\"\n"},
    {"/wrap-py", "#!/bin/sh\nexport A=b\nexec /py \"$@\"\n"},
    {"/wrap-gone", "#!/bin/sh\nexec /no/such \"$@\"\n"},
    {"/wrap-self", "#!/bin/sh\nexec /wrap-self \"$@\"\n"},
    {"/pipe", "#!/bin/sh\nfoo | bar\nexec /s/bin/app \"$@\"\n"},
    {"/run", "#!/bin/sh\nexport A=$(date)\nexec /s/bin/app \"$@\"\n"},
    {"/login", "#!/bin/bash -l\nexec /s/bin/app \"$@\"\n"},

    /* makeBinaryWrapper, also as an interpreter */
    {"/binary", BINARY "'/s/bin/python3' --set 'A' 'b' --add-flags '-I'\n"},
    {"/binary-script", "#!/binary\nprint()\n"},
    {"/binary-odd", BINARY "'/s/bin/app' --strange 'x'\n"},

    /* Guix: wrap-program, then wrap-script */
    {"/guix",
     "#!/bin/bash\nexport P=\"/a:/b${P:+:}$P\"\nexport Q=\"$Q${Q:+:}/q\"\nexport R=\"/r\"\n"
     "exec -a \"$0\" \"/s/bin/app\" \"$@\"\n"},
    {"/guix-script",
     GUILE "#\\-(begin (let ((current (getenv \"A\"))) (setenv \"A\" (if current (string-append "
           "\"/a:/b\" \":\" current) \"/a:/b\"))) (let ((current (getenv \"NEW\"))) (setenv "
           "\"NEW\" (if current (string-append current \":\" \"/n\") \"/n\"))) (setenv \"R\" "
           "\"q\\\"\\\\\"))\n" EXECL "(append (quote (\"-E\" \"\")) cl)))\n#!/s/bin/python3 -E\n"},
    {"/guix-plain", GUILE "#\\-(begin)\n" EXECL "(append '() cl)))\nprint()\n"},
    {"/guix-coding", "#!/s/guile/bin/guile --no-auto-compile\n#!#; -*- coding: utf-8 -*-\n"
                     "#\\-(begin)\n" EXECL "(append '(\"\") cl)))\n"},
    {"/guix-odd", GUILE "#\\-(begin (system \"date\"))\n" EXECL "(append '() cl)))\n"},
    {"/guix-value", GUILE "#\\-(begin (setenv \"A\" (getcwd)))\n" EXECL "(append '() cl)))\n"},
    {"/guix-cut", GUILE "#\\-(begin (setenv \"A\" \"b"},
    {"/guix-deep", GUILE "#\\-((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((("},
    {"/guix-none", GUILE "print()\n"},
    {"/scheme", "#!/s/guile/bin/guile -s\n!#\n(display 1)\n"},

    /* Spack, and modules: sbang, setenv */
    {"/bin/tcsh", NULL},
    {"/csh", "#!/bin/tcsh -f\n# modules\nsetenv A \"/m:${A}\"\nsetenv EMPTY\nunsetenv GONE\n"
             "exec /s/bin/app --x $argv:q\n"},
    {"/csh-if", "#!/bin/tcsh -f\nif ($?A) setenv A b\nexec /s/bin/app $*\n"},
    {"/csh-none", "#!/bin/tcsh\nsetenv A b\n"},
    {"/csh-escape", "#!/bin/tcsh\nsetenv A b\\ c\nexec /s/bin/app $*\n"},
    {"/sbang", "#!/bin/sh /spack/bin/sbang\n#!/s/bin/python3 -I\nprint()\n"},
    {"/sbang-lua", "#!/bin/sh /spack/bin/sbang\n--!/s/bin/perl -x \n"},
    {"/sbang-php", "#!/bin/sh /spack/bin/sbang\n<?php #!/s/bin/perl ?>\n"},
    {"/sbang-shell", "#!/bin/sh /spack/bin/sbang\n#!/bin/bash\nexport A=b;\nexec /s/bin/app\n"},
    {"/sbang-direct", "#!/spack/bin/sbang\n#!/s/bin/python3\n"},
    {"/sbang-alone", "#!/bin/sh /spack/bin/sbang\nprint()\n"},
    {"/spack/bin/sbang", "#!/bin/sh\nwhile read -r line; do :; done\n"},
};

struct row {
    const char *start;
    const char *expected; /* EXEC(PROGRAM) > EXEC(PROGRAM) ARGS {ENV} CWD */
    const char *stop;     /* how it begins; NULL: none */
    bool unfollowed;
    const char *error; /* in the error's text; NULL: none */
};

#define ENV "{A=a PATH=/x:/s/bin:/bin GONE=1}"

static const struct row rows[] = {
    {"/s/bin/app", "/s/bin/app {A=a PATH=/x:/s/bin:/bin GONE=1} /", NULL, false, NULL},
    {"/no/such", "/no/such " ENV " /", NULL, false, NULL},
    {"/text", "/text " ENV " /", NULL, false, NULL},
    {"/py", "/py(/s/bin/python3) /py " ENV " /", "a script of 'python3'", false, NULL},
    {"/py-arg", "/py-arg(/s/bin/python3) -s -E /py-arg " ENV " /", "a script of 'python3'", false,
     NULL},
    {"/py-no-end", "/py-no-end(/s/bin/python3) /py-no-end " ENV " /", "a script of 'python3'",
     false, NULL},
    {"/chain", "/chain(/s/bin/python3) /py -x /chain " ENV " /", "a script of 'python3'", false,
     NULL},
    {"/gone", NULL, NULL, false, "'/gone': its interpreter '/no/such/interpreter': No such file"},
    {"/loop", NULL, NULL, false, "more than 5 scripts"},
    {"/nothing", NULL, NULL, false, "names no interpreter"},
    {"/env-py", "/env-py(/bin/env) > /s/bin/python3 /env-py " ENV " /", "a script of 'python3'",
     false, NULL},
    {"/env-args", "/env-args(/bin/env) python3 -u /env-args " ENV " /",
     "env finds no 'python3 -u' in PATH", true, NULL},
    {"/env-split",
     "/env-split(/bin/env) > /s/bin/python3 -u /env-split {PATH=/x:/s/bin:/bin A=b} /",
     "a script of 'python3'", false, NULL},
    {"/env-quotes", "/env-quotes(/bin/env) -S python3 \"-u\" /env-quotes " ENV " /",
     "an option of env", true, NULL},
    {"/env-none", "/env-none(/bin/env) ruby /env-none " ENV " /", "env finds no 'ruby' in PATH",
     true, NULL},
    {"/env-option", "/env-option(/bin/env) --chdir=/ /env-option " ENV " /", "an option of env",
     true, NULL},
    {"/env-bash", "/env-bash(/bin/env) > /bin/bash > /s/bin/app {A=b PATH=/x:/s/bin:/bin GONE=1} /",
     NULL, false, NULL},
    {"/wrap", "/wrap(/bin/bash) > /s/bin/app -1 -2 {A=x:a PATH=/x:/s/bin:/bin GONE=1} /d", NULL,
     false, NULL},
    {"/wrap-wrap",
     "/wrap-wrap(/bin/sh) > /wrap(/bin/bash) > /s/bin/app -1 -0 -2 {A=x:a "
     "PATH=/x:/s/bin:/bin GONE=1 B=1} /d",
     NULL, false, NULL},
    {"/wrap-py", "/wrap-py(/bin/sh) > /py(/s/bin/python3) /py {A=b PATH=/x:/s/bin:/bin GONE=1} /",
     "a script of 'python3'", false, NULL},
    {"/wrap-gone", "/wrap-gone(/bin/sh) > /no/such " ENV " /", NULL, false, NULL},
    {"/wrap-self", NULL, NULL, false, "more than 15 programs"},
    {"/pipe", "/pipe(/bin/sh) " ENV " /",
     "a script of 'sh' that cannot be followed: line 2: ", true, NULL},
    {"/run", "/run(/bin/sh) " ENV " /", "a script of 'sh' that cannot be followed: line 2: ", true,
     NULL},
    {"/login", "/login(/bin/bash) -l /login " ENV " /", "a shell with options", true, NULL},
    {"/binary", "/binary > /s/bin/python3 -I {A=b PATH=/x:/s/bin:/bin GONE=1} /", NULL, false,
     NULL},
    {"/binary-script",
     "/binary-script(/binary) > /s/bin/python3 -I /binary-script {A=b PATH=/x:/s/bin:/bin "
     "GONE=1} /",
     "a script of 'python3'", false, NULL},
    {"/binary-odd", "/binary-odd " ENV " /", "a binary wrapper that cannot be followed: ", true,
     NULL},
    {"/guix", "/guix(/bin/bash) > /s/bin/app {A=a PATH=/x:/s/bin:/bin GONE=1 P=/a:/b Q=/q R=/r} /",
     NULL, false, NULL},
    {"/guix-script",
     "/guix-script(/s/guile/bin/guile) > /s/bin/python3 -E /guix-script {A=/a:/b:a "
     "PATH=/x:/s/bin:/bin GONE=1 NEW=/n R=q\"\\} /",
     "a script of 'python3'", false, NULL},
    {"/guix-plain", "/guix-plain(/s/guile/bin/guile) > /s/bin/python3 /guix-plain " ENV " /",
     "a script of 'python3'", false, NULL},
    {"/guix-coding", "/guix-coding(/s/guile/bin/guile) > /s/bin/python3 /guix-coding " ENV " /",
     "a script of 'python3'", false, NULL},
    {"/guix-odd", "/guix-odd(/s/guile/bin/guile) --no-auto-compile /guix-odd " ENV " /",
     "a Guix wrapper that cannot be followed: a form that is not understood", true, NULL},
    {"/guix-value", "/guix-value(/s/guile/bin/guile) --no-auto-compile /guix-value " ENV " /",
     "a Guix wrapper that cannot be followed: a value", true, NULL},
    {"/guix-cut", "/guix-cut(/s/guile/bin/guile) --no-auto-compile /guix-cut " ENV " /",
     "a Guix wrapper that cannot be followed: a string does not end", true, NULL},
    {"/guix-deep", "/guix-deep(/s/guile/bin/guile) --no-auto-compile /guix-deep " ENV " /",
     "a Guix wrapper that cannot be followed: forms nested too deeply", true, NULL},
    {"/guix-none", "/guix-none(/s/guile/bin/guile) --no-auto-compile /guix-none " ENV " /",
     "a Guix wrapper that cannot be followed: it does not end by execl", true, NULL},
    {"/scheme", "/scheme(/s/guile/bin/guile) -s /scheme " ENV " /", "a script of 'guile'", false,
     NULL},
    {"/csh", "/csh(/bin/tcsh) > /s/bin/app --x {A=/m:a PATH=/x:/s/bin:/bin EMPTY=} /", NULL, false,
     NULL},
    {"/csh-if", "/csh-if(/bin/tcsh) " ENV " /",
     "a script of 'tcsh' that cannot be followed: a command that is not", true, NULL},
    {"/csh-none", "/csh-none(/bin/tcsh) " ENV " /",
     "a script of 'tcsh' that cannot be followed: it does not end by exec", true, NULL},
    {"/csh-escape", "/csh-escape(/bin/tcsh) " ENV " /", "a script of 'tcsh' that holds backslashes",
     true, NULL},
    {"/sbang", "/sbang(/bin/sh) > /s/bin/python3 -I /sbang " ENV " /", "a script of 'python3'",
     false, NULL},
    {"/sbang-lua", "/sbang-lua(/bin/sh) > /s/bin/perl -x /sbang-lua " ENV " /",
     "a script of 'perl'", false, NULL},
    {"/sbang-php", "/sbang-php(/bin/sh) > /s/bin/perl /sbang-php " ENV " /", "a script of 'perl'",
     false, NULL},
    {"/sbang-shell",
     "/sbang-shell(/bin/sh) > /bin/bash > /s/bin/app {A=b PATH=/x:/s/bin:/bin GONE=1} /", NULL,
     false, NULL},
    {"/sbang-direct", "/sbang-direct(/bin/sh) > /s/bin/python3 /sbang-direct " ENV " /",
     "a script of 'python3'", false, NULL},
    {"/sbang-alone", "/sbang-alone(/bin/sh) /sbang-alone " ENV " /", "sbang finds no interpreter",
     true, NULL},
};

static struct world *make_world(struct tree *tree)
{
    static struct elf_spec program;
    const struct file *file;

    program = elf_program("/lib/ld.so");
    for_each (file, files) {
        struct entry *entry = file->text && strncmp(file->text, "\177ELF", 4) != 0
                                  ? tree_add_text(tree, file->path, file->text)
                                  : tree_add_elf(tree, file->path, &program);

        entry->mode = 0755;
        entry->bytes = file->text ? file->text : "";
        entry->size = strlen(entry->bytes) + (entry->elf != NULL);
    }
    return tree_world(tree, NULL, 0);
}

static const char *text_of(struct arena *arena, const struct way *way)
{
    const struct hop *last = &way->hop[way->n - 1];
    struct str out = {.arena = arena};

    for (size_t i = 0; i < way->n; i++) {
        const struct hop *hop = &way->hop[i];

        assert_true((hop->how != NULL) == (i + 1 < way->n));
        str_printf(&out, "%s%s", i ? " > " : "", hop->exec);
        if (strcmp(hop->exec, hop->program) != 0)
            str_printf(&out, "(%s)", hop->program);
    }
    for (size_t i = 0; i < last->n_args; i++)
        str_printf(&out, " %s", last->arg[i]);
    for (size_t i = 0; i < last->n_env; i++)
        str_printf(&out, "%s%s", i ? " " : " {", last->env[i]);
    str_printf(&out, "} %s", last->cwd);
    return out.text;
}

static void check_row(const struct row *row, struct world *world)
{
    static const char *const env[] = {"A=a", "PATH=/x:/s/bin:/bin", "GONE=1"};
    CLEANUP(arena_release) struct arena arena = {0};
    const struct hop from = {.exec = row->start, .env = env, .n_env = ARRAY_LEN(env), .cwd = "/"};
    struct way way = {0};
    struct err err = {0};
    const char *text;

    if (way_follow(world, &from, &arena, &way, &err) < 0) {
        if (!row->error || !strstr(err.text, row->error))
            fail_msg("%s: error: %s", row->start, err.text);
        return;
    }
    text = text_of(&arena, &way);
    if (row->error || strcmp(text, row->expected) != 0)
        fail_msg("%s: %s\n  not %s", row->start, text, row->expected ? row->expected : row->error);
    if (!row->stop != !way.stop || (way.stop && !str_starts(way.stop, row->stop)))
        fail_msg("%s: stops: %s", row->start, way.stop ? way.stop : "(not)");
    assert_int_equal(way.unfollowed, row->unfollowed);
}

static void ways(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct tree tree = {.arena = &arena};
    struct world *world = make_world(&tree);
    const struct row *row;

    for_each (row, rows)
        check_row(row, world);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways),
    };

    return UNIT_RUN(tests);
}
