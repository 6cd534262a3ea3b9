/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The sentinel of a store: a file next to the store's directory with the number of commits and the
 * random word of the newest start.
 */
#include "store/sentinel.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#define MACHINE_ID 32 /* hexadecimal digits, see machine-id(5) */

/* machine-id(5) requires a keyed hash in place of the ID. */
static const uint8_t machine_key[crypto_generichash_KEYBYTES] = "machine of a weir store";

int store_machine(uint64_t *machine)
{
	uint8_t hash[crypto_generichash_BYTES];
	char id[MACHINE_ID];
	int fd = open("/etc/machine-id", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	*machine = 0;
	if (fd < 0)
		return errno == EMFILE || errno == ENFILE ? -errno : 0;
	n = read(fd, id, sizeof(id));
	close(fd);
	if (n != MACHINE_ID)
		return 0;
	crypto_generichash(hash, sizeof(hash), (const uint8_t *)id, sizeof(id), machine_key,
		sizeof(machine_key));
	for (size_t i = 0; i < sizeof(*machine); i++)
		*machine = *machine << 8 | hash[i];
	return 0;
}

#define SLOTS      2
#define SLOT_BYTES 4096                         /* no single disk write is in both slots */
#define VERSION    UINT64_C(0x5745495253454e31) /* "WEIRSEN1" */

struct sentinel_slot {
	uint64_t version, sequence, commits, word, checksum;
};

static uint64_t slot_checksum(const struct sentinel_slot *slot)
{
	static const uint8_t key[crypto_shorthash_KEYBYTES] = "sentinel";
	uint64_t sum;

	crypto_shorthash((uint8_t *)&sum, (const uint8_t *)slot,
		offsetof(struct sentinel_slot, checksum), key);
	return sum;
}

static int name_sentinel(char path[PATH_MAX], const char *directory)
{
	int len = (int)strlen(directory);

	while (len > 1 && directory[len - 1] == '/')
		len--;
	return snprintf(path, PATH_MAX, "%.*s.sentinel", len, directory) < PATH_MAX ? 0
										    : -ENAMETOOLONG;
}

/* Opens a regular file only, and never waits. */
static int open_sentinel(const char *path, int flags)
{
	int fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, S_IRUSR | S_IWUSR), err;
	struct stat st;

	if (fd < 0)
		return -errno;
	err = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (err == 0)
		return fd;
	close(fd);
	return err;
}

int sentinel_read(struct sentinel *sentinel, const char *directory)
{
	int err = name_sentinel(sentinel->path, directory), fd;

	sentinel->sequence = 0;
	if (err)
		return err;
	fd = open_sentinel(sentinel->path, O_RDONLY);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	for (unsigned i = 0; i < SLOTS; i++) {
		struct sentinel_slot slot;

		if (pread(fd, &slot, sizeof(slot), i * SLOT_BYTES) != sizeof(slot) ||
			slot.version != VERSION || slot.checksum != slot_checksum(&slot) ||
			slot.sequence <= sentinel->sequence)
			continue;
		sentinel->sequence = slot.sequence;
		sentinel->commits = slot.commits;
		sentinel->word = slot.word;
	}
	close(fd);
	return 0;
}

/* Makes the name of a new file durable. */
static int sync_parent(const char *path)
{
	char above[PATH_MAX];
	const char *slash = strrchr(path, '/');
	int fd, err;

	snprintf(above, sizeof(above), "%.*s", slash ? (int)(slash - path) + 1 : 1,
		slash ? path : ".");
	fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES ? 0 : -errno; /* writable, not readable: cannot sync it */
	err = fsync(fd) ? -errno : 0;
	close(fd);
	return err;
}

int sentinel_write(struct sentinel *sentinel, uint64_t commits, uint64_t word, bool sync)
{
	struct sentinel_slot slot = {VERSION, sentinel->sequence + 1, commits, word, 0};
	int fd = open_sentinel(sentinel->path, O_WRONLY | O_CREAT), err = 0;
	off_t at = (off_t)(slot.sequence % SLOTS * SLOT_BYTES);
	ssize_t n;

	if (fd < 0)
		return fd;
	slot.checksum = slot_checksum(&slot);
	n = pwrite(fd, &slot, sizeof(slot), at);
	if (n != sizeof(slot))
		err = n < 0 ? -errno : -ENOSPC;
	if (err == 0 && sync && fdatasync(fd))
		err = -errno;
	close(fd);
	if (err == 0 && sentinel->sequence == 0)
		err = sync_parent(sentinel->path);
	if (err)
		return err;
	sentinel->sequence++;
	sentinel->commits = commits;
	sentinel->word = word;
	return 0;
}

int sentinel_remove(const char *directory)
{
	char path[PATH_MAX];
	int err = name_sentinel(path, directory);

	if (err)
		return err;
	if (unlink(path))
		return errno == ENOENT ? 0 : -errno;
	return sync_parent(path);
}
