/*
 * The file itself: its interpreter, its stack, its layout.
 */
#include "linter/check.h"

enum { MAX_PAYLOAD = 4096, MAX_PHNUM = 64 };

void check_interp_outside_store(struct check *check)
{
    const char *interp = check->object->object->interp;
    struct place at;

    if (!is_started(check->object->object) || !check->object->package)
        return;
    if (!closure_in_store(check->closure, interp)) {
        report_object(check, check->object, shown(check, interp),
                      "the interpreter '%s' is outside the store", shown(check, interp));
        return;
    }
    at = world_walk(check->closure->world, NULL, interp);
    if (at.error && !at.assumed)
        report_object(check, check->object, subject_path(check, interp),
                      "the interpreter '%s' does not exist", shown(check, interp));
}

/* Machines where no PT_GNU_STACK means an executable stack. */
static bool stack_is_executable_by_default(uint16_t machine)
{
    static const uint16_t machines[] = {EM_X86_64, EM_386, EM_ARM, EM_PPC, EM_S390};
    const uint16_t *m;

    for_each (m, machines)
        if (*m == machine)
            return true;
    return false;
}

void check_exec_stack(struct check *check)
{
    const struct object *o = check->object->object;

    if (!is_library(o))
        return;
    if (o->layout & LAYOUT_EXECSTACK)
        report_object(check, check->object, NULL, "PT_GNU_STACK asks for an executable stack");
    else if (o->layout & LAYOUT_NO_GNU_STACK && stack_is_executable_by_default(o->machine))
        report_object(check, check->object, NULL,
                      "it has no PT_GNU_STACK: loaders take that for an executable stack");
}

void check_text_relocation(struct check *check)
{
    if (check->object->object->layout & LAYOUT_TEXTREL)
        report_object(check, check->object, NULL, "DT_TEXTREL: read-only segments are relocated");
}

void check_rewrite_unsafe_layout(struct check *check)
{
    static const struct {
        unsigned bit;
        const char *subject, *why;
    } rows[] = {
        {LAYOUT_GO, "layout", "linked by Go's own linker: its dynamic section cannot move"},
        {LAYOUT_RELRHACK, "layout", "relocations packed the way of Firefox"},
        {LAYOUT_MOVED, "moved",
         "an earlier edit moved its headers or strings: strip or a further edit may break it"},
        {LAYOUT_UNSORTED, "sections",
         "its section headers are not in the order of the file: editors overwrite what they take "
         "to be behind"},
    };
    const struct object *o = check->object->object;

    if (!is_dynamic(o))
        return;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (o->layout & rows[i].bit)
            report_object(check, check->object, rows[i].subject, "%s", rows[i].why);
    if (o->trailing > MAX_PAYLOAD)
        report_object(check, check->object, "payload", "%llu bytes follow the ELF: a payload",
                      (unsigned long long)o->trailing);
    if (o->phnum >= MAX_PHNUM)
        report_object(check, check->object, "headers", "%u program headers", o->phnum);
}

void check_scan_incomplete(struct check *check)
{
    for (size_t i = 0; i < check->closure->n_problems; i++) {
        const struct lint_problem *p = &check->closure->problem[i];
        struct finding *f = report_file(check, p->package, p->path, NULL, "%s: %s",
                                        p->unread ? "it could not be read" : "it is malformed",
                                        shown(check, p->text));

        if (f && !p->unread)
            f->severity = SEVERITY_WARNING;
    }
}
