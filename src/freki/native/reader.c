/* Reads a page in one pass: where it leads and what it tells about itself, exactly as the tree of
 * the HTML parser would show it, without making the tree. Links and texts depend on the tree in a
 * few places only: what is inside of an anchor, what is raw text, what is ignored. So elements
 * that are open are kept, and nothing else. A page with markup that would move elements elsewhere
 * is given up, and its caller makes the tree.
 *
 * All memory is bounded: the open elements, a text, and the room for what was found, which the
 * caller gives. Time is linear in the length of the page. */

#include "modes.h"

/* Reads `length` bytes of UTF-8. Each room holds `size` bytes; `lengths` tells how many of each are
 * used. Gives 0 for a page that is not read here. */
int freki_read_page(const char *bytes, size_t length, char *names, char *anchors, size_t size,
                    size_t lengths[2]) {
  struct page page;
  struct found found;
  if (length >= UINT32_MAX / 4 || memchr(bytes, 0, length)) return 0;
  prepare_names();
  memset(&found, 0, sizeof found);
  found.names = (struct room){names, names, names + size};
  found.anchors = (struct room){anchors, anchors, anchors + size};
  page_start(&page, bytes, length, &found);
  if (setjmp(page.given_up)) {
    free(found.slots);
    return 0;
  }
  read_page(&page);
  lengths[0] = (size_t)(found.names.at - names);
  lengths[1] = (size_t)(found.anchors.at - anchors);
  free(found.slots);
  return 1;
}
