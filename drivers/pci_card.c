/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The PCI card of a port, from ROOT/sys ("": this machine's).
 */
#include "pci_card.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "eal_args.h"

/* Builds a path from the device's address, without its arguments. */
static int write_path(char path[PATH_MAX], const char *root, const char *device, const char *member)
{
	int len = snprintf(path, PATH_MAX, "%s/sys/bus/pci/devices/%.*s%s", root,
		(int)strcspn(device, ","), device, member);

	return len < PATH_MAX && device[0] >= '0' && strchr(device, '/') == NULL ? 0 : -1;
}

/* A new directory in sysfs has a new inode number. */
uint64_t pci_card_identity(const char *root, const char *device)
{
	char path[PATH_MAX];
	struct stat found;

	if (write_path(path, root, device, "") || stat(path, &found))
		return 0;
	return found.st_ino;
}

void pci_card_advise(const char *root, const char *device, FILE *out)
{
	char path[PATH_MAX], driver[PATH_MAX];
	int address = (int)strcspn(device, ",");
	const char *name;
	ssize_t len;

	if (device_is_vdev(device))
		return;
	if (pci_card_identity(root, device) == 0) {
		fprintf(out, ": there is no card at %.*s (lspci -D lists them)", address, device);
		return;
	}
	if (write_path(path, root, device, "/driver"))
		return;
	len = readlink(path, driver, sizeof(driver) - 1);
	driver[len > 0 ? len : 0] = 0;
	name = strrchr(driver, '/') ? strrchr(driver, '/') + 1 : driver;
	if (strcmp(name, "vfio-pci") == 0 || strstr(name, "uio"))
		return;
	fprintf(out, ": %s%s%s, bind it to vfio-pci: dpdk-devbind.py --bind=vfio-pci %.*s",
		*name ? "the kernel's " : "no driver", name, " has it", address, device);
}
