/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The main() of test programs that use keys.
 */
#include "check.h"

#include <sodium.h>

int main(void)
{
	return sodium_init() < 0 ? 1 : run_all_tests();
}
