/*
 * Notes in a file that is edited: found, removed, replaced.
 *
 *	one note alone in its PT_NOTE    the program header and the section go with it
 *	one note among others            its bytes become a note of nobody
 */
#include "planner/elf_file.h"

#include <string.h>

enum { NOTE_HEADER = 12 };

/* patchelf knows the resolution note by the name of its section. */
const struct elf_note_kind elf_note_kind[N_ELF_NOTES] = {
    [ELF_NOTE_RESOLUTION] = {"NixOS", 0x63a86cb6, ".note.nixos.ldcache"},
    [ELF_NOTE_CLOSURE] = {"stormlint", 0x53544f52, ".note.stormlint"},
};

static uint64_t align_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) / align * align;
}

/* The end of a note with these sizes at `at`, its padding included. */
static uint64_t note_end(uint64_t at, uint64_t owner_size, uint64_t size, uint64_t align)
{
    return align_up(align_up(at + NOTE_HEADER + owner_size, align) + size, align);
}

/* The note in one PT_NOTE segment. */
static bool find_in(const struct elf_file *f, size_t phdr, const struct elf_note_kind *kind,
                    struct elf_note *ret)
{
    const size_t owner_size = strlen(kind->owner) + 1;
    const Elf64_Phdr *p = &f->phdr[phdr];
    const uint64_t align = p->p_align == 8 ? 8 : 4;
    uint64_t at = 0, end;

    for (; at + NOTE_HEADER <= p->p_filesz; at = end) {
        const uint64_t from = p->p_offset + at;
        const uint32_t names = raw_word(&f->raw, from), size = raw_word(&f->raw, from + 4);

        end = note_end(at, names, size, align);
        if (align_up(at + NOTE_HEADER + names, align) + size > p->p_filesz)
            return false;
        if (raw_word(&f->raw, from + 8) != kind->type || names != owner_size ||
            memcmp(f->raw.bytes + from + NOTE_HEADER, kind->owner, owner_size) != 0)
            continue;
        *ret = (struct elf_note){
            .found = true,
            .phdr = phdr,
            .at = from,
            .size = (end < p->p_filesz ? end : p->p_filesz) - at,
            .descriptor = from + align_up(NOTE_HEADER + names, align),
            .descriptor_size = size,
            .alone = at == 0 && end >= p->p_filesz,
        };
        return true;
    }
    return false;
}

void elf_note_find(const struct elf_file *f, enum elf_note_id id, struct elf_note *ret_note)
{
    *ret_note = (struct elf_note){0};
    for (size_t i = 0; i < f->n_phdrs; i++)
        if (f->phdr[i].p_type == PT_NOTE &&
            raw_fits(&f->raw, f->phdr[i].p_offset, 1, f->phdr[i].p_filesz) &&
            find_in(f, i, &elf_note_kind[id], ret_note))
            break;
    if (ret_note->found)
        ret_note->section = elf_section_find(f, ret_note->at, ret_note->size);
}

bool elf_note_is(const struct elf_file *f, const struct elf_note *note, const struct note *wanted)
{
    return note->found && note->descriptor_size == wanted->size &&
           memcmp(f->raw.bytes + note->descriptor, wanted->bytes, wanted->size) == 0;
}

struct elf_note_bytes elf_note_make(struct arena *arena, enum elf_note_id id,
                                    const struct note *note)
{
    const struct elf_note_kind *kind = &elf_note_kind[id];
    const size_t owner_size = strlen(kind->owner) + 1;
    const uint64_t at = align_up(NOTE_HEADER + owner_size, 4);
    const uint64_t size = align_up(at + note->size, 4);
    const struct raw raw = {.bytes = arena_calloc(arena, size, 1), .size = size};

    raw_put_word(&raw, 0, (uint32_t)owner_size);
    raw_put_word(&raw, 4, note->size);
    raw_put_word(&raw, 8, kind->type);
    memcpy(raw.bytes + NOTE_HEADER, kind->owner, owner_size);
    memcpy(raw.bytes + at, note->bytes, note->size);
    return (struct elf_note_bytes){raw.bytes, size};
}

static void drop_phdr(struct elf_file *f, size_t at)
{
    const uint64_t entry = raw_phdr_size(&f->raw);

    memmove(f->phdr + at, f->phdr + at + 1, (f->n_phdrs - at - 1) * sizeof(*f->phdr));
    f->n_phdrs--;
    f->dynamic -= f->dynamic > at;
    memset(f->raw.bytes + f->ehdr.e_phoff + f->n_phdrs * entry, 0, entry);
    for (size_t i = 0; i < f->n_phdrs; i++) {
        if (f->phdr[i].p_type == PT_PHDR && f->phdr[i].p_filesz >= entry) {
            f->phdr[i].p_filesz -= entry;
            f->phdr[i].p_memsz -= entry;
        }
    }
}

/* Was this segment made for the note, and nothing else? What is left of it is zero. */
static bool only_held(const struct elf_file *f, const Elf64_Phdr *p, const struct elf_note *note)
{
    if (p->p_type != PT_LOAD || p->p_offset != note->at || p->p_filesz < note->size ||
        p->p_memsz != p->p_filesz || p->p_flags & PF_W)
        return false;
    for (uint64_t i = 0; i < p->p_filesz; i++)
        if (f->raw.bytes[p->p_offset + i])
            return false;
    for (size_t i = 1; i < f->n_shdrs; i++) {
        const Elf64_Shdr *s = &f->shdr[i];

        if (i != note->section && s->sh_flags & SHF_ALLOC && s->sh_addr < p->p_vaddr + p->p_memsz &&
            s->sh_addr + s->sh_size > p->p_vaddr)
            return false;
    }
    return true;
}

void elf_note_wipe(struct elf_file *f, const struct elf_note *note)
{
    if (note->alone)
        memset(f->raw.bytes + note->at, 0, note->size);
    else
        memset(f->raw.bytes + note->at + 8, 0, note->size - 8); /* sizes stay: others follow */
}

void elf_note_remove(struct elf_file *f, const struct elf_note *note)
{
    elf_note_wipe(f, note);
    if (!note->alone)
        return;
    drop_phdr(f, note->phdr);
    for (size_t i = 0; i < f->n_phdrs; i++) {
        if (only_held(f, &f->phdr[i], note)) {
            drop_phdr(f, i);
            break;
        }
    }
}
