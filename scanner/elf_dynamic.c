/*
 * The dynamic section: what an object asks for, in file order, and where its tables are.
 */
#include "scanner/elf_view.h"

enum {
    DYNAMIC_MAX = 1 << 16,    /* entries of a dynamic section */
    RELRHACK_BIT = 0x8000000, /* Firefox's build sets it in the DT_RELR tags */
};

/* String offsets of tags that count once; of several the last. */
struct dynamic {
    uint64_t soname, rpath, runpath, audit, depaudit; /* NO_STRING: absent */
    uint64_t strings;                                 /* DT_STRTAB, address */
    size_t n_needs, n_entries;
    bool has_strings, ended;
};

static const uint64_t NO_STRING = UINT64_MAX;

static void read_flags(struct object *o, const Elf64_Dyn *dyn)
{
    const uint32_t value = (uint32_t)dyn->d_un.d_val;

    if (dyn->d_tag == DT_FLAGS) {
        o->flags = value;
        if (value & DF_TEXTREL)
            o->layout |= LAYOUT_TEXTREL;
        if (value & DF_STATIC_TLS)
            o->layout |= LAYOUT_STATIC_TLS;
    } else {
        o->flags_1 = value;
    }
}

/* Where something else begins: what bounds the table of symbols when nothing tells its length. */
static void keep_table(struct elf_view *view, const Elf64_Dyn *dyn)
{
    static const int64_t tags[] = {DT_STRTAB,  DT_HASH,   DT_GNU_HASH, DT_VERSYM,
                                   DT_VERNEED, DT_VERDEF, DT_RELA,     DT_REL,
                                   DT_RELR,    DT_JMPREL, DT_INIT,     DT_PLTGOT};
    const int64_t *tag;

    for_each (tag, tags)
        if (*tag == dyn->d_tag && view->n_tables < TABLES_MAX)
            view->table[view->n_tables++] = dyn->d_un.d_ptr;
}

/* One entry before the first DT_NULL. Strings wait until their table is known. */
static void read_dyn(struct elf_view *view, const Elf64_Dyn *dyn, struct dynamic *d)
{
    const struct tag_place {
        int64_t tag;
        uint64_t *place;
    } places[] = {
        {DT_SONAME, &d->soname},
        {DT_RPATH, &d->rpath},
        {DT_RUNPATH, &d->runpath},
        {DT_AUDIT, &d->audit},
        {DT_DEPAUDIT, &d->depaudit},
        {DT_STRSZ, &view->strings_size},
        {DT_SYMTAB, &view->symbols},
        {DT_GNU_HASH, &view->gnu_hash},
        {DT_HASH, &view->hash},
        {DT_VERNEED, &view->verneed},
        {DT_VERDEF, &view->verdef},
        {DT_VERNEEDNUM, &view->verneed_num},
        {DT_VERDEFNUM, &view->verdef_num},
    };
    const struct tag_place *place;

    keep_table(view, dyn);
    if (dyn->d_tag == DT_VERDEF)
        view->object->layout |= LAYOUT_VERSIONS;
    switch (dyn->d_tag) {
    case DT_NEEDED:
    case DT_AUXILIARY:
    case DT_FILTER:
        d->n_needs++;
        return;
    case DT_STRTAB:
        d->has_strings = true;
        d->strings = dyn->d_un.d_ptr;
        return;
    case DT_FLAGS:
    case DT_FLAGS_1:
        read_flags(view->object, dyn);
        return;
    case DT_TEXTREL:
        view->object->layout |= LAYOUT_TEXTREL;
        return;
    case DT_RELR | RELRHACK_BIT:
        view->object->layout |= LAYOUT_RELRHACK;
        return;
    default:
        break;
    }
    for_each (place, places)
        if (place->tag == dyn->d_tag) {
            *place->place = dyn->d_un.d_val;
            return;
        }
}

/* Call `each` for the entries, the first DT_NULL included; then count the spare ones behind it. */
static void walk_dynamic(struct elf_view *view, uint64_t offset, size_t n_entries,
                         void (*each)(struct elf_view *, const Elf64_Dyn *, struct dynamic *),
                         struct dynamic *d)
{
    const size_t size = view->is_64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
    Elf64_Dyn block[BLOCK];
    uint32_t spare = 0;
    bool ended = false;

    for (size_t i = 0, n; i < n_entries; i += n) {
        const unsigned char *bytes;

        n = n_entries - i < BLOCK ? n_entries - i : BLOCK;
        bytes = view_peek(view, SLOT_DYNAMIC, offset + i * size, n * size, (n_entries - i) * size);
        if (!bytes || !elf_dyns(view, bytes, n, block)) {
            view_problem(view, "the dynamic section is outside the file");
            return;
        }
        for (size_t k = 0; k < n; k++) {
            if (ended && block[k].d_tag != DT_NULL)
                goto out; /* something else follows */
            spare += ended;
            ended |= block[k].d_tag == DT_NULL;
            if (!ended)
                each(view, &block[k], d);
        }
    }
out:
    d->ended = ended;
    view->object->spare_dynamic = spare;
}

static const char *dynamic_string(struct elf_view *view, uint64_t offset, const char *what)
{
    const char *text;

    if (offset == NO_STRING)
        return NULL;
    text = view_string(view, offset);
    if (!text)
        view_problem(view, "%s is outside the string table or not ended", what);
    return text;
}

static void read_need(struct elf_view *view, const Elf64_Dyn *dyn, struct dynamic *d)
{
    struct object *o = view->object;
    enum need_kind kind = NEED_NEEDED;
    const char *name;

    if (dyn->d_tag == DT_AUXILIARY)
        kind = NEED_AUXILIARY;
    else if (dyn->d_tag == DT_FILTER)
        kind = NEED_FILTER;
    else if (dyn->d_tag != DT_NEEDED)
        return;
    if (o->n_needs == d->n_needs) /* the file changed since they were counted */
        return;
    name = dynamic_string(view, dyn->d_un.d_val, "a needed name");
    if (name)
        o->need[o->n_needs++] = (struct need){kind, name};
}

/*
 * patchelf makes room in a program with fixed addresses by pages before the first segment, and puts
 * the strings there, where they can be written. strip does not survive that, nor does a next edit
 * after it. In what can be placed anywhere the new pages are behind the last, which does no harm.
 */
static void judge_strings(const struct elf_view *view, const struct dynamic *d)
{
    for (size_t i = 0; i < view->n_loads && view->object->type == ET_EXEC; i++)
        if (d->strings >= view->load[i].vaddr &&
            d->strings - view->load[i].vaddr < view->load[i].filesz &&
            (view->load[i].flags & (PF_W | PF_X)) == PF_W)
            view->object->layout |= LAYOUT_MOVED;
}

static void locate_strings(struct elf_view *view, const struct dynamic *d)
{
    uint64_t left;

    judge_strings(view, d);
    if (!d->has_strings || view->strings_size == 0 ||
        !view_offset(view, d->strings, &view->strings, &left)) {
        view->strings_size = 0;
        view_problem(view, "the string table is outside the file");
        return;
    }
    if (view->strings_size > left) {
        view_problem(view, "the string table is longer than its segment");
        view->strings_size = left;
    }
    if (view->strings > view->source->size ||
        view->strings_size > view->source->size - view->strings) {
        view_problem(view, "the string table is cut off");
        view->strings_size =
            view->strings < view->source->size ? view->source->size - view->strings : 0;
    }
}

void elf_read_dynamic(struct elf_view *view, const struct headers *headers)
{
    const size_t size = view->is_64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
    struct object *o = view->object;
    struct dynamic d = {NO_STRING, NO_STRING, NO_STRING, NO_STRING, NO_STRING, 0, 0, 0, 0, 0};
    uint64_t offset, left;
    size_t n;

    if (!headers->has_dynamic || headers->dynamic_filesz < size)
        return;
    o->has_dynamic = true;
    if (!view_offset(view, headers->dynamic_vaddr, &offset, &left)) {
        view_problem(view, "PT_DYNAMIC is in no loadable segment");
        return;
    }
    if (left > headers->dynamic_filesz)
        left = headers->dynamic_filesz;
    n = left / size < DYNAMIC_MAX ? (size_t)(left / size) : DYNAMIC_MAX;
    walk_dynamic(view, offset, n, read_dyn, &d);
    if (!d.ended)
        view_problem(view, "the dynamic section has no end");
    locate_strings(view, &d);
    o->need = arena_calloc(view->arena, d.n_needs, sizeof(*o->need));
    walk_dynamic(view, offset, n, read_need, &d);
    o->soname = dynamic_string(view, d.soname, "DT_SONAME");
    o->rpath = dynamic_string(view, d.rpath, "DT_RPATH");
    o->runpath = dynamic_string(view, d.runpath, "DT_RUNPATH");
    o->audit = dynamic_string(view, d.audit, "DT_AUDIT");
    o->depaudit = dynamic_string(view, d.depaudit, "DT_DEPAUDIT");
    elf_read_versions(view);
    elf_read_imports(view);
}
