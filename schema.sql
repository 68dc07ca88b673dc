-- stormlint's one schema: a section per layer. Compiled into the program.
--
-- An index is a cache: a file whose schema differs from this text is emptied and scanned anew, so
-- there are no migrations. Lists of ids are JSON arrays ('[3,17,5]'): one row an object, and still
-- open to json_each() in the sqlite3 shell. The views at the end are for that shell.

------------------------------------------------------------------------------- base

-- Numbers about the index itself.
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,             -- 'generation': grows with every scan that changed something;
                                        -- 'unfinished': there while a scan is changing things
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

------------------------------------------------------------------------------- scanner: what is

-- A directory of packages.
CREATE TABLE store (
    id   INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,          -- as programs name it: '/nix/store'
    root TEXT NOT NULL,                 -- local: the directory that was '/' when it was read;
                                        -- '': none, or several
    changed INTEGER NOT NULL DEFAULT 0, -- local: the directory's change time, ns, when last scanned
    whole INTEGER NOT NULL DEFAULT 0    -- 1: every package in it is in the index (table part)
) STRICT;

-- Which parts of which directories are here that play a store. A store is whole when each
-- directory is.
CREATE TABLE part (
    store  INTEGER NOT NULL REFERENCES store,
    place  TEXT NOT NULL,               -- local: the directory, whatever its name: its device, inode, birth
    shards INTEGER NOT NULL,            -- into so many it is split, by hash; 0: only some packages of it
    shard  INTEGER NOT NULL,            -- this one of them, from 1; 1 of 1: all of it
    PRIMARY KEY (store, place, shards, shard)
) STRICT, WITHOUT ROWID;

-- One store path.
CREATE TABLE package (
    id       INTEGER PRIMARY KEY,
    store    INTEGER NOT NULL REFERENCES store,
    base     TEXT NOT NULL,             -- its name in the store: '<hash>-<name>'
    hash     TEXT,                      -- the 32 characters before the first dash; NULL: none
    name     TEXT NOT NULL,             -- what follows them, without the output
    pname    TEXT NOT NULL,             -- name without the version
    version  TEXT NOT NULL,             -- '' when the name has none
    output   TEXT NOT NULL,             -- 'out', 'dev', ...
    state    TEXT NOT NULL CHECK (state IN
             ('new',                    -- known, not scanned yet
              'scanned',                -- all of it is in the index
              'incomplete',             -- something in it could not be read
              'gone')),                 -- it was here and is no more
    nar_hash TEXT,                      -- registered paths: the content's identity; NULL: not registered
    nar_size INTEGER,                   -- bytes; NULL: not registered
    mark     INTEGER,                   -- unregistered paths: hash over names, sizes, times, inodes
    kind     TEXT,                      -- 'dir', 'file', 'link', 'other'
    target   TEXT,                      -- of a link
    files    INTEGER,                   -- regular files in it
    macho    INTEGER,                   -- Mach-O files among them: no storm, their names are absolute
    first_object INTEGER,               -- its objects are numbered from here ...
    objects  INTEGER NOT NULL DEFAULT 0,-- ... this many
    UNIQUE (store, base)
) STRICT;

-- Which package refers to which (itself included, as Nix counts).
CREATE TABLE reference (
    package   INTEGER NOT NULL REFERENCES package,
    reference INTEGER NOT NULL REFERENCES package,
    PRIMARY KEY (package, reference)
) STRICT, WITHOUT ROWID;
CREATE INDEX reference_back ON reference (reference); -- who refers to a package

-- Where packages come from, by their names: what a channel's packages.json tells.
CREATE TABLE origin (
    name        TEXT PRIMARY KEY,       -- as in package: 'hello-2.12.1'
    attribute   TEXT NOT NULL,          -- in nixpkgs
    maintainers TEXT NOT NULL,          -- a JSON array
    position    TEXT                    -- 'pkgs/by-name/he/hello/package.nix:42'; NULL: not told
) STRICT, WITHOUT ROWID;

-- Interned: sonames, names needed, interpreters, version names, constants.
CREATE TABLE name (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;

-- Interned: directories as run paths spell them; one row for each way of spelling.
CREATE TABLE search_dir (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;

-- Interned: whole run paths. Most objects of a package have the same.
CREATE TABLE run_path (
    id   INTEGER PRIMARY KEY,
    dirs TEXT NOT NULL                  -- JSON list of search_dir ids
) STRICT;

-- A directory that a loader may look into: it holds objects or links to them, or a run path names it.
CREATE TABLE directory (
    id      INTEGER PRIMARY KEY,
    package INTEGER NOT NULL REFERENCES package,
    path    TEXT NOT NULL,              -- below the package; '' is its top
    first_object INTEGER NOT NULL,      -- its objects, in the order of entries, are numbered from here ...
    objects INTEGER NOT NULL,           -- ... this many
    entries BLOB NOT NULL,              -- everything in it: scanner/entries.h
    packed  BLOB NOT NULL,              -- what a loader cares for in its objects: scanner/packed.h
    changed INTEGER NOT NULL,           -- local: its change time, ns, when its inodes were read
    UNIQUE (package, path)
) STRICT;

-- One ELF file. Starts are computed from what its directory has packed; here is what people and
-- queries look for, what few objects have, and what the planner and the checks want to know.
CREATE TABLE object (
    id        INTEGER PRIMARY KEY,
    directory INTEGER NOT NULL REFERENCES directory,
    name      TEXT NOT NULL,            -- file name; '' when the package itself is the file
    class     INTEGER NOT NULL,         -- EI_CLASS: 1 32-bit, 2 64-bit
    type      INTEGER NOT NULL,         -- e_type: 2 executable, 3 shared
    machine   INTEGER NOT NULL,         -- e_machine: 62 x86-64, 183 aarch64, ...
    size      INTEGER NOT NULL,         -- of the file, bytes
    mode      INTEGER NOT NULL,         -- st_mode
    interp    INTEGER REFERENCES name,  -- PT_INTERP; NULL: not a program
    soname    INTEGER REFERENCES name,  -- DT_SONAME
    needed    TEXT NOT NULL,            -- JSON list of name ids in file order; "a3" AUXILIARY, "f3" FILTER
    rpath     INTEGER REFERENCES run_path, -- DT_RPATH
    runpath   INTEGER REFERENCES run_path, -- DT_RUNPATH
    flags     INTEGER NOT NULL,         -- DT_FLAGS
    flags_1   INTEGER NOT NULL,         -- DT_FLAGS_1
    audit     TEXT,                     -- DT_AUDIT
    depaudit  TEXT,                     -- DT_DEPAUDIT
    resolution BLOB,                    -- NixOS resolution note, raw
    closure   BLOB,                     -- stormlint closure note, raw
    problem   TEXT,                     -- why the file is malformed; NULL: it is not

    imports   INTEGER NOT NULL,         -- bits: 1 dlopen, 2 dlmopen, 4 dladdr, 8 dladdr1, 16 dlinfo, 32 dl_iterate_phdr, 64 JNI_OnLoad
    layout    INTEGER NOT NULL,         -- bits: enum layout of scanner/object.h, how the file is laid out
    tls_size  INTEGER NOT NULL,         -- PT_TLS, bytes in memory
    trailing  INTEGER NOT NULL,         -- bytes behind everything the headers describe
    load_align INTEGER NOT NULL,        -- largest p_align of a PT_LOAD
    spare_dynamic INTEGER NOT NULL,     -- DT_NULL entries behind the first
    origin_string INTEGER NOT NULL,     -- 1: a dlopen importer with $ORIGIN among its constants
    build_id  BLOB,                     -- GNU build id, raw
    verneed   TEXT,                     -- JSON list of [file, version, version, ...]; name ids, negative: weak
    verdef    TEXT,                     -- JSON list of name ids, negative: weak
    dlopen_note BLOB,                   -- FDO dlopen notes, each behind its length (4 bytes, little endian)
    dlopen_string TEXT                  -- soname-like constants of a dlopen importer: JSON list of name ids
) STRICT;

-- The objects that are programs, in their order.
CREATE INDEX program ON object (id, directory, name) WHERE interp IS NOT NULL;

-- Dynamic loader files: what they have compiled in.
CREATE TABLE ldso (
    object  INTEGER PRIMARY KEY REFERENCES object,
    libc    INTEGER NOT NULL,           -- 1 glibc, 2 musl, 3 neither
    version TEXT,                       -- '2.36'; NULL: cannot be told
    debian  INTEGER NOT NULL,           -- 1: carries Debian's patches
    normalises INTEGER NOT NULL,        -- 1: searches $ORIGIN of set-id programs normalised
    reads_note INTEGER NOT NULL,        -- reader of the resolution note: 0 none, 1 first patch, 2 second
    system_dirs TEXT NOT NULL,          -- ':'-separated, in search order
    cache   TEXT,                       -- cache file
    preload TEXT,                       -- preload file
    lib     TEXT,                       -- what $LIB stands for
    source  TEXT                        -- where the version was read
) STRICT;

-- Local: identity of objects that share their inode with other files. All others are alone.
CREATE TABLE inode (
    object INTEGER PRIMARY KEY REFERENCES object,
    dev    INTEGER NOT NULL,            -- st_dev
    ino    INTEGER NOT NULL             -- st_ino
) STRICT;

-- What was wrong with a file.
CREATE TABLE problem (
    package INTEGER NOT NULL REFERENCES package,
    path    TEXT NOT NULL,              -- below the package
    kind    TEXT NOT NULL CHECK (kind IN
            ('malformed',               -- the file is broken: a fact about it
             'unread')),                -- it could not be read: the index is incomplete
    text    TEXT NOT NULL               -- the reason
) STRICT;
CREATE INDEX problem_package ON problem (package);

------------------------------------------------------------------------------- loader: what it would do

-- One program's totals on one CPU in one scenario. Start-up and declared dlopens apart.
CREATE TABLE storm (
    program  INTEGER NOT NULL REFERENCES object,
    cpu      TEXT NOT NULL,             -- 'x86-64-v3', ...
    scenario TEXT NOT NULL,             -- '' the plain start; else what was set
    model    INTEGER NOT NULL,          -- version of the loader model that said so
    generation INTEGER NOT NULL,        -- of the index it was computed from
    outcome  TEXT NOT NULL,             -- 'ok', 'missing: NAME', ...
    assumed  INTEGER NOT NULL,          -- 1: it rests on assumptions; a trace names them
    opens    INTEGER NOT NULL,          -- calls, all of them
    failed_opens INTEGER NOT NULL,      -- those that failed
    stats    INTEGER NOT NULL,
    failed_stats INTEGER NOT NULL,
    others   INTEGER NOT NULL,          -- access and readlink
    failed_others INTEGER NOT NULL,
    objects  INTEGER NOT NULL,          -- loaded, program and loader included
    directories INTEGER NOT NULL,       -- distinct directories visited
    dlopen_opens INTEGER NOT NULL DEFAULT 0,
    dlopen_failed_opens INTEGER NOT NULL DEFAULT 0,
    dlopen_stats INTEGER NOT NULL DEFAULT 0,
    dlopen_failed_stats INTEGER NOT NULL DEFAULT 0,
    dlopen_objects INTEGER NOT NULL DEFAULT 0,
    dlopen_directories INTEGER NOT NULL DEFAULT 0,
    profile_assumed TEXT,               -- NULL, or what was assumed since its loader does not tell
    PRIMARY KEY (program, cpu, scenario)
) STRICT, WITHOUT ROWID;

------------------------------------------------------------------------------- views, for the shell

-- Every object with its whole path.
CREATE VIEW object_path AS
    SELECT o.id AS object, p.id AS package,
           s.path || '/' || p.base || iif(d.path = '', '', '/' || d.path) ||
           iif(o.name = '', '', '/' || o.name) AS path
    FROM object o JOIN directory d ON d.id = o.directory
    JOIN package p ON p.id = d.package JOIN store s ON s.id = p.store;

-- Programs by the calls that fail before main.
CREATE VIEW worst_offenders AS
    SELECT failed_opens + failed_stats AS failed, failed_opens, failed_stats, t.objects,
           directories, cpu, scenario, path AS program
    FROM storm t JOIN object_path ON object = program
    ORDER BY failed DESC, path;

-- Sonames that more than one package offers.
CREATE VIEW duplicate_sonames AS
    SELECT n.text AS soname, count(DISTINCT package) AS packages, min(path) AS first, max(path) AS last
    FROM object o JOIN name n ON n.id = o.soname JOIN object_path x ON x.object = o.id
    GROUP BY o.soname HAVING packages > 1
    ORDER BY packages DESC, soname;

-- Names needed that no object of the index offers, neither as soname nor as file name.
CREATE VIEW unresolved AS
    SELECT n.text AS needed, x.path AS object
    FROM object o, json_each(o.needed) w
    JOIN name n ON n.id = CAST(ltrim(w.value, 'af') AS INTEGER)
    JOIN object_path x ON x.object = o.id
    WHERE n.id NOT IN (SELECT soname FROM object WHERE soname IS NOT NULL)
      AND n.text NOT IN (SELECT name FROM object)
      AND instr(n.text, '/') = 0
    ORDER BY needed, object;
