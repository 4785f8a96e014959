/* Reads a page in one pass: where it leads and what it tells about itself, exactly as the tree of
 * the HTML parser would show it, without making the tree. Links and texts depend on the tree in a
 * few places only: what is inside of an anchor, what is raw text, what is ignored. So elements
 * that are open are kept, and nothing else. A page with markup that would move elements elsewhere
 * is given up, and its caller makes the tree.
 *
 * All memory is bounded: the open elements, a text, and the room for what was found, which the
 * caller gives. Time is linear in the length of the page. */

#include "likeness.h"
#include "modes.h"

static int read_bytes(struct page *page, const char *bytes, size_t length, struct found *found,
                      struct words words) {
  if (length >= UINT32_MAX / 4 || memchr(bytes, 0, length)) return 0;
  prepare_names();
  page_start(page, bytes, length, found, words);
  volatile int is_read = 0;
  if (setjmp(page->given_up) == 0) {
    read_page(page);
    is_read = 1;
  }
  free(found->slots), free(found->old);
  return is_read;
}

/* Reads `length` bytes of UTF-8. Each room holds `size` bytes; `lengths` tells how many of each are
 * used. Gives 0 for a page that is not read here. */
int freki_read_page(const char *bytes, size_t length, char *names, char *anchors, size_t size,
                    size_t lengths[2]) {
  struct page page;
  struct found found;
  struct words none = {NULL, NULL, NULL, 0, 0, 0};
  memset(&found, 0, sizeof found);
  found.names = (struct room){names, names, names + size};
  found.anchors = (struct room){anchors, anchors, anchors + size};
  if (!read_bytes(&page, bytes, length, &found, none)) return 0;
  lengths[0] = (size_t)(found.names.at - names);
  lengths[1] = (size_t)(found.anchors.at - anchors);
  return 1;
}

/* Puts the words of a page of UTF-8 into a room of `size` bytes, and tells how many are used;
 * -1 for a page that is not read here. */
long freki_read_words(const char *bytes, size_t length, char *room, size_t size) {
  struct page page;
  struct found found;
  struct words words = {room, room, room + size, 1, 1, 0};
  memset(&found, 0, sizeof found);
  if (!read_bytes(&page, bytes, length, &found, words)) return -1;
  return (long)(page.words.at - room);
}
