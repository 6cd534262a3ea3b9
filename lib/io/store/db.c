/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "store/db.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#define FILE_NAME "records"
#define NEW_NAME  "records.new"

#define FIRST_MAP (UINT64_C(256) << 10)

#define MAGIC   UINT64_C(0x7765697273746f72) /* as a number: not read in the other byte order */
#define VERSION 1

#define KEY_LEN 5
#define SUM_LEN crypto_shorthash_BYTES

struct head {
	uint64_t magic;
	uint32_t version, blank;
	uint64_t epoch, sum;
};

static uint8_t head_key[1];

/* LMDB's own codes are negative, the system's positive. */
static int error_of(int rc)
{
	switch (rc) {
	case MDB_SUCCESS:
		return 0;
	case EFBIG: /* RLIMIT_FSIZE, or the file system's largest file */
	case EDQUOT:
	case MDB_MAP_FULL:
		return -ENOSPC;
	case MDB_NOTFOUND:
	case MDB_PAGE_NOTFOUND:
	case MDB_CORRUPTED:
	case MDB_VERSION_MISMATCH:
	case MDB_INVALID:
	case MDB_INCOMPATIBLE:
		return -EBADMSG;
	default:
		return rc > 0 ? -rc : -EIO;
	}
}

/* The key is the hash's: a record in another's place is as wrong as other bytes. */
static void checksum(const MDB_val *key, const uint8_t *record, size_t len, uint8_t sum[SUM_LEN])
{
	uint8_t place[crypto_shorthash_KEYBYTES] = {0};

	memcpy(place, key->mv_data, key->mv_size);
	crypto_shorthash(sum, record, len, place);
}

static int put(struct db *db, MDB_val *key, const void *record, size_t len)
{
	MDB_val value = {.mv_size = SUM_LEN + len};
	int rc = mdb_put(db->txn, db->dbi, key, &value, MDB_RESERVE);

	if (rc)
		return rc;
	memcpy((uint8_t *)value.mv_data + SUM_LEN, record, len);
	checksum(key, record, len, value.mv_data);
	return 0;
}

/* Turns a value into the record in it. */
static int check(const MDB_val *key, MDB_val *value)
{
	uint8_t *record = (uint8_t *)value->mv_data + SUM_LEN, sum[SUM_LEN];

	if (value->mv_size < SUM_LEN)
		return MDB_CORRUPTED;
	value->mv_size -= SUM_LEN;
	checksum(key, record, value->mv_size, sum);
	if (memcmp(sum, value->mv_data, SUM_LEN) != 0)
		return MDB_CORRUPTED;
	value->mv_data = record;
	return 0;
}

static void end_txn(struct db *db)
{
	if (db->cursor)
		mdb_cursor_close(db->cursor);
	db->cursor = NULL;
	if (db->txn)
		mdb_txn_abort(db->txn);
	db->txn = NULL;
}

static void close_env(struct db *db)
{
	end_txn(db);
	mdb_env_close(db->env);
	db->env = NULL;
}

/* What LMDB asserts of a file may be wrong of a damaged one. It would abort() after this. */
static void fall(MDB_env *env, const char *message)
{
	struct db *db = mdb_env_get_userctx(env);

	(void)message;
	longjmp(db->trap, 1);
}

/* One transaction, which is aborted unless `work` has committed it. */
static int transact(
	struct db *db, unsigned flags, int (*work)(struct db *db, void *context), void *context)
{
	int rc;

	if (setjmp(db->trap)) {
		close_env(db);
		return MDB_CORRUPTED;
	}
	rc = mdb_txn_begin(db->env, NULL, flags, &db->txn);
	if (rc) {
		db->txn = NULL;
		return rc;
	}
	rc = work(db, context);
	end_txn(db);
	return rc;
}

/* Whatever it answers, the transaction is over. */
static int commit(struct db *db)
{
	MDB_txn *txn = db->txn;

	db->txn = NULL;
	return mdb_txn_commit(txn);
}

static int put_head(struct db *db)
{
	struct head head = {MAGIC, VERSION, db->blank, db->epoch, db->sum};
	MDB_val key = {sizeof(head_key), head_key};

	return put(db, &key, &head, sizeof(head));
}

static int get_head(struct db *db)
{
	MDB_val key = {sizeof(head_key), head_key}, value;
	struct head head;
	int rc = mdb_get(db->txn, db->dbi, &key, &value);

	if (rc == 0)
		rc = check(&key, &value);
	if (rc)
		return rc;
	if (value.mv_size != sizeof(head))
		return MDB_VERSION_MISMATCH;
	memcpy(&head, value.mv_data, sizeof(head));
	if (head.magic != MAGIC || head.version != VERSION)
		return MDB_VERSION_MISMATCH;
	db->epoch = head.epoch;
	db->blank = head.blank;
	db->sum = head.sum;
	return 0;
}

static uint8_t *write_key(uint8_t key[KEY_LEN], uint8_t kind, uint32_t id)
{
	key[0] = kind;
	for (unsigned i = 1; i < KEY_LEN; i++)
		key[i] = (uint8_t)(id >> 8 * (KEY_LEN - 1 - i));
	return key;
}

static uint32_t id_of(const MDB_val *key)
{
	const uint8_t *at = key->mv_data;

	return (uint32_t)at[1] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 8 | at[4];
}

/* Of a value, as the head counts it. */
static uint64_t sum_of(const MDB_val *value)
{
	uint64_t sum = 0;

	if (value->mv_size >= sizeof(sum))
		memcpy(&sum, value->mv_data, sizeof(sum));
	return sum;
}

static int put_record(struct db *db, const struct batch_record *record)
{
	uint8_t bytes[KEY_LEN];
	MDB_val key = {KEY_LEN, write_key(bytes, record->kind, record->id)}, value;
	int rc = mdb_get(db->txn, db->dbi, &key, &value);

	if (rc == 0)
		db->sum ^= sum_of(&value);
	else if (rc != MDB_NOTFOUND)
		return rc;
	rc = put(db, &key, record->at, record->len);
	if (rc == 0)
		rc = mdb_get(db->txn, db->dbi, &key, &value);
	if (rc == 0)
		db->sum ^= sum_of(&value);
	return rc;
}

static int write_batch(struct db *db, void *context)
{
	const struct batch *batch = context;
	struct batch_record record;
	uint64_t before = db->sum;
	size_t offset = 0;
	int rc = 0;

	while (rc == 0 && batch_next(batch, &offset, &record))
		rc = put_record(db, &record);
	if (rc == 0)
		rc = put_head(db);
	if (rc == 0)
		rc = commit(db);
	if (rc)
		db->sum = before;
	return rc;
}

/* Blocks for all of it; where the file system cannot promise them, at least the length. */
static int reserve(int fd, uint64_t size)
{
	while (fallocate(fd, 0, 0, (off_t)size) != 0) {
		if (errno == EOPNOTSUPP)
			return ftruncate(fd, (off_t)size) ? errno : 0;
		if (errno != EINTR)
			return errno;
	}
	return 0;
}

/* The file's size first: a map beyond its end is a trap. */
static int resize(MDB_env *env, uint64_t size)
{
	int fd, rc = mdb_env_get_fd(env, &fd);

	if (rc == 0)
		rc = reserve(fd, size);
	return rc ? rc : mdb_env_set_mapsize(env, size);
}

/* By a half; or for what is put, its pages and those that it replaces, if that is more. */
static int grow(struct db *db, const struct batch *batch)
{
	MDB_envinfo info;
	uint64_t half, most = 2 * batch->len;
	int rc = mdb_env_info(db->env, &info);

	if (rc)
		return rc;
	half = info.me_mapsize / 2;
	return resize(db->env, info.me_mapsize + (half > most ? half : most));
}

/*
 * The file says how long it is: LMDB in its roots, we by never letting it be shorter. One that was
 * removed under its owner is written in vain.
 */
static int check_file(MDB_env *env)
{
	MDB_envinfo info;
	struct stat st;
	int fd, rc = mdb_env_get_fd(env, &fd);

	if (rc == 0)
		rc = mdb_env_info(env, &info);
	if (rc == 0 && fstat(fd, &st))
		rc = errno;
	if (rc)
		return rc;
	if (st.st_nlink == 0)
		return ENOENT;
	return (uint64_t)st.st_size < info.me_mapsize ? MDB_CORRUPTED : 0;
}

static int write_all(struct db *db, struct batch *batch)
{
	int rc = check_file(db->env);

	if (rc == 0)
		rc = transact(db, 0, write_batch, batch);
	while (rc == MDB_MAP_FULL) {
		rc = grow(db, batch);
		if (rc == 0)
			rc = transact(db, 0, write_batch, batch);
	}
	return rc;
}

/* One owner, and readers only while nothing is written: LMDB's own lock is for more than that. */
static int open_env(struct db *db, const char *path, uint64_t map)
{
	int rc = mdb_env_create(&db->env);

	if (rc)
		return rc;
	mdb_env_set_userctx(db->env, db);
	mdb_env_set_assert(db->env, fall);
	rc = mdb_env_set_mapsize(db->env, map); /* 0: what the file says */
	if (rc == 0)
		rc = mdb_env_open(db->env, path, MDB_NOSUBDIR | MDB_NOLOCK, S_IRUSR | S_IWUSR);
	if (rc)
		close_env(db);
	return rc;
}

/* Every record is what was put, and all of them are there. */
static int check_all(struct db *db)
{
	MDB_val key, value;
	uint64_t sum = 0;
	int rc = mdb_cursor_open(db->txn, db->dbi, &db->cursor);

	while (rc == 0) {
		rc = mdb_cursor_get(db->cursor, &key, &value, MDB_NEXT);
		if (rc || key.mv_size != KEY_LEN)
			continue;
		sum ^= sum_of(&value);
		rc = check(&key, &value);
	}
	if (rc != MDB_NOTFOUND)
		return rc;
	return sum == db->sum ? 0 : MDB_CORRUPTED;
}

/* The one database that is there without a name. */
static int open_dbi(struct db *db, void *context)
{
	int rc = mdb_dbi_open(db->txn, NULL, 0, &db->dbi);

	(void)context;
	if (rc == 0)
		rc = get_head(db);
	return rc ? rc : check_all(db);
}

static int make_dbi(struct db *db, void *context)
{
	int rc = mdb_dbi_open(db->txn, NULL, 0, &db->dbi);

	(void)context;
	if (rc == 0)
		rc = put_head(db);
	return rc ? rc : commit(db);
}

/* LMDB would take an empty file for a new one, and map what is shorter than its roots. */
static int look_at(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno;
	return S_ISREG(st.st_mode) && (uint64_t)st.st_size >= FIRST_MAP ? 0 : MDB_INVALID;
}

static int open_file(struct db *db)
{
	int rc = look_at(db->path);

	if (rc == 0)
		rc = open_env(db, db->path, 0);
	if (rc)
		return rc;
	rc = check_file(db->env);
	if (rc == 0)
		rc = transact(db, MDB_RDONLY, open_dbi, NULL);
	if (rc && db->env)
		close_env(db);
	return rc;
}

static int make_file(struct db *db, const char *path)
{
	int rc = open_env(db, path, FIRST_MAP);

	if (rc)
		return rc;
	rc = resize(db->env, FIRST_MAP);
	if (rc == 0)
		rc = transact(db, 0, make_dbi, NULL);
	if (db->env)
		close_env(db);
	return rc;
}

static int lock_directory(const char *directory)
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

/* A directory whose name is lost with the power is a store that is lost: so that is seen to. */
static int make_directory(const char *directory)
{
	char path[PATH_MAX];
	int parent, err = name_file(path, directory, "..");

	if (err)
		return err;
	if (mkdir(directory, S_IRWXU))
		return errno == EEXIST ? 0 : -errno;
	parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0)
		return errno == EACCES ? 0 : -errno; /* it may be written and not read */
	err = fsync(parent) ? -errno : 0;
	close(parent);
	return err;
}

/*
 * What an earlier attempt has left under the new name is no store. What is blank may have counted
 * starts before, but not one a second since 1970.
 */
static int make_in(int dir, const char *directory, bool blank)
{
	struct db db = {.blank = blank, .epoch = blank ? (uint64_t)time(NULL) : 0};
	char path[PATH_MAX];
	int err = name_file(path, directory, NEW_NAME);

	if (err)
		return err;
	if (faccessat(dir, FILE_NAME, F_OK, 0) == 0)
		return -EEXIST;
	unlinkat(dir, NEW_NAME, 0);
	err = error_of(make_file(&db, path));
	if (err == 0 && renameat(dir, NEW_NAME, dir, FILE_NAME))
		err = -errno;
	if (err == 0)
		return fsync(dir) ? -errno : 0;
	unlinkat(dir, NEW_NAME, 0);
	return err;
}

int db_make(const char *directory, bool blank)
{
	int dir, err = make_directory(directory);

	if (err)
		return err;
	dir = lock_directory(directory);
	if (dir < 0)
		return dir;
	err = make_in(dir, directory, blank);
	close(dir);
	return err;
}

static int count_epoch(struct db *db)
{
	struct batch none = {0};

	db->epoch++;
	return write_all(db, &none);
}

int db_open(struct db *db, const char *directory)
{
	int err;

	*db = (struct db){.dir = lock_directory(directory)};
	if (db->dir < 0)
		return db->dir;
	err = name_file(db->path, directory, FILE_NAME);
	if (err == 0)
		err = error_of(open_file(db));
	if (err == 0)
		err = error_of(count_epoch(db));
	if (err)
		db_close(db);
	return err;
}

void db_close(struct db *db)
{
	if (db->env)
		close_env(db);
	close(db->dir);
	db->dir = -1;
}

/*
 * When a root could not be written LMDB does not know which one counts, nor do we: what is on the
 * disk says so. The epoch stays what this start has counted.
 */
int db_write(struct db *db, struct batch *batch)
{
	uint64_t epoch = db->epoch;
	int rc = 0;

	if (!db->env)
		rc = open_file(db);
	db->epoch = epoch;
	if (rc == 0)
		rc = write_all(db, batch);
	if (rc && db->env)
		close_env(db);
	return error_of(rc);
}

struct walk {
	uint8_t kind;
	int (*each)(void *context, uint32_t id, const void *record, size_t len);
	void *context;
	int err;
};

/* `err` is of the walk, for `each` may answer with any number. */
static int walk_on(struct walk *walk, const MDB_val *key, MDB_val *value)
{
	int rc;

	if (key->mv_size != KEY_LEN)
		return 0;
	if (*(uint8_t *)key->mv_data != walk->kind)
		return MDB_NOTFOUND;
	rc = check(key, value);
	if (rc)
		return rc;
	walk->err = walk->each(walk->context, id_of(key), value->mv_data, value->mv_size);
	return walk->err < 0 ? MDB_NOTFOUND : 0;
}

static int walk(struct db *db, void *context)
{
	struct walk *walk = context;
	uint8_t bytes[KEY_LEN];
	MDB_val key = {KEY_LEN, write_key(bytes, walk->kind, 0)}, value;
	int rc = mdb_cursor_open(db->txn, db->dbi, &db->cursor);

	if (rc)
		return rc;
	rc = mdb_cursor_get(db->cursor, &key, &value, MDB_SET_RANGE);
	while (rc == 0) {
		rc = walk_on(walk, &key, &value);
		if (rc == 0)
			rc = mdb_cursor_get(db->cursor, &key, &value, MDB_NEXT);
	}
	return rc == MDB_NOTFOUND ? 0 : rc;
}

int db_each(struct db *db, uint8_t kind,
	int (*each)(void *context, uint32_t id, const void *record, size_t len), void *context)
{
	struct walk at = {.kind = kind, .each = each, .context = context};
	int rc;

	if (!db->env)
		return -EIO;
	rc = transact(db, MDB_RDONLY, walk, &at);
	return rc ? error_of(rc) : at.err < 0 ? at.err : 0;
}
