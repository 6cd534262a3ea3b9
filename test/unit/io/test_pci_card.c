/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * PCI cards in the sysfs of a machine, which the test builds from directories.
 */
#include "check.h"
#include "scope.h"

#include <sys/stat.h>

#include "pci_card.h"

#define CARD "0000:03:00.0"

static char root[] = "/tmp/weir-pci-XXXXXX";

static void make(const char *path)
{
	char whole[256];

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	assert_int_equal(mkdir(whole, 0755), 0);
}

static int begin(void **state)
{
	static const char *const parts[] = {
		"/sys", "/sys/bus", "/sys/bus/pci", "/sys/bus/pci/devices"};

	if (!mkdtemp(root))
		return -1;
	for (size_t i = 0; i < COUNT(parts); i++)
		make(parts[i]);
	return 0;
}

static int end(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static void put_card(const char *driver)
{
	char path[256];

	make("/sys/bus/pci/devices/" CARD);
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/" CARD "/driver", root);
	if (driver)
		assert_int_equal(symlink(driver, path), 0);
}

static void take_card(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/" CARD "/driver", root);
	unlink(path);
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/" CARD, root);
	assert_int_equal(rmdir(path), 0);
}

TEST(identity)
{
	uint64_t card;

	assert_int_equal(pci_card_identity(root, CARD), 0);
	put_card(NULL);
	card = pci_card_identity(root, CARD);
	assert_true(card != 0);
	assert_true(pci_card_identity(root, CARD ",promisc=1") == card);
	assert_int_equal(pci_card_identity(root, "0000:03:00.1"), 0);
	assert_int_equal(pci_card_identity(root, "net_null0"), 0);
	assert_int_equal(pci_card_identity(root, ""), 0);
	take_card();
	assert_int_equal(pci_card_identity(root, CARD), 0);
}

static void expect_advice(const char *device, const char *words)
{
	ENDED_BY(free_at) char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	pci_card_advise(root, device, out);
	fclose(out);
	assert_string_equal(text, words);
}

TEST(advice)
{
	static const struct {
		const char *driver, *words;
	} rows[] = {
		{NULL, ": no driver has it, bind it to vfio-pci: dpdk-devbind.py --bind=vfio-pci " CARD},
		{"../drivers/e1000e", ": the kernel's e1000e has it, bind it to vfio-pci: "
				      "dpdk-devbind.py --bind=vfio-pci " CARD},
		{"../drivers/vfio-pci", ""},
		{"../drivers/uio_pci_generic", ""},
		{"../drivers/igb_uio", ""},
	};

	expect_advice("net_null0", "");
	expect_advice("xdp:eth1", "");
	expect_advice(CARD ",x=1", ": there is no card at " CARD " (lspci -D lists them)");
	for (size_t i = 0; i < COUNT(rows); i++) {
		put_card(rows[i].driver);
		expect_advice(CARD ",x=1", rows[i].words);
		take_card();
	}
}

TEST_GROUP(begin, end)
