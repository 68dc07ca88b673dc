#include "loader/internal.h"

enum {
    V_NO_KERNEL_CHECK = 36, /* the ABI tag is not looked at from 2.36 on */

    /* parts of e_flags that tell an ABI */
    RISCV_FLOAT_ABI = 0x6,
    PPC64_ABI = 0x3,
    ARM_EABI = 0xff000000u,
    ARM_EABI5 = 0x05000000,
    ARM_FLOAT_SOFT = 0x200,
    ARM_FLOAT_HARD = 0x400,
};

struct judged {
    const struct profile *profile;
    uint32_t kernel; /* as world.h has it */
    const struct node *node;
    const struct object *object;
};

static bool is_directory(const struct judged *j)
{
    return j->node->kind == NODE_DIR;
}

static bool is_short(const struct judged *j)
{
    const uint64_t header =
        j->profile->class == ELFCLASS64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);

    return j->node->size < header;
}

static bool is_not_elf(const struct judged *j)
{
    return !j->object;
}

static bool is_other_class(const struct judged *j)
{
    return j->object->class != j->profile->class;
}

/* Two machines have an ABI in e_flags that must be the loader's, or on powerpc64 may be left open.
 */
static bool is_other_abi(const struct judged *j)
{
    const uint32_t flags = j->object->machine_flags, own = j->profile->machine_flags;

    if (j->profile->machine == EM_RISCV)
        return (flags & RISCV_FLOAT_ABI) != (own & RISCV_FLOAT_ABI);
    if (j->profile->machine == EM_PPC64)
        return flags & PPC64_ABI && (flags & PPC64_ABI) != (own & PPC64_ABI);
    return false;
}

/* The loader compares e_machine in its own byte order, whatever the file's is. */
static bool is_other_machine(const struct judged *j)
{
    const uint16_t machine = j->object->machine;
    const uint8_t opposite = j->profile->data == ELFDATA2LSB ? ELFDATA2MSB : ELFDATA2LSB;

    return (j->object->data == opposite ? __builtin_bswap16(machine) : machine) !=
               j->profile->machine ||
           is_other_abi(j);
}

/*
 * ARM's loaders count the float ABI among what makes a header valid, whatever the machine. That it
 * is wrong is not expected to come alone; Debian's look at it first.
 */
static bool is_other_float_abi(const struct judged *j)
{
    const uint32_t flags = j->object->machine_flags;
    const uint32_t other =
        j->profile->machine_flags & ARM_FLOAT_HARD ? ARM_FLOAT_SOFT : ARM_FLOAT_HARD;

    return j->profile->machine == EM_ARM && (flags & ARM_EABI) == ARM_EABI5 && flags & other;
}

static bool is_bad_ident(const struct judged *j)
{
    const struct object *o = j->object;
    const bool gnu = o->osabi == ELFOSABI_GNU;
    const bool arm = o->osabi == ELFOSABI_ARM_AEABI && j->profile->machine == EM_ARM;

    return o->data != j->profile->data || o->ident_version != EV_CURRENT ||
           (o->osabi != ELFOSABI_SYSV && !gnu && !arm) ||
           (o->abiversion != 0 && !(gnu && o->abiversion < j->profile->abi_versions)) ||
           !o->ident_pad_zero;
}

static bool is_debian_foreign(const struct judged *j)
{
    return j->profile->debian && is_other_machine(j) && is_bad_ident(j);
}

static bool is_debian_float_abi(const struct judged *j)
{
    return j->profile->debian && is_other_float_abi(j);
}

static bool is_bad_version(const struct judged *j)
{
    return j->object->version != EV_CURRENT;
}

static bool is_bad_type(const struct judged *j)
{
    return j->object->type != ET_DYN && j->object->type != ET_EXEC;
}

static bool is_bad_phentsize(const struct judged *j)
{
    const size_t size = j->profile->class == ELFCLASS64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);

    return j->object->phentsize != size;
}

static bool is_for_other_kernel(const struct judged *j)
{
    const uint32_t *tag = j->object->abi_tag;
    const uint32_t asked = (tag[1] & 0xff) << 16 | (tag[2] & 0xff) << 8 | (tag[3] & 0xff);

    return j->profile->version < V_NO_KERNEL_CHECK && j->object->has_abi_tag &&
           (tag[0] != 0 || asked > j->kernel);
}

/* docs/loader.md, section 9, row by row: the first that holds decides. */
static const struct rule {
    bool (*holds)(const struct judged *judged);
    enum judgement judgement;
    const char *why;
} rules[] = {
    {is_directory, JUDGED_FATAL, "it is a directory"},
    {is_short, JUDGED_FATAL, "the file is shorter than an ELF header"},
    {is_not_elf, JUDGED_FATAL, "not an ELF file"},
    {is_other_class, JUDGED_MISS, "wrong ELF class"},
    {is_debian_float_abi, JUDGED_MISS, "for another floating-point ABI"},
    {is_debian_foreign, JUDGED_MISS, "for another machine (Debian's loader looks at that first)"},
    {is_bad_ident, JUDGED_FATAL,
     "invalid ELF identification (byte order, version, OS ABI or padding)"},
    {is_other_float_abi, JUDGED_FATAL, "for another floating-point ABI"},
    {is_bad_version, JUDGED_FATAL, "ELF version is not 1"},
    {is_other_machine, JUDGED_MISS, "for another machine"},
    {is_bad_type, JUDGED_FATAL, "neither a shared object nor an executable"},
    {is_bad_phentsize, JUDGED_FATAL, "wrong size of program header entries"},
    {is_for_other_kernel, JUDGED_MISS, "its ABI tag asks for another system or a newer kernel"},
};

enum judgement judge_header(const struct profile *profile, uint32_t kernel, const struct node *node,
                            const struct object *object, const char **ret_why)
{
    const struct judged judged = {profile, kernel, node, object};
    const struct rule *rule;

    for_each (rule, rules) {
        if (rule->holds(&judged)) {
            *ret_why = rule->why;
            return rule->judgement;
        }
    }
    return JUDGED_GOOD;
}

const char *judge_library(const struct object *object)
{
    if (object->type == ET_EXEC)
        return "an executable cannot be loaded as a library";
    if (!object->has_dynamic)
        return "it has no dynamic section";
    if (object->flags_1 & DF_1_PIE)
        return "a position-independent executable cannot be loaded as a library";
    return NULL;
}
