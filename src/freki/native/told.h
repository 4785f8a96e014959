/* The elements that say something: what of them is kept. */
#ifndef FREKI_TOLD_H
#define FREKI_TOLD_H

#include "found.h"

static int holds(struct value value, const char *word) {
  size_t length = strlen(word);
  for (const char *at = value.at; value.at && (size_t)(value.end - at) >= length; at++)
    if (is_same_name(at, word, length)) return 1;
  return 0;
}

/* Is it what it looks like? Else it may be a word that matters, spelled otherwise. */
static int is_plain(struct value value) {
  for (const char *at = value.at; at < value.end; at++)
    if (*at == '&' || (unsigned char)*at >= 0x80) return 0;
  return 1;
}

static int is_word(struct value value, const char *word) {
  size_t length = strlen(word);
  if (!value.at) return 0;
  return (size_t)(value.end - value.at) == length && is_same_name(value.at, word, length);
}

static void found_meta(struct page *page, const struct value *values) {
  struct value none = {NULL, NULL}, equiv = values[HTTP_EQUIV], name = values[NAME];
  if (equiv.at && (is_word(equiv, "refresh") || !is_plain(equiv)))
    tell(page, "refresh", equiv, values[CONTENT], values[REL]);
  if (name.at && (is_word(name, "robots") || is_word(name, "freki") ||
                  is_word(name, "description") || !is_plain(name)))
    tell(page, "meta", name, values[CONTENT], none);
}

static void found_link(struct page *page, const struct value *values) {
  struct value rel = values[REL];
  int follows = rel.at && (!is_plain(rel) || holds(rel, "canonical") || holds(rel, "alternate") ||
                           holds(rel, "next") || holds(rel, "prev"));
  if (follows && values[HREF].at) tell(page, "link", rel, values[HREF], rel);
}

static void found_telling(struct page *page, const struct token *token) {
  struct found *found = page->found;
  const struct value *values = token->values;
  struct value none = {NULL, NULL};
  if (++found->telling > MAX_TELLING) give_up(page);
  switch (token->tag) {
    case tag_base:
      if (!values[HREF].at || found->base.at) break;
      if (found->has_noscript) give_up(page); /* it may stand in there, where it is none */
      found->base = values[HREF];
      break;
    case tag_link: found_link(page, values); break;
    case tag_meta: found_meta(page, values); break;
    case tag_iframe:
      if (values[SRC].at) tell(page, "frame", none, values[SRC], values[REL]);
      break;
    default: break;
  }
}

static void found_title(struct page *page, const char *at, const char *end) {
  struct found *found = page->found;
  struct text text;
  if (found->has_title) return;
  found->has_title = 1;
  text_start(&text, MAX_TITLE);
  text_add(&text, at, end, 0, 1);
  if (text.is_broken) give_up(page);
  found->title_length = text_collapse(&text, MAX_TITLE, found->title);
}

/* Where an anchor leads; drawings have their own way to say it. */
static struct value address_of(const struct value *values) {
  return values[HREF].at ? values[HREF] : values[XLINK_HREF];
}

/* An anchor begins, before it is among the open elements. */
static void anchor_opened(struct page *page, const struct token *token) {
  struct anchor *anchor = &page->anchor;
  if (anchor->is_open || page->found->anchor_count >= MAX_KNOWN) give_up(page);
  page->found->anchor_count++;
  memset(anchor, 0, sizeof *anchor);
  anchor->is_open = 1;
  anchor->depth = page->depth;
  anchor->is_kept = put_address(page, address_of(token->values));
  if (!anchor->is_kept) return;
  anchor->title = token->values[TITLE];
  anchor->rel = token->values[REL];
  text_start(&page->text, MAX_TEXT);
}

static void anchor_closed(struct page *page) {
  struct anchor *anchor = &page->anchor;
  struct room *room = &page->found->anchors;
  anchor->is_open = 0;
  if (!anchor->is_kept) return;
  char *start = room->at;
  put_text(page, room, &page->text, MAX_TEXT);
  if (room->at == start) put_collapsed(page, room, anchor->title);
  if (room->at == start) put_collapsed(page, room, anchor->picture);
  end_field(page, room);
  put_field(page, room, anchor->rel);
}

static void found_area(struct page *page, const struct value *values) {
  struct room *room = &page->found->anchors;
  if (page->anchor.is_open || page->found->anchor_count >= MAX_KNOWN) give_up(page);
  page->found->anchor_count++;
  if (!put_address(page, address_of(values))) return;
  put_collapsed(page, room, values[ALT]);
  end_field(page, room);
  put_field(page, room, values[REL]);
}

static void found_picture(struct page *page, const struct token *token) {
  struct anchor *anchor = &page->anchor;
  if (!anchor->is_open || anchor->has_picture) return;
  anchor->has_picture = 1;
  anchor->picture = token->values[ALT];
}


static void raw_element(struct page *page, const struct token *token) {
  const char *start = page->at;
  const char *end = token->tag == tag_script ? script_end(start, page->end)
                                             : raw_end(token, start, page->end);
  if (page->anchor.is_open) give_up(page); /* its text would be that of the anchor */
  if (token->tag == tag_title || token->tag == tag_iframe) found_telling(page, token);
  if (token->tag == tag_title) found_title(page, start, end);
  text_ended(page);
  if (page->words.is_wanted && (token->tag == tag_textarea || token->tag == tag_xmp))
    add_words(page, start, end, token->tag == tag_textarea);
  text_ended(page);
  struct token closing;
  page->at = end;
  if (end == page->end) return;
  const char *behind = read_tag(end + 2, page->end, &closing);
  page->at = behind ? behind : page->end;
}

#endif
