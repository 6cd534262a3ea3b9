/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The files of the page (page/), embedded in this program by page/embed.py.
 */
#ifndef WEIR_EXPORTER_PAGE_H
#define WEIR_EXPORTER_PAGE_H

#include <stddef.h>

struct page_file {
	const char *path, *type;
	const char *tag; /* ETag of its content */
	const unsigned char *bytes;
	size_t n;
};

/* Ends with a row without a path. */
extern const struct page_file page_files[];

#endif
