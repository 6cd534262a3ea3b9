/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The linker takes this file for a test program without a main() of its own.
 */
#include "check.h"

int main(void)
{
	return run_all_tests();
}
