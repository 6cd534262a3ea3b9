/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The files of the page (page/), as page/embed.py has put them into this program.
 */
#ifndef WEIR_EXPORTER_PAGE_H
#define WEIR_EXPORTER_PAGE_H

#include <stddef.h>

struct page_file {
	const char *path, *type;
	const char *tag; /* of its content, for ETag */
	const unsigned char *bytes;
	size_t n;
};

/* A row without a path ends them. */
extern const struct page_file page_files[];

#endif
