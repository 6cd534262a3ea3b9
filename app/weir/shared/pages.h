/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Arrays that grow in place, because workers hold pointers into them. They reserve address space
 * for the maximum, and take memory only for pages that are written. Control.
 *
 * The part in use at the start is in reserved huge pages, as far as it fills any, if EAL has them.
 * Later parts are in transparent huge pages, if the kernel makes any. A page takes memory at its
 * first write, which is control's: workers use only data that control has written.
 */
#ifndef WEIR_APP_PAGES_H
#define WEIR_APP_PAGES_H

#include <stddef.h>

#define PAGES_HUGE ((size_t)2 << 20)

/*
 * Returns zeroed memory, aligned to a page, or NULL if there is not enough. It is on a NUMA node if
 * there are several (SOCKET_ID_ANY: on any). `used`: bytes in use, from the start.
 */
void *pages_alloc(size_t bytes, size_t used, int socket);

/* Frees memory with the same `bytes` as in pages_alloc(). Does nothing for NULL. */
void pages_free(void *memory, size_t bytes);

#endif
