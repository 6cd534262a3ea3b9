/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The store's file: an SQLite database with a rollback journal.
 */
#include "store/db.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "store/sentinel.h"

#define FILE_NAME    "records"
#define JOURNAL_NAME "records-journal"
#define NEW_NAME     "records.new"

#define APPLICATION "1466263922" /* "Weir" */
#define VERSION     3

/* Kinds of rows below all kinds of records. */
#define HEAD_KIND  (-1)
#define OWNER_KIND (-2) /* holds struct db_owner */

/*
 * The journal file persists between commits, so its blocks exist when the disk is full. No mmap: a
 * damaged file can contain anything, and is checked.
 */
static const char settings[] = "PRAGMA locking_mode = EXCLUSIVE;"
			       "PRAGMA journal_mode = PERSIST;"
			       "PRAGMA synchronous = FULL;"
			       "PRAGMA mmap_size = 0;"
			       "PRAGMA temp_store = MEMORY;"
			       "PRAGMA cache_spill = OFF;"
			       "PRAGMA cell_size_check = ON;"
			       "PRAGMA trusted_schema = OFF;";

/* SQLite keeps the system's error in one of two places, depending on the call. */
static int io_error(sqlite3 *sqlite)
{
	int err = sqlite3_system_errno(sqlite);

	if (err == 0)
		sqlite3_file_control(sqlite, "main", SQLITE_FCNTL_LAST_ERRNO, &err);
	if (err == EFBIG || err == EDQUOT) /* RLIMIT_FSIZE, or the file system's largest file */
		return -ENOSPC;
	return err ? -err : -EIO;
}

/* Maps all other SQLite errors, such as a missing table, to -EBADMSG (damaged). */
static int errno_of_sqlite(sqlite3 *sqlite, int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_BUSY:
		return -EBUSY;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return io_error(sqlite);
	default:
		return -EBADMSG;
	}
}

static int execute_sql(struct db *db, const char *sql)
{
	return errno_of_sqlite(db->sqlite, sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL));
}

static int prepare_statement(struct db *db, const char *sql, sqlite3_stmt **statement)
{
	return errno_of_sqlite(
		db->sqlite, sqlite3_prepare_v2(db->sqlite, sql, -1, statement, NULL));
}

/*
 * Hashes a record with its kind and id as the key, so that a record in a wrong place is detected.
 */
static uint64_t record_siphash(int64_t kind, int64_t id, const void *record, size_t len)
{
	int64_t place[] = {kind, id};
	uint64_t sum;

	_Static_assert(sizeof(sum) == crypto_shorthash_BYTES, "one word");
	_Static_assert(sizeof(place) == crypto_shorthash_KEYBYTES, "two words");
	crypto_shorthash((uint8_t *)&sum, record, len, (const uint8_t *)place);
	return sum;
}

static int64_t seal_of_head(const struct db *db)
{
	uint64_t head[] = {
		db->epoch, db->recovering, db->commits, db->identity.high, db->identity.low};

	return (int64_t)(db->sum ^ record_siphash(HEAD_KIND, 0, head, sizeof(head)));
}

struct db_row {
	int64_t kind, id;
	const void *record;
	size_t len;
};

/* Returns the row of a `SELECT *` statement. SQLite returns NULL for an empty blob. */
static struct db_row db_row_at(sqlite3_stmt *statement)
{
	const void *record = sqlite3_column_blob(statement, 2);

	return (struct db_row){
		.kind = sqlite3_column_int64(statement, 0),
		.id = sqlite3_column_int64(statement, 1),
		.record = record ? record : "",
		.len = (size_t)sqlite3_column_bytes(statement, 2),
	};
}

static uint64_t row_checksum(sqlite3_stmt *statement)
{
	struct db_row row = db_row_at(statement);

	return record_siphash(row.kind, row.id, row.record, row.len);
}

static void close_file(struct db *db)
{
	sqlite3_close(db->sqlite);
	db->sqlite = NULL;
}

/* ---- writing */

/* Statements of one batch. */
struct db_puts {
	sqlite3_stmt *get, *put, *remove;
};

static void bind_place(sqlite3_stmt *statement, const struct db_row *row)
{
	sqlite3_bind_int64(statement, 1, row->kind);
	sqlite3_bind_int64(statement, 2, row->id);
}

/* Without a record, removes the row. */
static int put_row(struct db *db, const struct db_puts *puts, const struct db_row *row)
{
	sqlite3_stmt *change = row->record ? puts->put : puts->remove;
	int rc;

	bind_place(puts->get, row);
	rc = sqlite3_step(puts->get);
	if (rc == SQLITE_ROW)
		db->sum ^= row_checksum(puts->get);
	sqlite3_reset(puts->get);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return errno_of_sqlite(db->sqlite, rc);
	bind_place(change, row);
	if (row->record)
		sqlite3_bind_blob64(change, 3, row->record, row->len, SQLITE_STATIC);
	sqlite3_step(change);
	rc = sqlite3_reset(change);
	if (rc == SQLITE_OK && row->record)
		db->sum ^= record_siphash(row->kind, row->id, row->record, row->len);
	return errno_of_sqlite(db->sqlite, rc);
}

/* `owner` NULL keeps the owner's row. */
static int put_records(struct db *db, const struct batch *batch, const struct db_owner *owner)
{
	struct db_puts puts = {0};
	struct batch_record record;
	size_t offset = 0;
	int err = prepare_statement(
		db, "SELECT * FROM records WHERE kind = ? AND id = ?", &puts.get);

	if (err == 0)
		err = prepare_statement(db, "REPLACE INTO records VALUES (?, ?, ?)", &puts.put);
	if (err == 0)
		err = prepare_statement(
			db, "DELETE FROM records WHERE kind = ? AND id = ?", &puts.remove);
	while (err == 0 && batch_next(batch, &offset, &record))
		err = put_row(db, &puts,
			&(struct db_row){record.kind, (int64_t)record.id, record.at, record.len});
	if (err == 0 && owner)
		err = put_row(db, &puts, &(struct db_row){OWNER_KIND, 0, owner, sizeof(*owner)});
	sqlite3_finalize(puts.get);
	sqlite3_finalize(puts.put);
	sqlite3_finalize(puts.remove);
	return err;
}

/*
 * Counts the commit in the head. An unchanged row would not be written and could not show a disk
 * error.
 */
static int put_head(struct db *db)
{
	char sql[256];

	db->commits++;
	db->pending = (struct db_mark){db->commits, seal_of_head(db)};
	snprintf(sql, sizeof(sql),
		"UPDATE head SET epoch = %" PRIi64 ", commits = %" PRIi64 ", seal = %" PRIi64
		", identity_high = %" PRIi64 ", identity_low = %" PRIi64,
		(int64_t)db->epoch, (int64_t)db->commits, db->pending.seal,
		(int64_t)db->identity.high, (int64_t)db->identity.low);
	return execute_sql(db, sql);
}

/* True if no other process has changed, replaced or removed the file since our last commit. */
static bool is_as_left(const struct db *db)
{
	const struct stat *left = &db->left;
	struct stat is;

	return stat(db->path, &is) == 0 && is.st_ino == left->st_ino && is.st_dev == left->st_dev &&
	       is.st_size == left->st_size && is.st_ctim.tv_sec == left->st_ctim.tv_sec &&
	       is.st_ctim.tv_nsec == left->st_ctim.tv_nsec;
}

static int write_all(struct db *db, const struct batch *batch, const struct db_owner *owner)
{
	int err = execute_sql(db, "BEGIN");

	if (err == 0)
		err = put_records(db, batch, owner);
	if (err == 0)
		err = put_head(db);
	if (err == 0)
		err = execute_sql(db, "COMMIT");
	if (err)
		return err;
	db->last = db->pending;
	return stat(db->path, &db->left) ? -errno : 0;
}

/* ---- opening */

/* Selects the version if the file is a Weir store with intact pages, otherwise no row. */
static const char version_question[] =
	"SELECT user_version FROM pragma_application_id, pragma_user_version, pragma_quick_check"
	" WHERE application_id = " APPLICATION " AND quick_check = 'ok'";

static int check_version(struct db *db)
{
	sqlite3_stmt *statement;
	int version, rc, err = prepare_statement(db, version_question, &statement);

	if (err)
		return err;
	rc = sqlite3_step(statement);
	version = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	if (rc == SQLITE_DONE || (rc == SQLITE_ROW && version < 1))
		return -EBADMSG;
	if (rc == SQLITE_ROW && version != VERSION)
		return version < VERSION ? -ENODATA : -EPROTONOSUPPORT;
	return errno_of_sqlite(db->sqlite, rc);
}

static int get_head(struct db *db, int64_t *want)
{
	sqlite3_stmt *statement;
	int rc, err = prepare_statement(db,
			"SELECT epoch, recovering, commits, seal, identity_high, identity_low FROM head",
			&statement);

	if (err)
		return err;
	rc = sqlite3_step(statement);
	db->epoch = (uint64_t)sqlite3_column_int64(statement, 0);
	db->recovering = sqlite3_column_int(statement, 1);
	db->commits = (uint64_t)sqlite3_column_int64(statement, 2);
	*want = sqlite3_column_int64(statement, 3);
	db->identity.high = (uint64_t)sqlite3_column_int64(statement, 4);
	db->identity.low = (uint64_t)sqlite3_column_int64(statement, 5);
	sqlite3_finalize(statement);
	return rc == SQLITE_DONE ? -EBADMSG : errno_of_sqlite(db->sqlite, rc);
}

static int add_up(struct db *db)
{
	sqlite3_stmt *statement;
	int rc, err = prepare_statement(db, "SELECT * FROM records", &statement);

	if (err)
		return err;
	db->sum = 0;
	while ((rc = sqlite3_step(statement)) == SQLITE_ROW)
		db->sum ^= row_checksum(statement);
	sqlite3_finalize(statement);
	return errno_of_sqlite(db->sqlite, rc);
}

/* Checks that all records are present and unaltered. */
static int check_all(struct db *db)
{
	int64_t want = 0;
	int err = check_version(db);

	if (err == 0)
		err = get_head(db, &want);
	if (err == 0)
		err = add_up(db);
	if (err == 0 && seal_of_head(db) != want)
		err = -EBADMSG;
	db->found = (struct db_mark){db->commits, want};
	return err;
}

static int open_db_file(struct db *db, const char *path)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
	int rc = sqlite3_open_v2(path, &db->sqlite, flags, NULL);

	return rc ? errno_of_sqlite(db->sqlite, rc) : execute_sql(db, settings);
}

/* Files that SQLite or this room would open. Another type of file there could block the open. */
static int check_types(int dir)
{
	static const char *const names[] = {
		FILE_NAME, JOURNAL_NAME, "records-wal", "records-shm", NEW_NAME};
	struct stat st;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (fstatat(dir, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
			return -EMEDIUMTYPE;
	return 0;
}

/*
 * Opens and checks the file. SQLite would silently open a read-only file. On error the caller
 * closes it.
 */
static int open_checked(struct db *db)
{
	int err = check_types(db->dir);

	if (err == 0)
		err = access(db->path, R_OK | W_OK) ? -errno : open_db_file(db, db->path);

	return err ? err : check_all(db);
}

/* ---- making */

/* Creates the file with mode 0600, because SQLite would make it readable by others. */
static int make_empty(int dir)
{
	int flags = O_CREAT | O_TRUNC | O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = openat(dir, NEW_NAME, flags, S_IRUSR | S_IWUSR);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int make_tables(struct db *db, const char *path)
{
	char head[192];
	int err = open_db_file(db, path);

	snprintf(head, sizeof(head),
		"PRAGMA user_version = %d; INSERT INTO head VALUES (%" PRIi64 ", %d, 0, %" PRIi64
		", %" PRIi64 ", %" PRIi64 ")",
		VERSION, (int64_t)db->epoch, db->recovering, seal_of_head(db),
		(int64_t)db->identity.high, (int64_t)db->identity.low);
	if (err == 0)
		err = execute_sql(db,
			"PRAGMA journal_mode = MEMORY; BEGIN;"
			"PRAGMA application_id = " APPLICATION ";"
			"CREATE TABLE head (epoch INTEGER, recovering INTEGER, commits INTEGER,"
			" seal INTEGER, identity_high INTEGER, identity_low INTEGER);"
			"CREATE TABLE records (kind INTEGER, id INTEGER, record BLOB,"
			" PRIMARY KEY (kind, id)) WITHOUT ROWID");
	if (err == 0)
		err = execute_sql(db, head);
	if (err == 0)
		err = execute_sql(db, "COMMIT");
	close_file(db);
	return err;
}

static int lock_store_directory(const char *directory)
{
	int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	if (dir < 0)
		return -errno;
	if (flock(dir, LOCK_EX | LOCK_NB) == 0)
		return dir;
	err = errno == EWOULDBLOCK ? EBUSY : errno;
	close(dir);
	return -err;
}

static int name_file(char path[PATH_MAX], const char *directory, const char *name)
{
	return snprintf(path, PATH_MAX, "%s/%s", directory, name) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/*
 * Creates the directory and syncs its parent: a power failure would otherwise lose the directory's
 * name.
 */
static int make_store_directory(const char *directory)
{
	char path[PATH_MAX];
	int parent, err = name_file(path, directory, "..");

	if (err)
		return err;
	if (mkdir(directory, S_IRWXU))
		return errno == EEXIST ? 0 : -errno;
	parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0)
		return errno == EACCES ? 0 : -errno; /* writable and not readable */
	err = fsync(parent) ? -errno : 0;
	close(parent);
	return err;
}

/*
 * Makes the file under its temporary name, and renames it. Overwrites a leftover of an earlier
 * attempt. Removes a journal without a database: SQLite would apply it to the new file.
 */
static int make_in(int dir, const char *directory, uint64_t epoch, struct store_identity identity)
{
	struct db db = {.recovering = epoch > 0, .epoch = epoch, .identity = identity};
	char path[PATH_MAX];
	int err = name_file(path, directory, NEW_NAME);

	if (err)
		return err;
	if (faccessat(dir, FILE_NAME, F_OK, 0) == 0)
		return -EEXIST;
	unlinkat(dir, JOURNAL_NAME, 0);
	err = check_types(dir);
	if (err == 0)
		err = sentinel_remove(directory);
	if (err == 0)
		err = make_empty(dir);
	if (err == 0)
		err = make_tables(&db, path);
	if (err == 0 && renameat(dir, NEW_NAME, dir, FILE_NAME))
		err = -errno;
	if (err == 0)
		return fsync(dir) ? -errno : 0;
	unlinkat(dir, NEW_NAME, 0);
	return err;
}

int db_make(const char *directory, uint64_t epoch, struct store_identity identity)
{
	int dir, err = make_store_directory(directory);

	if (err)
		return err;
	dir = lock_store_directory(directory);
	if (dir < 0)
		return dir;
	err = make_in(dir, directory, epoch, identity);
	close(dir);
	return err;
}

/* ---- the owner of a store */

/* Reads the owner, or sets all zero for a store that was never opened. */
static int get_owner(struct db *db)
{
	sqlite3_stmt *statement;
	int rc, err = prepare_statement(db, "SELECT * FROM records WHERE kind = ?", &statement);

	db->owner = (struct db_owner){0};
	if (err)
		return err;
	sqlite3_bind_int64(statement, 1, OWNER_KIND);
	rc = sqlite3_step(statement);
	if (rc == SQLITE_ROW) {
		struct db_row row = db_row_at(statement);

		if (row.len == sizeof(db->owner))
			memcpy(&db->owner, row.record, row.len);
	}
	sqlite3_finalize(statement);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : errno_of_sqlite(db->sqlite, rc);
}

/* True if the store is at least as new as the sentinel's start, or as the start after it. */
static bool fits_sentinel(const struct db *db)
{
	const struct sentinel *sentinel = &db->sentinel;

	if (sentinel->sequence == 0)
		return true;
	return (sentinel->word == db->owner.word || sentinel->word == db->owner.previous) &&
	       db->commits >= sentinel->commits;
}

/* Checks that this is the newest state of the store, and of this machine. */
static int check_owner(struct db *db, const char *directory)
{
	uint64_t machine;
	int err = get_owner(db);

	if (err == 0)
		err = store_machine(&machine);
	if (err)
		return err;
	db->sentinel_error = sentinel_read(&db->sentinel, directory);
	if (db->sentinel_error == -EMFILE || db->sentinel_error == -ENFILE)
		return db->sentinel_error;
	if (!fits_sentinel(db))
		return -EILSEQ;
	return db->owner.machine && machine && db->owner.machine != machine ? -EXDEV : 0;
}

/*
 * Writes the sentinel. On error the store stays usable, but an older copy of it would go
 * undetected.
 */
static void write_sentinel(struct db *db, bool sync)
{
	db->sentinel_error = sentinel_write(&db->sentinel, db->commits, db->owner.word, sync);
}

/*
 * Commits a new random word with the epoch. The sentinel first has the word that becomes the
 * previous one: after a crash in between, it has one of the two. If it cannot be written, the
 * words stay.
 */
static int begin_start(struct db *db, uint64_t epoch)
{
	struct db_owner owner = {.previous = db->owner.word};
	struct batch none = {0};
	int err = store_machine(&owner.machine);

	if (err)
		return err;
	db->sentinel_missing = db->owner.word && db->sentinel.sequence == 0;
	while (owner.word == 0)
		randombytes_buf(&owner.word, sizeof(owner.word));
	if (db->owner.word)
		write_sentinel(db, true);
	if (db->owner.word && db->sentinel_error) {
		owner.word = db->owner.word;
		owner.previous = db->owner.previous;
	}
	if (owner.machine == 0)
		owner.machine = db->owner.machine;
	db->epoch = epoch;
	err = write_all(db, &none, &owner);
	if (err)
		return err;
	db->owner = owner;
	write_sentinel(db, true);
	return 0;
}

/* Opens the directory and its file for a call. db_close() is due if this returns 0. */
static int open_place(struct db *db, const char *directory)
{
	int err;

	*db = (struct db){.dir = lock_store_directory(directory)};
	if (db->dir < 0)
		return db->dir;
	err = name_file(db->path, directory, FILE_NAME);
	if (err)
		db_close(db);
	return err;
}

int db_open(struct db *db, const char *directory)
{
	int err = open_place(db, directory);

	if (err)
		return err;
	err = open_checked(db);
	if (err == 0)
		err = check_owner(db, directory);
	if (err == 0)
		err = begin_start(db, db->epoch + 1);
	if (err)
		db_close(db);
	return err;
}

int db_accept(const char *directory)
{
	struct db db;
	int err = open_place(&db, directory);

	if (err)
		return err;
	err = open_checked(&db);
	if (err == 0)
		err = get_owner(&db);
	if (err == 0)
		err = sentinel_read(&db.sentinel, directory);
	if (err == 0)
		err = begin_start(&db, db.epoch);
	if (err == 0)
		err = db.sentinel_error;
	db_close(&db);
	return err;
}

/*
 * Returns 0 for -EROFS of a writable file: a journal must be played back first, so it cannot be
 * checked.
 */
static int read_and_check(struct db *db, const char *directory)
{
	int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, rc, err;

	rc = sqlite3_open_v2(db->path, &db->sqlite, flags, NULL);
	err = errno_of_sqlite(db->sqlite, rc);
	if (err == 0)
		err = check_all(db);
	if (err == 0)
		err = check_owner(db, directory);
	return err == -EROFS ? 0 : err;
}

int db_look(const char *directory)
{
	struct db db;
	int err = open_place(&db, directory);

	if (err)
		return err;
	err = check_types(db.dir);
	if (err == 0 && access(db.path, R_OK | W_OK))
		err = -errno;
	if (err == 0)
		err = read_and_check(&db, directory);
	db_close(&db);
	return err;
}

void db_close(struct db *db)
{
	close_file(db);
	close(db->dir);
	db->dir = -1;
}

/*
 * Opens the file again after an error, or after another process has changed it. Its content must be
 * that of our last commit, or of the one that may have failed. Any other content belongs to another
 * start of the store. Keeps the epoch and the identity of this start.
 */
static int open_again(struct db *db)
{
	const struct db_mark last = db->last, pending = db->pending;
	struct store_identity identity = db->identity;
	uint64_t epoch = db->epoch;
	int err;

	close_file(db);
	err = open_checked(db);
	db->epoch = epoch;
	db->identity = identity;
	if (err)
		return err;
	if (db->found.commits == last.commits && db->found.seal == last.seal)
		return 0;
	return db->found.commits == pending.commits && db->found.seal == pending.seal ? 0 : -ESTALE;
}

int db_write(struct db *db, const struct batch *batch)
{
	int err = db->sqlite && is_as_left(db) ? 0 : open_again(db);

	if (err == 0)
		err = write_all(db, batch, NULL);
	if (err)
		close_file(db);
	else
		write_sentinel(db, false);
	return err;
}

/* `answer` is separate from `rc` because `each` can return any number. */
int db_each(struct db *db, uint8_t kind,
	int (*each)(void *context, uint64_t id, const void *record, size_t len), void *context)
{
	sqlite3_stmt *statement;
	int rc = SQLITE_DONE, answer = 0, err;

	if (!db->sqlite)
		return -EIO;
	err = prepare_statement(db, "SELECT * FROM records WHERE kind = ? ORDER BY id", &statement);
	if (err)
		return err;
	sqlite3_bind_int64(statement, 1, kind);
	while (answer >= 0 && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
		struct db_row row = db_row_at(statement);

		answer = each(context, (uint64_t)row.id, row.record, row.len);
	}
	sqlite3_finalize(statement);
	return answer < 0 ? answer : errno_of_sqlite(db->sqlite, rc);
}
