/* The elements that the rules of the tree know by name, and what each is to them. */
#ifndef FREKI_NAMES_H
#define FREKI_NAMES_H

#include <stdint.h>
#include <string.h>

/* How a start tag is taken in, where the page is in its body. */
enum kind {
  ORDINARY, BLOCK, HEADING, PRE, FORM, LI, DD, BUTTON, ANCHOR, FORMATTING, NOBR, OBJECT, TABLE,
  EMPTY, HEAD_EMPTY, INPUT, HR, RAW, SELECT, OPTION, RUBY_BASE, RUBY_TEXT, SVG, PART, HEAD, BODY,
  HTML, NOSCRIPT, STRANGE,
};

/* What an element is to those who look through the open ones; READ are those with attributes. */
enum { SPECIAL = 1, SCOPE = 2, IMPLIED = 4, BLOCK_END = 8, BREAKS_SVG = 16, READ = 32 };

/* STRANGE are those whose rules are long and whose pages are few: they take the tree. */
#define TAGS(TAG)                                                                                  \
  TAG(a, ANCHOR, READ) TAG(address, BLOCK, SPECIAL | BLOCK_END) TAG(applet, OBJECT, SPECIAL | SCOPE)  \
  TAG(area, EMPTY, SPECIAL | READ) TAG(article, BLOCK, SPECIAL | BLOCK_END)                               \
  TAG(aside, BLOCK, SPECIAL | BLOCK_END) TAG(b, FORMATTING, BREAKS_SVG)                            \
  TAG(base, HEAD_EMPTY, SPECIAL | READ) TAG(basefont, HEAD_EMPTY, SPECIAL)                                \
  TAG(bgsound, HEAD_EMPTY, SPECIAL) TAG(big, FORMATTING, BREAKS_SVG)                               \
  TAG(blockquote, BLOCK, SPECIAL | BLOCK_END | BREAKS_SVG) TAG(body, BODY, SPECIAL | BREAKS_SVG)   \
  TAG(br, EMPTY, SPECIAL | BREAKS_SVG) TAG(button, BUTTON, SPECIAL | BLOCK_END)                    \
  TAG(caption, PART, SPECIAL | SCOPE) TAG(center, BLOCK, SPECIAL | BLOCK_END | BREAKS_SVG)         \
  TAG(code, FORMATTING, BREAKS_SVG) TAG(col, PART, SPECIAL) TAG(colgroup, PART, SPECIAL)           \
  TAG(dd, DD, SPECIAL | IMPLIED | BREAKS_SVG) TAG(desc, ORDINARY, 0)                               \
  TAG(details, BLOCK, SPECIAL | BLOCK_END) TAG(dialog, BLOCK, BLOCK_END)                           \
  TAG(dir, BLOCK, SPECIAL | BLOCK_END) TAG(div, BLOCK, SPECIAL | BLOCK_END | BREAKS_SVG)           \
  TAG(dl, BLOCK, SPECIAL | BLOCK_END | BREAKS_SVG) TAG(dt, DD, SPECIAL | IMPLIED | BREAKS_SVG)     \
  TAG(em, FORMATTING, BREAKS_SVG) TAG(embed, EMPTY, SPECIAL | BREAKS_SVG)                          \
  TAG(fieldset, BLOCK, SPECIAL | BLOCK_END) TAG(figcaption, BLOCK, SPECIAL | BLOCK_END)            \
  TAG(figure, BLOCK, SPECIAL | BLOCK_END) TAG(font, FORMATTING, BREAKS_SVG)                        \
  TAG(footer, BLOCK, SPECIAL | BLOCK_END) TAG(foreignobject, ORDINARY, 0)                          \
  TAG(form, FORM, SPECIAL) TAG(frame, STRANGE, SPECIAL) TAG(frameset, STRANGE, SPECIAL)            \
  TAG(h1, HEADING, SPECIAL | BREAKS_SVG) TAG(h2, HEADING, SPECIAL | BREAKS_SVG)                    \
  TAG(h3, HEADING, SPECIAL | BREAKS_SVG) TAG(h4, HEADING, SPECIAL | BREAKS_SVG)                    \
  TAG(h5, HEADING, SPECIAL | BREAKS_SVG) TAG(h6, HEADING, SPECIAL | BREAKS_SVG)                    \
  TAG(head, HEAD, SPECIAL | BREAKS_SVG) TAG(header, BLOCK, SPECIAL | BLOCK_END)                    \
  TAG(hgroup, BLOCK, SPECIAL | BLOCK_END) TAG(hr, HR, SPECIAL | BREAKS_SVG)                        \
  TAG(html, HTML, SPECIAL | SCOPE | READ) TAG(i, FORMATTING, BREAKS_SVG) TAG(iframe, RAW, SPECIAL | READ)        \
  TAG(image, STRANGE, 0) TAG(img, EMPTY, SPECIAL | BREAKS_SVG | READ) TAG(input, INPUT, SPECIAL | READ)          \
  TAG(keygen, INPUT, SPECIAL) TAG(li, LI, SPECIAL | IMPLIED | BREAKS_SVG)                          \
  TAG(link, HEAD_EMPTY, SPECIAL | READ) TAG(listing, PRE, SPECIAL | BLOCK_END | BREAKS_SVG)               \
  TAG(main, BLOCK, SPECIAL | BLOCK_END) TAG(marquee, OBJECT, SPECIAL | SCOPE)                      \
  TAG(math, STRANGE, 0) TAG(menu, BLOCK, SPECIAL | BLOCK_END | BREAKS_SVG)                         \
  TAG(meta, HEAD_EMPTY, SPECIAL | BREAKS_SVG | READ) TAG(nav, BLOCK, SPECIAL | BLOCK_END)                 \
  TAG(nobr, NOBR, BREAKS_SVG) TAG(noembed, RAW, SPECIAL) TAG(noframes, RAW, SPECIAL)               \
  TAG(noscript, NOSCRIPT, SPECIAL) TAG(object, OBJECT, SPECIAL | SCOPE)                            \
  TAG(ol, BLOCK, SPECIAL | BLOCK_END | BREAKS_SVG) TAG(optgroup, OPTION, IMPLIED)                  \
  TAG(option, OPTION, IMPLIED) TAG(p, BLOCK, SPECIAL | IMPLIED | BREAKS_SVG)                       \
  TAG(param, EMPTY, SPECIAL) TAG(plaintext, STRANGE, SPECIAL)                                      \
  TAG(pre, PRE, SPECIAL | BLOCK_END | BREAKS_SVG) TAG(rb, RUBY_BASE, IMPLIED)                      \
  TAG(rp, RUBY_TEXT, IMPLIED) TAG(rt, RUBY_TEXT, IMPLIED) TAG(rtc, RUBY_BASE, IMPLIED)             \
  TAG(ruby, ORDINARY, BREAKS_SVG) TAG(s, FORMATTING, BREAKS_SVG) TAG(script, RAW, SPECIAL)         \
  TAG(search, BLOCK, SPECIAL | BLOCK_END) TAG(section, BLOCK, SPECIAL | BLOCK_END)                 \
  TAG(select, SELECT, SPECIAL | SCOPE | BLOCK_END) TAG(selectedcontent, STRANGE, 0)                \
  TAG(small, FORMATTING, BREAKS_SVG) TAG(source, EMPTY, SPECIAL) TAG(span, ORDINARY, BREAKS_SVG)   \
  TAG(strike, FORMATTING, BREAKS_SVG) TAG(strong, FORMATTING, BREAKS_SVG)                          \
  TAG(style, RAW, SPECIAL) TAG(sub, ORDINARY, BREAKS_SVG)                                          \
  TAG(summary, BLOCK, SPECIAL | BLOCK_END) TAG(sup, ORDINARY, BREAKS_SVG) TAG(svg, SVG, 0)         \
  TAG(table, TABLE, SPECIAL | SCOPE | BREAKS_SVG) TAG(tbody, PART, SPECIAL)                        \
  TAG(td, PART, SPECIAL | SCOPE) TAG(template, STRANGE, SPECIAL | SCOPE)                           \
  TAG(textarea, RAW, SPECIAL) TAG(tfoot, PART, SPECIAL) TAG(th, PART, SPECIAL | SCOPE)             \
  TAG(thead, PART, SPECIAL) TAG(title, RAW, SPECIAL) TAG(tr, PART, SPECIAL)                        \
  TAG(track, EMPTY, SPECIAL) TAG(tt, FORMATTING, BREAKS_SVG) TAG(u, FORMATTING, BREAKS_SVG)        \
  TAG(ul, BLOCK, SPECIAL | BLOCK_END | BREAKS_SVG) TAG(var, ORDINARY, BREAKS_SVG)                  \
  TAG(wbr, EMPTY, SPECIAL) TAG(xmp, RAW, SPECIAL)

#define TAG_NUMBER(name, kind, flags) tag_##name,
enum tag { tag_unknown, TAGS(TAG_NUMBER) TAG_COUNT };

#define TAG_ENTRY(name, kind, flags) {#name, sizeof #name - 1, kind, flags},
static const struct {
  char name[16];
  uint8_t length, kind, flags;
} tags[TAG_COUNT] = {{"", 0, ORDINARY, 0}, TAGS(TAG_ENTRY)};

#define SLOTS 512 /* four for each name, so that few meet another one's */
#define LONGEST_NAME 15

static uint8_t tag_slots[SLOTS];

static inline int is_same_name(const char *one, const char *other, size_t length) {
  for (size_t k = 0; k < length; k++) {
    unsigned char a = (unsigned char)one[k], b = (unsigned char)other[k];
    if (a != b && !((a | 32) == (b | 32) && (unsigned char)((a | 32) - 'a') < 26)) return 0;
  }
  return 1;
}

/* Where a name would be: the same for all ways to spell it. */
static inline unsigned slot_of(const char *name, size_t length) {
  uint64_t start = length;
  for (size_t k = 0; k < length && k < 8; k++)
    start ^= (uint64_t)((unsigned char)name[k] | 32) << 8 * k;
  return (unsigned)(start * UINT64_C(0x9E3779B97F4A7C15) >> 55) % SLOTS;
}

static void prepare_names(void) {
  if (tag_slots[slot_of("a", 1)]) return;
  for (unsigned tag = 1; tag < TAG_COUNT; tag++) {
    unsigned slot = slot_of(tags[tag].name, tags[tag].length);
    while (tag_slots[slot]) slot = (slot + 1) % SLOTS;
    tag_slots[slot] = (uint8_t)tag;
  }
}

/* The element of a name. */
static inline enum tag tag_of(const char *name, size_t length) {
  if (length > LONGEST_NAME) return tag_unknown;
  for (unsigned slot = slot_of(name, length); tag_slots[slot]; slot = (slot + 1) % SLOTS) {
    enum tag tag = tag_slots[slot];
    if (tags[tag].length == length && is_same_name(tags[tag].name, name, length)) return tag;
  }
  return tag_unknown;
}

#endif
