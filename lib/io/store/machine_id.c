/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "store/machine_id.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include <sodium.h>

#define MACHINE_ID 32 /* hexadecimal digits, see machine-id(5) */

/* machine-id(5) requires a keyed hash in place of the ID. */
static const uint8_t key[crypto_generichash_KEYBYTES] = "machine of a weir store";

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
	crypto_generichash(hash, sizeof(hash), (const uint8_t *)id, sizeof(id), key, sizeof(key));
	for (size_t i = 0; i < sizeof(*machine); i++)
		*machine = *machine << 8 | hash[i];
	return 0;
}
