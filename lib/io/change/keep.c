/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "change/keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <sodium.h>

#include "change/replace.h"
#include "json/text_lines.h"

#define NEW_FILE   "new"
#define NAME_ROOM  64
#define HEAD_WORDS "// weir kept this; digest of what follows: "
#define DIGEST_LEN (2 * crypto_generichash_BYTES)

enum standing { TRIAL, GOOD };

static const char *const standings[] = {[TRIAL] = "trial", [GOOD] = "good"};

struct keep {
	int directory;
	struct keep_hooks hooks;
};

static void record_name(char name[NAME_ROOM], uint64_t number, enum standing standing)
{
	snprintf(name, NAME_ROOM, "%010" PRIu64 ".%s.json", number, standings[standing]);
}

/* Returns the number of a file of that standing, or 0. */
static uint64_t record_number(const char *name, enum standing standing)
{
	char *end, own[NAME_ROOM];
	uint64_t number = strtoull(name, &end, 10);

	if (end == name || name[0] < '0' || name[0] > '9')
		return 0;
	record_name(own, number, standing);
	return strcmp(own, name) == 0 ? number : 0;
}

void keep_step(const struct keep *keep)
{
	if (keep->hooks.step != NULL)
		keep->hooks.step(keep->hooks.context);
}

int keep_directory(const struct keep *keep)
{
	return keep->directory;
}

/* Creates the directory, and syncs its parent. */
static int make_keep_directory(const char *path, const struct keep *keep)
{
	char above[PATH_MAX];
	int fd, rc;

	keep_step(keep);
	if (mkdir(path, 0750) < 0)
		return errno == EEXIST ? 0 : -errno;
	snprintf(above, sizeof(above), "%s/..", path);
	fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = fsync(fd) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

int keep_open(const char *directory, const struct keep_hooks *hooks, struct keep **out)
{
	struct keep *keep = calloc(1, sizeof(*keep));
	int rc;

	*out = NULL;
	if (keep == NULL)
		return -ENOMEM;
	if (hooks != NULL)
		keep->hooks = *hooks;
	rc = make_keep_directory(directory, keep);
	keep->directory = rc == 0 ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (rc == 0 && keep->directory < 0)
		rc = -errno;
	if (rc == 0 && flock(keep->directory, LOCK_EX | LOCK_NB) < 0)
		rc = errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (rc < 0) {
		keep_close(keep);
		return rc;
	}
	*out = keep;
	return 0;
}

void keep_close(struct keep *keep)
{
	if (keep == NULL)
		return;
	if (keep->directory >= 0)
		close(keep->directory);
	free(keep);
}

static DIR *list_records(const struct keep *keep)
{
	int fd = openat(keep->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;

	if (list == NULL && fd >= 0) {
		close(fd);
		errno = ENOMEM;
	}
	return list;
}

/* Sets the highest number below a number. Returns 0, or a negative errno with *newest 0. */
static int newest_below(
	const struct keep *keep, enum standing standing, uint64_t below, uint64_t *newest)
{
	DIR *list = list_records(keep);
	int ret;

	*newest = 0;
	if (list == NULL)
		return -errno;
	errno = 0; /* readdir() reports an error only there */
	for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
		uint64_t number = record_number(entry->d_name, standing);

		if (number > *newest && number < below)
			*newest = number;
	}
	ret = -errno;
	closedir(list);
	if (ret)
		*newest = 0; /* a lower number would be used again */
	return ret;
}

uint64_t keep_good_below(const struct keep *keep, uint64_t number)
{
	uint64_t newest;

	newest_below(keep, GOOD, number, &newest);
	return newest;
}

uint64_t keep_unconfirmed(const struct keep *keep)
{
	uint64_t newest;

	newest_below(keep, TRIAL, UINT64_MAX, &newest);
	return newest;
}

int keep_file(const struct keep *keep, uint64_t number)
{
	char name[NAME_ROOM];
	int fd = -1;

	for (int standing = GOOD; fd < 0 && standing >= TRIAL; standing--) {
		record_name(name, number, (enum standing)standing);
		fd = openat(keep->directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd < 0 && errno != ENOENT)
			break;
	}
	return fd >= 0 ? fd : -errno;
}

static int read_record_text(int fd, char **text, size_t *len)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	*text = malloc((size_t)st.st_size + 1);
	if (*text == NULL)
		return -ENOMEM;
	for (*len = 0; *len < (size_t)st.st_size;) {
		ssize_t n = read(fd, *text + *len, (size_t)st.st_size - *len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		*len += (size_t)n;
	}
	(*text)[*len] = '\0';
	return 0;
}

/* Parses the second line and the configuration below it. */
static int parse_record_body(char *body, struct keep_record *record)
{
	char *end = strchr(body, '\n');

	if (end == NULL || strncmp(body, "// ", 3) != 0)
		return -EBADMSG;
	errno = 0;
	record->about = json_loadb(body + 3, (size_t)(end - body) - 3, 0, NULL);
	record->configuration = json_loads(end + 1, 0, NULL);
	if (json_is_object(record->about) && json_is_object(record->configuration))
		return 0;
	return errno == ENOMEM ? -ENOMEM : -EBADMSG;
}

static int parse_record(char *text, size_t len, struct keep_record *record)
{
	const size_t words = strlen(HEAD_WORDS), head = words + DIGEST_LEN + 1;
	unsigned char hash[crypto_generichash_BYTES];
	char digest[DIGEST_LEN + 1];

	if (len < head || memcmp(text, HEAD_WORDS, words) != 0 || text[head - 1] != '\n')
		return -EBADMSG;
	crypto_generichash(
		hash, sizeof(hash), (const unsigned char *)text + head, len - head, NULL, 0);
	sodium_bin2hex(digest, sizeof(digest), hash, sizeof(hash));
	if (memcmp(text + words, digest, DIGEST_LEN) != 0)
		return -EBADMSG;
	return parse_record_body(text + head, record);
}

int keep_read(const struct keep *keep, uint64_t number, struct keep_record *record)
{
	int fd = keep_file(keep, number), rc;
	char *text = NULL;
	size_t len = 0;

	*record = (struct keep_record){.number = number};
	if (fd < 0)
		return fd;
	rc = read_record_text(fd, &text, &len);
	if (rc == 0)
		rc = parse_record(text, len, record);
	if (rc < 0)
		keep_record_free(record);
	free(text);
	close(fd);
	return rc;
}

void keep_record_free(struct keep_record *record)
{
	json_decref(record->about);
	json_decref(record->configuration);
	*record = (struct keep_record){0};
}

/* A record as in its file, one part a line, except the last part, which has many lines. */
struct record_text {
	char head[sizeof(HEAD_WORDS) + DIGEST_LEN + 1];
	char *about, *body;
	struct iovec parts[6];
};

#define RECORD_PARTS (sizeof(((struct record_text *)NULL)->parts) / sizeof(struct iovec))

/* Writes the first part, which holds the digest of the others. */
static void make_head(struct record_text *text)
{
	unsigned char hash[crypto_generichash_BYTES];
	char digest[DIGEST_LEN + 1];
	crypto_generichash_state state;

	crypto_generichash_init(&state, NULL, 0, sizeof(hash));
	for (size_t i = 1; i < RECORD_PARTS; i++)
		crypto_generichash_update(&state, text->parts[i].iov_base, text->parts[i].iov_len);
	crypto_generichash_final(&state, hash, sizeof(hash));
	sodium_bin2hex(digest, sizeof(digest), hash, sizeof(hash));
	snprintf(text->head, sizeof(text->head), HEAD_WORDS "%s\n", digest);
	text->parts[0] = (struct iovec){text->head, strlen(text->head)};
}

static int make_record_text(
	struct record_text *text, const json_t *about, const json_t *configuration)
{
	static char slashes[] = "// ", end[] = "\n";
	size_t about_len = 0, body_len = 0;

	text->about = json_text_line(about, &about_len);
	text->body = json_text_lines(configuration, &body_len);
	if (text->about == NULL || text->body == NULL)
		return -ENOMEM;
	text->parts[1] = (struct iovec){slashes, strlen(slashes)};
	text->parts[2] = (struct iovec){text->about, about_len};
	text->parts[3] = (struct iovec){end, strlen(end)};
	text->parts[4] = (struct iovec){text->body, body_len};
	text->parts[5] = (struct iovec){end, strlen(end)};
	make_head(text);
	return 0;
}

static int sync_records(const struct keep *keep)
{
	keep_step(keep);
	return fsync(keep->directory) < 0 ? -errno : 0;
}

static int put_record(const struct keep *keep, const struct record_text *text, const char *name)
{
	const struct replacement file = {
		.directory = keep->directory,
		.name = name,
		.aside = NEW_FILE,
		.mode = 0640,
		.step = keep->hooks.step,
		.context = keep->hooks.context,
	};

	return replace_file(&file, text->parts, RECORD_PARTS);
}

int keep_write(
	struct keep *keep, const json_t *about, const json_t *configuration, uint64_t *number)
{
	struct record_text text;
	char name[NAME_ROOM];
	uint64_t good, trial;
	int rc = newest_below(keep, GOOD, UINT64_MAX, &good);

	*number = 0;
	if (rc == 0)
		rc = newest_below(keep, TRIAL, UINT64_MAX, &trial);
	if (rc < 0) /* the number could overwrite an existing record */
		return rc;
	*number = (good > trial ? good : trial) + 1;
	record_name(name, *number, TRIAL);
	rc = make_record_text(&text, about, configuration);
	if (rc == 0)
		rc = put_record(keep, &text, name);
	free(text.about);
	free(text.body);
	if (rc < 0) { /* the file exists if only the last sync failed */
		unlinkat(keep->directory, name, 0);
		*number = 0;
	}
	return rc;
}

/* Removes all but the newest KEEP_MOST. Ignores errors: the next call tries again. */
static void prune_records(const struct keep *keep)
{
	uint64_t number = UINT64_MAX;
	char name[NAME_ROOM];

	for (unsigned n = 0; n < KEEP_MOST && number > 0; n++)
		number = keep_good_below(keep, number);
	while (number > 0 && (number = keep_good_below(keep, number)) > 0) {
		record_name(name, number, GOOD);
		keep_step(keep);
		if (unlinkat(keep->directory, name, 0) < 0)
			break;
	}
}

/*
 * A file can be good already: a change applied the running configuration again, or an earlier
 * attempt failed after its rename.
 */
static int rename_to_good(const struct keep *keep, uint64_t number)
{
	char trial[NAME_ROOM], good[NAME_ROOM];

	record_name(trial, number, TRIAL);
	record_name(good, number, GOOD);
	keep_step(keep);
	if (renameat(keep->directory, trial, keep->directory, good) == 0)
		return 0;
	if (errno == ENOENT && faccessat(keep->directory, good, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	return -errno;
}

int keep_confirm(struct keep *keep, uint64_t number)
{
	int rc = rename_to_good(keep, number);

	if (rc == 0)
		rc = sync_records(keep);
	if (rc == 0)
		prune_records(keep);
	return rc;
}

int keep_forget(struct keep *keep, uint64_t number)
{
	char name[NAME_ROOM];

	record_name(name, number, TRIAL);
	keep_step(keep);
	if (unlinkat(keep->directory, name, 0) < 0)
		return errno == ENOENT ? 0 : -errno;
	return sync_records(keep);
}
