/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Key files of a configuration's gossip: the keyring from them, or the message; and new files.
 */
#include "check.h"
#include "scope.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <sodium.h>

#include "base/hash.h"
#include "secret/group_keys.h"
#include "secret/secret_file.h"

END_POINTER(roster_destroy, struct roster *)

#define MEMBERS 3
#define SELF    1

static char directory[] = "/tmp/weir-group-keys-XXXXXX";
static char said[1024];
static struct peer_config roster[MEMBERS];
static struct gossip_config gossip;

static char *path_in(const char *name, char *path)
{
	snprintf(path, 4096, "%s/%s", directory, name);
	return path;
}

/* Writes 32 equal bytes. */
static void put_secret(const char *name, uint8_t byte)
{
	char path[4096];
	FILE *file;
	int fd = open(path_in(name, path), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	file = fdopen(fd, "w");
	assert_non_null(file);
	for (unsigned i = 0; i < SECRET_BYTES; i++)
		fprintf(file, "%02x", byte);
	fputc('\n', file);
	assert_int_equal(fclose(file), 0);
}

static void public_of(uint8_t byte, uint8_t public_key[SECRET_BYTES])
{
	uint8_t secret[SECRET_BYTES];

	memset(secret, byte, sizeof(secret));
	assert_int_equal(crypto_scalarmult_base(public_key, secret), 0);
}

/* Sets keys one and two of the group; member i has the identity 0x10 + i. */
static void begin_gossip(unsigned n_keys, bool identity)
{
	memset(roster, 0, sizeof(roster));
	memset(&gossip, 0, sizeof(gossip));
	for (unsigned i = 0; i < MEMBERS; i++) {
		snprintf(roster[i].name, sizeof(roster[i].name), "member-%u", i);
		public_of((uint8_t)(0x10 + i), roster[i].public_key);
	}
	gossip.roster = roster;
	gossip.n_roster = MEMBERS;
	gossip.self = SELF;
	gossip.n_key_files = n_keys;
	path_in("one", gossip.key_files[0]);
	path_in("two", gossip.key_files[1]);
	if (identity)
		path_in("identity", gossip.identity_file);
	put_secret("one", 0xa1);
	put_secret("two", 0xa2);
	put_secret("identity", 0x10 + SELF);
}

static int load_keys(struct keyring **keyring)
{
	FILE *err = fmemopen(said, sizeof(said), "w");
	const struct complaint_sink to = complaint_sink_of(err);
	int ret;

	memset(said, 0, sizeof(said));
	ret = group_keys_load(&gossip, geteuid(), &to, keyring);
	fclose(err);
	return ret;
}

static void check_refused(int error, const char *expected)
{
	struct keyring *keyring = (struct keyring *)&gossip;

	assert_int_equal(load_keys(&keyring), error);
	assert_null(keyring);
	if (!strstr(said, expected))
		fail_msg("\"%s\", expected \"%s\"", said, expected);
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); /* one line */
}

TEST(test_plain)
{
	struct keyring *keyring = (struct keyring *)&gossip;

	begin_gossip(0, false);
	assert_int_equal(load_keys(&keyring), 0);
	assert_null(keyring);
	assert_string_equal(said, "");
}

TEST(test_loaded)
{
	uint8_t key[SECRET_BYTES];

	for (unsigned n = 1; n <= 2; n++)
		for (unsigned identity = 0; identity < 3; identity++) {
			struct keyring *keyring = NULL;

			begin_gossip(n, identity > 0);
			gossip.identities = identity == 2 ? IDENTITIES_OPTIONAL
							  : IDENTITIES_REQUIRED;
			assert_int_equal(load_keys(&keyring), 0);
			assert_string_equal(said, "");
			assert_non_null(keyring);
			memset(key, 0xa1, sizeof(key));
			assert_memory_equal(keyring_group(keyring, 0), key, sizeof(key));
			memset(key, 0xa2, sizeof(key));
			if (n == 1)
				assert_null(keyring_group(keyring, 1));
			else
				assert_memory_equal(keyring_group(keyring, 1), key, sizeof(key));
			assert_int_equal(keyring_has_identities(keyring), identity > 0);
			assert_int_equal(keyring_requires_identities(keyring), identity == 1);
			assert_int_equal(keyring_also(keyring) != 0, n == 2);
			keyring_destroy(keyring);
		}
}

TEST(test_refused)
{
	char text[512], hex[2 * SECRET_BYTES + 1], path[4096];
	uint8_t public_key[SECRET_BYTES];

	begin_gossip(1, false);
	unlink(path_in("one", path));
	check_refused(-ENOENT, "gossip.key_file: ");
	begin_gossip(2, false);
	unlink(path_in("one", path));
	check_refused(-ENOENT, "gossip.key_files[0]: ");
	begin_gossip(2, false);
	unlink(path_in("two", path));
	check_refused(-ENOENT, "gossip.key_files[1]: ");
	begin_gossip(2, false);
	put_secret("two", 0xa1);
	snprintf(text, sizeof(text),
		"gossip.key_files[1]: %s/two: the key that %s/one has, too: expected another one\n",
		directory, directory);
	check_refused(-EEXIST, text);
	begin_gossip(1, true);
	unlink(path_in("identity", path));
	check_refused(-ENOENT, "gossip.identity_file: ");
	begin_gossip(1, true);
	put_secret("identity", 0x12);
	public_of(0x12, public_key);
	snprintf(text, sizeof(text),
		"gossip.identity_file: %s/identity: its public key is %s: expected that of "
		"gossip.roster[1].public_key\n",
		directory, sodium_bin2hex(hex, sizeof(hex), public_key, sizeof(public_key)));
	check_refused(-EINVAL, text);
	begin_gossip(1, true);
	memset(roster[2].public_key, 0, sizeof(roster[2].public_key)); /* a point of low order */
	memset(roster[2].public_key, 0x01, 1);
	check_refused(-EINVAL, "gossip.roster: a public_key that is no X25519 key\n");
}

TEST(test_roster)
{
	ENDED_BY(roster_destroy_at) struct roster *made = NULL;

	begin_gossip(0, false);
	assert_int_equal(group_keys_roster(&gossip, &made), 0);
	for (unsigned i = 0; i < MEMBERS; i++)
		assert_int_equal(roster_find(made, name_hash(roster[i].name)), i);
}

/* Returns the line that `print` writes to standard output; it ends with a newline. */
static int printed_line(int (*print)(const char *path), const char *path, char *line, int room)
{
	FILE *out = tmpfile();
	int previous = dup(STDOUT_FILENO), ret;

	assert_non_null(out);
	fflush(stdout);
	assert_true(dup2(fileno(out), STDOUT_FILENO) >= 0);
	ret = print(path);
	fflush(stdout);
	assert_true(dup2(previous, STDOUT_FILENO) >= 0);
	close(previous);
	rewind(out);
	if (!fgets(line, room, out))
		line[0] = '\0';
	assert_int_equal(fgetc(out), EOF);
	fclose(out);
	return ret;
}

static void read_whole(const char *path, char text[128])
{
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	text[fread(text, 1, 127, file)] = '\0';
	fclose(file);
}

static void check_hex(const char *line)
{
	assert_int_equal(strlen(line), SECRET_DIGITS + 1);
	assert_int_equal(strspn(line, "0123456789abcdef"), SECRET_DIGITS);
	assert_string_equal(line + SECRET_DIGITS, "\n");
	assert_true(strspn(line, line + SECRET_DIGITS - 1) < SECRET_DIGITS);
}

TEST(test_new_key)
{
	char path[4096], first[128], second[128], nothing[128];
	struct stat st;

	assert_int_equal(printed_line(group_keys_new, NULL, first, sizeof(first)), 0);
	assert_int_equal(printed_line(group_keys_new, NULL, second, sizeof(second)), 0);
	check_hex(first);
	check_hex(second);
	assert_string_not_equal(first, second);
	path_in("new", path);
	assert_int_equal(printed_line(group_keys_new, path, nothing, sizeof(nothing)), 0);
	assert_string_equal(nothing, "");
	read_whole(path, first);
	check_hex(first);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(printed_line(group_keys_new, path, nothing, sizeof(nothing)), -EEXIST);
	read_whole(path, second);
	assert_string_equal(first, second);
	unlink(path);
}

/* The printed line is the public key of the file, then and later. */
TEST(test_new_identity)
{
	char path[4096], line[128], again[128], text[128], hex[SECRET_DIGITS + 1];
	uint8_t secret[SECRET_BYTES], public_key[SECRET_BYTES];

	path_in("mine", path);
	assert_int_equal(printed_line(group_keys_new_identity, path, line, sizeof(line)), 0);
	check_hex(line);
	read_whole(path, text);
	assert_int_equal(
		sodium_hex2bin(secret, sizeof(secret), text, SECRET_DIGITS, NULL, NULL, NULL), 0);
	crypto_scalarmult_base(public_key, secret);
	sodium_bin2hex(hex, sizeof(hex), public_key, sizeof(public_key));
	assert_memory_equal(line, hex, SECRET_DIGITS);
	assert_int_equal(printed_line(group_keys_show_identity, path, again, sizeof(again)), 0);
	assert_string_equal(again, line);
	assert_int_equal(
		printed_line(group_keys_new_identity, path, again, sizeof(again)), -EEXIST);
	assert_string_equal(again, "");
	unlink(path);
	/* A new identity is different. */
	assert_int_equal(printed_line(group_keys_new_identity, path, again, sizeof(again)), 0);
	assert_string_not_equal(again, line);
	unlink(path);
	assert_int_equal(
		printed_line(group_keys_show_identity, path, again, sizeof(again)), -ENOENT);
	assert_string_equal(again, "");
}

static int start_directory(void **state)
{
	return sodium_init() < 0 || !mkdtemp(directory);
}

static int remove_directory(void **state)
{
	static const char *const names[] = {"one", "two", "identity"};
	char path[4096];

	for (size_t i = 0; i < COUNT(names); i++)
		unlink(path_in(names[i], path));
	return rmdir(directory);
}

TEST_GROUP(start_directory, remove_directory)
