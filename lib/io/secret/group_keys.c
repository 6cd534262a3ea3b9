/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reads the keys of a configuration, checks them against its roster, and makes a keyring.
 */
#include "secret/group_keys.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <sodium.h>

#include "base/hash.h"
#include "secret/secret_file.h"

#define PLACE_MAX 64

/* Content of the files, in memory that is not swapped or dumped. */
struct group_secrets {
	uint8_t keys[KEYRING_GROUP_KEYS][DATAGRAM_KEY];
	uint8_t identity[DATAGRAM_KEY];
};

static int read_keys_of_group(struct group_secrets *secrets, const struct gossip_config *gossip,
	uid_t user, const struct complaint_sink *to)
{
	char found[2 * sizeof(gossip->key_files[0]) + 64];
	int ret = 0;

	for (unsigned i = 0; ret == 0 && i < gossip->n_key_files; i++) {
		char place[PLACE_MAX] = "gossip.key_file";

		if (gossip->n_key_files > 1)
			snprintf(place, sizeof(place), "gossip.key_files[%u]", i);
		ret = secret_file_read(&(struct secret_file){place, gossip->key_files[i], user, to},
			secrets->keys[i]);
	}
	if (ret || gossip->n_key_files < 2 ||
		sodium_memcmp(secrets->keys[0], secrets->keys[1], DATAGRAM_KEY) != 0)
		return ret;
	snprintf(found, sizeof(found), "%s: the key that %s has, too", gossip->key_files[1],
		gossip->key_files[0]);
	complaint_write(to,
		&(struct complaint){
			.place = "gossip.key_files[1]", .found = found, .expected = "another one"});
	return -EEXIST;
}

static int read_identity(struct group_secrets *secrets, const struct gossip_config *gossip,
	uid_t user, const struct complaint_sink *to)
{
	static const char place[] = "gossip.identity_file";
	char found[sizeof(gossip->identity_file) + 128], expected[64];
	char text[2 * DATAGRAM_KEY + 1];
	uint8_t public_key[DATAGRAM_KEY];
	int ret = secret_file_read(
		&(struct secret_file){place, gossip->identity_file, user, to}, secrets->identity);

	if (ret)
		return ret;
	crypto_scalarmult_base(public_key, secrets->identity);
	if (memcmp(public_key, gossip->roster[gossip->self].public_key, sizeof(public_key)) == 0)
		return 0;
	snprintf(found, sizeof(found), "%s: its public key is %s", gossip->identity_file,
		sodium_bin2hex(text, sizeof(text), public_key, sizeof(public_key)));
	snprintf(expected, sizeof(expected), "that of gossip.roster[%u].public_key", gossip->self);
	complaint_write(
		to, &(struct complaint){.place = place, .found = found, .expected = expected});
	return -EINVAL;
}

static uint8_t (*public_keys(const struct gossip_config *gossip))[DATAGRAM_KEY]
{
	uint8_t(*keys)[DATAGRAM_KEY] = calloc(gossip->n_roster, sizeof(*keys));

	for (unsigned i = 0; keys && i < gossip->n_roster; i++)
		memcpy(keys[i], gossip->roster[i].public_key, sizeof(*keys));
	return keys;
}

int group_keys_roster(const struct gossip_config *gossip, struct roster **out)
{
	uint32_t *ids = calloc(gossip->n_roster, sizeof(*ids));
	int ret;

	if (!ids)
		return -ENOMEM;
	for (unsigned i = 0; i < gossip->n_roster; i++)
		ids[i] = name_hash(gossip->roster[i].name);
	ret = roster_create(ids, gossip->n_roster, out);
	free(ids);
	return ret;
}

static int make_keyring(const struct group_secrets *secrets, const struct gossip_config *gossip,
	const struct complaint_sink *to, struct keyring **out)
{
	struct roster *roster = NULL;
	bool identity = gossip->identity_file[0] != '\0';
	uint8_t(*publics)[DATAGRAM_KEY] = identity ? public_keys(gossip) : NULL;
	struct keyring_params params = {.self = gossip->self,
		.n_keys = gossip->n_key_files,
		.keys = secrets->keys,
		.secret = identity ? secrets->identity : NULL,
		.publics = publics,
		.identities_optional = gossip->identities == IDENTITIES_OPTIONAL};
	int ret = identity && !publics ? -ENOMEM : group_keys_roster(gossip, &roster);

	params.roster = roster;
	if (ret == 0)
		ret = keyring_create(&params, out);
	roster_destroy(roster);
	free(publics);
	if (ret)
		complaint_write(to,
			&(struct complaint){.place = ret == -EINVAL ? "gossip.roster" : "gossip",
				.found = ret == -EINVAL ? "a public_key that is no X25519 key"
							: strerror(-ret)});
	return ret;
}

int group_keys_load(const struct gossip_config *gossip, uid_t user, const struct complaint_sink *to,
	struct keyring **out)
{
	struct group_secrets *secrets;
	int ret;

	*out = NULL;
	if (gossip->n_key_files == 0)
		return 0;
	secrets = sodium_malloc(sizeof(*secrets));
	if (!secrets)
		return -ENOMEM;
	ret = read_keys_of_group(secrets, gossip, user, to);
	if (ret == 0 && gossip->identity_file[0])
		ret = read_identity(secrets, gossip, user, to);
	if (ret == 0)
		ret = make_keyring(secrets, gossip, to, out);
	sodium_free(secrets);
	return ret;
}

/* Writes the file that an option of the command line names. */
static int write_named(const char *option, const char *path, const uint8_t secret[SECRET_BYTES])
{
	const struct complaint_sink to = complaint_sink_of(stderr);

	return secret_file_write(&(struct secret_file){option, path, geteuid(), &to}, secret);
}

static int print_hex(const uint8_t bytes[SECRET_BYTES])
{
	char text[SECRET_DIGITS + 1];
	int ret;

	sodium_bin2hex(text, sizeof(text), bytes, SECRET_BYTES);
	ret = puts(text) < 0 || fflush(stdout) ? -EIO : 0;
	sodium_memzero(text, sizeof(text));
	return ret;
}

int group_keys_new(const char *path)
{
	uint8_t key[SECRET_BYTES];
	int ret;

	randombytes_buf(key, sizeof(key));
	ret = path ? write_named("weir: --new-key", path, key) : print_hex(key);
	sodium_memzero(key, sizeof(key));
	return ret;
}

int group_keys_new_identity(const char *path)
{
	uint8_t secret[SECRET_BYTES], public_key[SECRET_BYTES];
	int ret;

	randombytes_buf(secret, sizeof(secret));
	crypto_scalarmult_base(public_key, secret);
	ret = write_named("weir: --new-identity", path, secret);
	sodium_memzero(secret, sizeof(secret));
	return ret ? ret : print_hex(public_key);
}

int group_keys_show_identity(const char *path)
{
	const struct complaint_sink to = complaint_sink_of(stderr);
	uint8_t secret[SECRET_BYTES], public_key[SECRET_BYTES];
	int ret = secret_file_read(
		&(struct secret_file){"weir: --public-key", path, secret_checked_user(), &to},
		secret);

	if (ret)
		return ret;
	crypto_scalarmult_base(public_key, secret);
	sodium_memzero(secret, sizeof(secret));
	return print_hex(public_key);
}

static_assert(SECRET_BYTES == DATAGRAM_KEY, "keys are files of one secret");
static_assert(CONFIG_KEY_FILES == KEYRING_GROUP_KEYS, "as many as can be held");
