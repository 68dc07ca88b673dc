#include "scanner/packed.h"

#include <string.h>

/* The last number of a header: enum packed_rows, and claims of struct object. */
enum { HAS_DYNAMIC = 1 << 2, IDENT_PAD_ZERO = 1 << 3, HAS_ABI_TAG = 1 << 4 };

/* ---- writing */

void pack_number(struct str *to, uint64_t number)
{
    char bytes[10];
    size_t n = 0;

    for (; number > 0x7f; number >>= 7)
        bytes[n++] = (char)(number | 0x80);
    bytes[n++] = (char)number;
    str_add_n(to, bytes, n);
}

static unsigned bits_of(const struct object *o)
{
    unsigned bits = 0;

    bits |= o->ldso ? PACKED_LDSO : 0;
    bits |= o->audit || o->depaudit || o->resolution.bytes || o->closure.bytes || o->problem
                ? PACKED_RARE
                : 0;
    bits |= o->has_dynamic ? HAS_DYNAMIC : 0;
    bits |= o->ident_pad_zero ? IDENT_PAD_ZERO : 0;
    bits |= o->has_abi_tag ? HAS_ABI_TAG : 0;
    return bits;
}

void pack_header(struct str *to, const struct object *o)
{
    const uint64_t numbers[] = {o->class,         o->data,      o->ident_version, o->osabi,
                                o->abiversion,    o->type,      o->machine,       o->version,
                                o->machine_flags, o->phentsize, o->phnum,         o->size,
                                o->mode,          o->flags,     o->flags_1,       bits_of(o)};

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        pack_number(to, numbers[i]);
}

void pack_object(struct str *to, const struct str *numbers)
{
    pack_number(to, numbers->len);
    str_add_n(to, numbers->text, numbers->len);
}

/* ---- reading */

uint64_t packed_number(struct packed *packed)
{
    uint64_t number = 0;

    for (unsigned shift = 0; packed->at < packed->end && shift < 64; shift += 7) {
        const unsigned char byte = *packed->at++;

        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return number;
    }
    return 0;
}

unsigned packed_header(struct packed *packed, struct object *o)
{
    unsigned bits;

    o->class = (uint8_t)packed_number(packed);
    o->data = (uint8_t)packed_number(packed);
    o->ident_version = (uint8_t)packed_number(packed);
    o->osabi = (uint8_t)packed_number(packed);
    o->abiversion = (uint8_t)packed_number(packed);
    o->type = (uint16_t)packed_number(packed);
    o->machine = (uint16_t)packed_number(packed);
    o->version = (uint32_t)packed_number(packed);
    o->machine_flags = (uint32_t)packed_number(packed);
    o->phentsize = (uint16_t)packed_number(packed);
    o->phnum = (uint16_t)packed_number(packed);
    o->size = packed_number(packed);
    o->mode = (uint32_t)packed_number(packed);
    o->flags = (uint32_t)packed_number(packed);
    o->flags_1 = (uint32_t)packed_number(packed);
    bits = (unsigned)packed_number(packed);
    o->has_dynamic = bits & HAS_DYNAMIC;
    o->ident_pad_zero = bits & IDENT_PAD_ZERO;
    o->has_abi_tag = bits & HAS_ABI_TAG;
    return bits & (PACKED_LDSO | PACKED_RARE);
}

bool packed_next(struct packed *objects, struct packed *ret_numbers)
{
    const uint64_t size = packed_number(objects);

    if (size == 0 || size > (size_t)(objects->end - objects->at))
        return false;
    *ret_numbers = (struct packed){objects->at, objects->at + size};
    objects->at += size;
    return true;
}

/* ---- from one index to another */

static int map_number(struct str *to, struct packed *from, int (*map)(void *, int64_t, int64_t *),
                      void *data)
{
    const uint64_t id = packed_number(from);
    int64_t mapped = 0;
    const int r = id ? map(data, (int64_t)(id & INT64_MAX), &mapped) : 0;

    pack_number(to, (uint64_t)mapped);
    return r;
}

static int map_needs(struct str *to, struct packed *from, const struct packed_maps *maps)
{
    int r = 0;

    pack_number(to, packed_number(from));
    while (from->at < from->end && r == 0) {
        const uint64_t number = packed_number(from);
        int64_t mapped = 0;

        r = maps->name(maps->data, (int64_t)(number >> 2), &mapped);
        pack_number(to, (uint64_t)mapped << 2 | (number & 3));
    }
    return r;
}

static int map_object(struct str *to, struct packed from, const struct packed_maps *maps)
{
    int (*const of[])(void *, int64_t, int64_t *) = {maps->name, maps->name, maps->run_path,
                                                     maps->run_path};
    const unsigned char *start = from.at;
    struct object header;
    int r = 0;

    (void)packed_header(&from, &header);
    str_add_n(to, (const char *)start, (size_t)(from.at - start));
    for (size_t i = 0; i < ARRAY_LEN(of) && r == 0; i++)
        r = map_number(to, &from, of[i], maps->data);
    for (size_t i = 0; i < ARRAY_LEN(header.abi_tag) && header.has_abi_tag; i++)
        pack_number(to, packed_number(&from));
    return r < 0 ? r : map_needs(to, &from, maps);
}

int pack_mapped(struct str *to, struct packed objects, const struct packed_maps *maps)
{
    struct packed numbers;
    int r = 0;

    while (r == 0 && packed_next(&objects, &numbers)) {
        struct str one = {.arena = to->arena};

        r = map_object(&one, numbers, maps);
        pack_object(to, &one);
    }
    return r;
}
