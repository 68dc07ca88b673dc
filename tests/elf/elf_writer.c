#include "tests/elf/elf_writer.h"

#include <string.h>

enum { PAGE = 0x1000, MAX_PHDRS = 24 };

/* mov $110,%eax (getppid); syscall; mov $231,%eax (exit_group); xor %edi,%edi; syscall; hlt */
static const unsigned char marker_code[] = {
    0xb8, 0x6e, 0, 0, 0, 0x0f, 0x05, 0xb8, 0xe7, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05, 0xf4,
};
const long elf_marker = 110;

/* The image while it grows. Fields are written in the spec's own class and byte order. */
struct writer {
    const struct elf_spec *spec;
    struct arena *arena;
    unsigned char *bytes;
    size_t size, room;
    bool wide, big;
    struct segment {
        uint32_t type, flags;
        uint64_t offset, size, mem_size, align;
        uint64_t higher; /* address minus offset */
    } segment[MAX_PHDRS];
    size_t n_segments;
    size_t rela, slots; /* of bound imports; 0: none */

    char *strings; /* .dynstr as it grows */
    size_t n_strings, strings_room;
};

static size_t reserve(struct writer *w, size_t n, size_t align)
{
    const size_t at = (w->size + align - 1) / align * align;

    if (at + n > w->room) {
        unsigned char *larger = arena_alloc(w->arena, w->room = (at + n) * 2);

        if (w->size)
            memcpy(larger, w->bytes, w->size);
        w->bytes = larger;
    }
    w->size = at + n;
    return at;
}

static void put(struct writer *w, size_t at, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        w->bytes[at + (w->big ? n - 1 - i : i)] = (unsigned char)(value >> (8 * i));
}

/* Append a field of n bytes; of the class's word size. */
static void add(struct writer *w, uint64_t value, size_t n)
{
    put(w, reserve(w, n, 1), value, n);
}

static size_t word(const struct writer *w)
{
    return w->wide ? 8 : 4;
}

static uint32_t add_string(struct writer *w, const char *text)
{
    const size_t len = strlen(text) + 1, at = w->n_strings;

    if (at + len > w->strings_room) {
        char *larger = arena_alloc(w->arena, w->strings_room = (at + len) * 2 + 64);

        if (at)
            memcpy(larger, w->strings, at);
        w->strings = larger;
    }
    memcpy(w->strings + at, text, len);
    w->n_strings += len;
    return (uint32_t)at;
}

static struct segment *add_segment(struct writer *w, uint32_t type, uint32_t flags, uint64_t align)
{
    struct segment *s = &w->segment[w->n_segments++];

    *s = (struct segment){.type = type, .flags = flags, .align = align};
    return s;
}

static void segment_covers(struct segment *s, size_t from, size_t to)
{
    s->offset = from;
    s->size = s->mem_size = to - from;
}

static uint32_t sysv_hash(const char *name)
{
    uint32_t h = 0;

    for (; *name; name++) {
        h = (h << 4) + (unsigned char)*name;
        h ^= (h & 0xf0000000u) >> 24;
        h &= 0x0fffffffu;
    }
    return h;
}

/* ---- tables; each returns its offset in the file */

static size_t write_symbols(struct writer *w)
{
    const struct elf_spec *spec = w->spec;
    const size_t at = reserve(w, 0, 8);

    for (size_t i = 0; i <= spec->n_imports; i++) {
        const uint32_t name = i ? add_string(w, spec->imports[i - 1]) : 0;
        const uint64_t info = i ? ELF32_ST_INFO(STB_WEAK, STT_FUNC) : 0;

        add(w, name, 4);
        if (w->wide) {
            add(w, info, 4); /* info, other, section index 0: undefined */
            if (w->big)
                put(w, w->size - 4, info << 24, 4);
            add(w, 0, 8), add(w, 0, 8);
        } else {
            add(w, 0, 4), add(w, 0, 4);
            add(w, w->big ? info << 24 : info, 4);
        }
    }
    return at;
}

static size_t write_hash(struct writer *w)
{
    const size_t n = w->spec->machine == EM_S390 && w->wide ? 8 : 4; /* s390x has wide entries */
    const size_t at = reserve(w, 0, 8);

    add(w, 1, n), add(w, w->spec->n_imports + 1, n); /* one bucket, that many chain links */
    for (size_t i = 0; i < w->spec->n_imports + 2; i++)
        add(w, 0, n);
    return at;
}

/* As linkers write it when nothing is offered: one empty bucket, and a first symbol that is none.
 */
static size_t write_gnu_hash(struct writer *w)
{
    const size_t at = reserve(w, 0, 8);

    add(w, 1, 4), add(w, 1, 4), add(w, 1, 4), add(w, 0, 4);
    add(w, 0, word(w)), add(w, 0, 4);
    return at;
}

/* A word for each import, which the loader fills, and the relocations that tell it so. */
static void write_rela(struct writer *w)
{
    const size_t n = w->spec->n_imports, size = 3 * 8;

    w->rela = reserve(w, n * size, 8);
    w->slots = reserve(w, n * 8, 8);
    while (w->size % 16) /* the code follows at once */
        w->slots = reserve(w, n * 8, 8);
    for (size_t i = 0; i < n; i++) {
        put(w, w->rela + i * size, w->slots + i * 8, 8);
        put(w, w->rela + i * size + 8, ELF64_R_INFO((uint64_t)i + 1, R_X86_64_GLOB_DAT), 8);
    }
}

/* Verneed: a record a file with its versions behind it. Returns the number of records. */
static size_t write_verneed(struct writer *w, size_t *ret_at)
{
    const struct elf_version *v = w->spec->versions, *end = v + w->spec->n_versions;
    size_t records = 0, last = 0;

    *ret_at = reserve(w, 0, 8);
    while (v < end) {
        const struct elf_version *first = v;
        size_t n = 0, at;

        for (; v < end && v->file && first->file && !strcmp(v->file, first->file); v++)
            n++;
        if (n == 0) {
            v++;
            continue;
        }
        if (last)
            put(w, last + 12, w->size - last, 4);
        at = last = reserve(w, 16, 4);
        put(w, at, 1, 2), put(w, at + 2, n, 2);
        put(w, at + 4, add_string(w, first->file), 4), put(w, at + 8, 16, 4);
        for (size_t i = 0; i < n; i++) {
            add(w, sysv_hash(first[i].name), 4), add(w, 0, 2), add(w, 2 + i, 2);
            add(w, add_string(w, first[i].name), 4), add(w, i + 1 < n ? 16 : 0, 4);
        }
        records++;
    }
    return records;
}

static size_t write_verdef(struct writer *w, size_t *ret_at)
{
    const struct elf_version *v = w->spec->versions, *end = v + w->spec->n_versions;
    size_t records = 0, last = 0;

    *ret_at = reserve(w, 0, 8);
    for (; v < end; v++) {
        if (v->file)
            continue;
        if (last)
            put(w, last + 16, w->size - last, 4);
        last = w->size;
        add(w, 1, 2), add(w, records ? 0 : VER_FLG_BASE, 2), add(w, ++records, 2), add(w, 1, 2);
        add(w, sysv_hash(v->name), 4), add(w, 20, 4), add(w, 0, 4);
        add(w, add_string(w, v->name), 4), add(w, 0, 4);
    }
    return records;
}

static void write_notes(struct writer *w, struct elf_image *image)
{
    for (size_t i = 0; i < w->spec->n_notes; i++) {
        const struct elf_note *note = &w->spec->note[i];
        const size_t owner = strlen(note->owner) + 1, at = reserve(w, 12, 4);
        size_t from;

        put(w, at, owner, 4), put(w, at + 4, note->size, 4), put(w, at + 8, note->type, 4);
        from = reserve(w, owner, 1);
        memcpy(w->bytes + from, note->owner, owner);
        from = reserve(w, note->size, 4);
        if (note->size)
            memcpy(w->bytes + from, note->bytes, note->size);
        reserve(w, 0, 4);
        segment_covers(add_segment(w, PT_NOTE, PF_R, 4), at, w->size);
        if (!image->note_off)
            image->note_off = at;
    }
}

static void put_dyn(struct writer *w, size_t *at, uint64_t tag, uint64_t value)
{
    put(w, *at, tag, word(w)), put(w, *at + word(w), value, word(w));
    *at += 2 * word(w);
}

/* The code follows the tables. */
static size_t code_offset(const struct writer *w)
{
    return (w->size + 15) / 16 * 16;
}

/*
 * The dynamic section is laid out first and filled last: its entries point at tables behind it.
 * PT_DYNAMIC lies in a writable PT_LOAD because older loaders relocate the entries in place.
 */
static void write_dynamic(struct writer *w, struct elf_image *image)
{
    const struct elf_spec *spec = w->spec;
    const size_t extra =
        (spec->want_tables ? 12u + spec->code_is_init : 0u) + 1u + spec->spare_dynamic;
    const size_t n = spec->empty_dynamic ? 0 : spec->n_dynamic + extra;
    size_t at = reserve(w, n * 2 * word(w), 8), fill = at;
    size_t symbols, hash, verneed, verdef, n_verneed, n_verdef, end;

    image->dynamic_off = at;
    segment_covers(add_segment(w, PT_DYNAMIC, PF_R | PF_W, word(w)), at, w->size);
    if (spec->empty_dynamic)
        return;
    add_string(w, "");
    symbols = write_symbols(w);
    hash = spec->gnu_hash ? write_gnu_hash(w) : write_hash(w);
    n_verneed = write_verneed(w, &verneed);
    n_verdef = write_verdef(w, &verdef);
    for (size_t i = 0; i < spec->n_dynamic; i++) {
        const struct elf_dyn *d = &spec->dynamic[i];

        put_dyn(w, &fill, (uint64_t)d->tag, d->text ? add_string(w, d->text) : d->value);
    }
    image->dynstr_off = reserve(w, w->n_strings, 1);
    memcpy(w->bytes + image->dynstr_off, w->strings, w->n_strings);
    if (spec->bind_imports)
        write_rela(w);
    if (!spec->want_tables)
        return;
    put_dyn(w, &fill, spec->gnu_hash ? DT_GNU_HASH : DT_HASH, hash);
    put_dyn(w, &fill, DT_STRTAB, image->dynstr_off);
    put_dyn(w, &fill, DT_SYMTAB, symbols);
    put_dyn(w, &fill, DT_STRSZ, w->n_strings);
    put_dyn(w, &fill, DT_SYMENT, w->wide ? 24 : 16);
    if (n_verneed) {
        put_dyn(w, &fill, DT_VERNEED, verneed);
        put_dyn(w, &fill, DT_VERNEEDNUM, n_verneed);
    }
    if (n_verdef) {
        put_dyn(w, &fill, DT_VERDEF, verdef);
        put_dyn(w, &fill, DT_VERDEFNUM, n_verdef);
    }
    if (w->rela) {
        put_dyn(w, &fill, DT_RELA, w->rela);
        put_dyn(w, &fill, DT_RELASZ, spec->n_imports * 3 * 8);
        put_dyn(w, &fill, DT_RELAENT, 3 * 8);
    }
    if (spec->code_is_init)
        put_dyn(w, &fill, DT_INIT, code_offset(w));
    end = fill + (1 + spec->spare_dynamic) * 2 * word(w);
    for (size_t i = 0; i < w->n_segments; i++) /* unused room is no part of the section */
        if (w->segment[i].type == PT_DYNAMIC)
            segment_covers(&w->segment[i], at, end);
}

static void write_phdrs(struct writer *w, size_t at)
{
    for (size_t i = 0; i < w->n_segments; i++) {
        const struct segment *s = &w->segment[i];
        const size_t n = word(w);

        put(w, at, s->type, 4), at += 4;
        if (w->wide)
            put(w, at, s->flags, 4), at += 4;
        put(w, at, s->offset, n);
        put(w, at + n, s->offset + s->higher, n), put(w, at + 2 * n, s->offset + s->higher, n);
        put(w, at + 3 * n, s->size, n), put(w, at + 4 * n, s->mem_size, n), at += 5 * n;
        if (!w->wide)
            put(w, at, s->flags, 4), at += 4;
        put(w, at, s->align, n), at += n;
    }
}

static void write_header(struct writer *w, size_t phoff, size_t entry)
{
    const struct elf_spec *spec = w->spec;
    const size_t n = word(w), phdrs = w->n_segments;
    const unsigned char ident[EI_NIDENT] = {
        0x7f,
        'E',
        'L',
        'F',
        spec->class,
        spec->data,
        spec->ident_version,
        spec->osabi,
        spec->abiversion,
        0,
        0,
        spec->ident_pad,
    };
    size_t at = EI_NIDENT;

    memcpy(w->bytes, ident, sizeof(ident));
    put(w, at, spec->type, 2), put(w, at + 2, spec->machine, 2), put(w, at + 4, spec->version, 4);
    at += 8;
    put(w, at, entry, n), put(w, at + n, phoff, n), put(w, at + 2 * n, 0, n), at += 3 * n;
    put(w, at, spec->flags, 4);
    put(w, at + 4, w->wide ? 64 : 52, 2);
    put(w, at + 6, spec->phentsize ? spec->phentsize : w->wide ? 56 : 32, 2);
    put(w, at + 8, spec->max_phdrs && spec->max_phdrs < phdrs ? spec->max_phdrs : phdrs, 2);
    put(w, at + 10, w->wide ? 64 : 40, 2);
}

/* Constants of an object that imports something lie in a segment that can only be read. */
static bool wants_constants(const struct elf_spec *spec)
{
    return spec->rodata && spec->n_imports;
}

static void write_constants(struct writer *w)
{
    const struct elf_spec *spec = w->spec;
    const size_t at = reserve(w, spec->rodata_size, 1);
    struct segment *s;

    memcpy(w->bytes + at, spec->rodata, spec->rodata_size);
    if (!wants_constants(spec))
        return;
    s = add_segment(w, PT_LOAD, PF_R, PAGE);
    segment_covers(s, at, w->size);
    s->higher = (w->size / PAGE + 2) * PAGE;
}

/* How many program headers there will be: they stand before everything they describe. */
static size_t count_phdrs(const struct elf_spec *spec)
{
    return (spec->interp ? 2u : 0u) + 1u + !spec->no_dynamic + spec->n_notes + !spec->no_gnu_stack +
           (spec->tls_size != 0) + wants_constants(spec);
}

struct elf_image elf_write(struct arena *arena, const struct elf_spec *spec)
{
    struct writer w = {
        .spec = spec,
        .arena = arena,
        .wide = spec->class != ELFCLASS32,
        .big = spec->data == ELFDATA2MSB,
    };
    struct elf_image image = {0};
    const size_t phdrs = count_phdrs(spec), phent = w.wide ? 56 : 32;
    size_t load, entry = 0;

    reserve(&w, w.wide ? 64 : 52, 1);
    image.phoff = reserve(&w, phdrs * phent, 8);
    if (spec->interp) {
        const size_t len = strlen(spec->interp) + 1;

        segment_covers(add_segment(&w, PT_PHDR, PF_R, 8), image.phoff, image.phoff + phdrs * phent);
        load = reserve(&w, len, 1);
        memcpy(w.bytes + load, spec->interp, len);
        segment_covers(add_segment(&w, PT_INTERP, PF_R, 1), load, w.size);
    }
    load = w.n_segments;
    add_segment(&w, PT_LOAD, PF_R | PF_W | (spec->code ? PF_X : 0u), PAGE);
    write_notes(&w, &image);
    if (!spec->no_dynamic)
        write_dynamic(&w, &image);
    if (spec->code) {
        entry = reserve(&w, spec->code_size, 16);
        memcpy(w.bytes + entry, spec->code, spec->code_size);
    }
    if (spec->rodata)
        write_constants(&w);
    if (!spec->no_gnu_stack)
        add_segment(&w, PT_GNU_STACK, PF_R | PF_W | (spec->exec_stack ? PF_X : 0u), 16);
    if (spec->tls_size)
        add_segment(&w, PT_TLS, PF_R, 16)->mem_size = spec->tls_size;
    segment_covers(&w.segment[load], 0, w.size);
    write_phdrs(&w, image.phoff);
    write_header(&w, image.phoff, entry);
    reserve(&w, spec->trailing, 1);
    image.bytes = w.bytes;
    image.size = w.size;
    return image;
}

struct elf_spec elf_library(void)
{
    return (struct elf_spec){
        .class = ELFCLASS64,
        .data = ELFDATA2LSB,
        .ident_version = EV_CURRENT,
        .type = ET_DYN,
        .machine = EM_X86_64,
        .version = EV_CURRENT,
        .want_tables = true,
    };
}

struct elf_spec elf_program(const char *interp)
{
    struct elf_spec spec = elf_library();

    spec.interp = interp;
    spec.code = marker_code;
    spec.code_size = sizeof(marker_code);
    return spec;
}

/* Bytes of code as they are put together. */
struct code {
    struct writer w;
    size_t name; /* where the next constant goes: behind the code */
};

static void add_code(struct code *code, const void *bytes, size_t n)
{
    const size_t at = reserve(&code->w, n, 1);

    memcpy(code->w.bytes + at, bytes, n);
}

enum { MARKER = 7, CALL = 7 + 5 + 6 };

/*
 *	lea name(%rip),%rdi; mov $1,%esi; call *slot(%rip)
 *
 * The stack must be aligned; the one slot lies 8 bytes before the code.
 */
static void add_dlopen(struct code *code, const char *name)
{
    static const unsigned char call[CALL] = {0x48, 0x8d, 0x3d, 0,    0,    0, 0, 0xbe, 1,
                                             0,    0,    0,    0xff, 0x15, 0, 0, 0,    0};
    const size_t at = code->w.size;

    add_code(code, call, sizeof(call));
    put(&code->w, at + 3, code->name - (at + 7), 4);
    put(&code->w, at + 14, (uint64_t)-8 - (at + 18), 4);
    code->name += strlen(name) + 1;
}

static void finish_code(struct elf_spec *spec, struct code *code, const char *const *names,
                        size_t n)
{
    static const char *const imports[] = {"dlopen"};

    for (size_t i = 0; i < n; i++)
        add_code(code, names[i], strlen(names[i]) + 1);
    spec->code = code->w.bytes;
    spec->code_size = code->w.size;
    spec->imports = imports;
    spec->n_imports = ARRAY_LEN(imports);
    spec->bind_imports = true;
}

/* marker; for each name: { dlopen; marker; } exit(0) */
struct elf_spec elf_dlopener(struct arena *arena, const char *interp, const char *const *names,
                             size_t n)
{
    struct elf_spec spec = elf_program(interp);
    struct code code = {.w = {.arena = arena}, .name = n * (CALL + MARKER) + sizeof(marker_code)};

    add_code(&code, marker_code, MARKER);
    for (size_t i = 0; i < n; i++) {
        add_dlopen(&code, names[i]);
        add_code(&code, marker_code, MARKER);
    }
    add_code(&code, marker_code + MARKER, sizeof(marker_code) - MARKER);
    finish_code(&spec, &code, names, n);
    return spec;
}

/* sub $8,%rsp; for each name: { marker; dlopen; } add $8,%rsp; ret */
struct elf_spec elf_dlopening_library(struct arena *arena, const char *const *names, size_t n)
{
    static const unsigned char align[] = {0x48, 0x83, 0xec, 8},
                               leave[] = {0x48, 0x83, 0xc4, 8, 0xc3};
    struct elf_spec spec = elf_library();
    struct code code = {.w = {.arena = arena},
                        .name = sizeof(align) + n * (MARKER + CALL) + sizeof(leave)};

    add_code(&code, align, sizeof(align));
    for (size_t i = 0; i < n; i++) {
        add_code(&code, marker_code, MARKER);
        add_dlopen(&code, names[i]);
    }
    add_code(&code, leave, sizeof(leave));
    finish_code(&spec, &code, names, n);
    spec.code_is_init = true;
    return spec;
}

void elf_for_machine(struct elf_spec *spec, uint16_t machine, uint8_t class, uint8_t data)
{
    spec->machine = machine;
    spec->class = class;
    spec->data = data;
    spec->code = NULL;
    spec->bind_imports = false;
}
