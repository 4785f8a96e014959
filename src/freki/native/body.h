/* The rules of a page's body, 13.2.6.4.7, and of drawings in it, 13.2.6.5. */
#ifndef FREKI_BODY_H
#define FREKI_BODY_H

#include "tables.h"

/* --- drawings --- */

static void svg_start(struct page *page, struct token *token) {
  struct open *open = top(page);
  int is_html = open->tag == tag_title || open->tag == tag_desc || open->tag == tag_foreignobject;
  switch (token->tag) {
    case tag_base: case tag_link: case tag_iframe: case tag_frame: case tag_area: case tag_font:
    case tag_math: case tag_template: case tag_style: case tag_script: give_up(page);
    default: break;
  }
  if (is_html || (tags[token->tag].flags & BREAKS_SVG)) give_up(page);
  if (token->tag == tag_title && ++page->found->telling > MAX_TELLING) give_up(page);
  if (token->tag == tag_a) anchor_opened(page, token);
  push_named(page, token->tag, 1, token->name, token->length);
  if (token->closes_itself) pop(page);
}

static void svg_end(struct page *page, const struct token *token) {
  if (token->tag == tag_p || token->tag == tag_br) give_up(page);
  int k = page->depth - 1;
  for (; page->open[k].is_svg; k--)
    if (page->open[k].length == token->length &&
        is_same_name(page->open[k].name, token->name, token->length))
      break;
  if (!page->open[k].is_svg) give_up(page);
  while (page->depth > k) pop(page);
}

/* --- start tags --- */

static void list_item(struct page *page, enum tag one, enum tag other) {
  for (int k = page->depth - 1; k > 0; k--) {
    enum tag open = page->open[k].tag;
    if (open == one || open == other) {
      close_until(page, open);
      break;
    }
    if ((tags[open].flags & SPECIAL) && open != tag_address && open != tag_div && open != tag_p) break;
  }
  close_p(page);
}

static void table_opened(struct page *page) {
  if (page->quirks != QUIRKS && in_button_scope(page, tag_p)) {
    if (page->quirks == UNKNOWN_QUIRKS) give_up(page);
    close_until(page, tag_p);
  }
  push(page, tag_table);
  page->mode = IN_TABLE;
}

static void option_opened(struct page *page, enum tag tag) {
  if (in_scope(page, tag_select)) close_implied(page, tag == tag_option ? tag_optgroup : tag_unknown);
  else if (top(page)->tag == tag_option) pop(page);
  reconstruct(page);
  push(page, tag);
}

static void anchor_start(struct page *page, const struct token *token) {
  for (int k = page->listed - 1; k >= 0 && page->list[k].tag; k--) {
    if (page->list[k].tag != tag_a) continue;
    end_formatting(page, tag_a);
    break;
  }
  reconstruct(page);
  anchor_opened(page, token);
  list_formatting(page, tag_a);
}

static void select_opened(struct page *page) {
  if (in_scope(page, tag_select)) {
    pop_until(page, tag_select);
    return;
  }
  reconstruct(page);
  push(page, tag_select);
}

static void form_opened(struct page *page) {
  if (page->form) return;
  close_p(page);
  push(page, tag_form);
  page->form = top(page)->number = ++page->numbered;
}

static void empty_element(struct page *page, const struct token *token) {
  reconstruct(page);
  text_ended(page);
  if (token->tag == tag_area) found_area(page, token->values);
  if (token->tag == tag_img) found_picture(page, token);
}

static void body_start(struct page *page, struct token *token) {
  enum tag tag = token->tag;
  switch ((enum kind)tags[tag].kind) {
    case BLOCK:
      close_p(page), push(page, tag);
      return;
    case PRE:
      if (page->anchor.is_open) give_up(page); /* a first end of line is no text */
      close_p(page), push(page, tag);
      return;
    case HEADING:
      close_p(page);
      if (tags[top(page)->tag].kind == HEADING) pop(page);
      push(page, tag);
      return;
    case FORM: form_opened(page); return;
    case LI:
      list_item(page, tag_li, tag_li), push(page, tag);
      return;
    case DD:
      list_item(page, tag_dd, tag_dt), push(page, tag);
      return;
    case BUTTON:
      if (in_scope(page, tag_button)) close_implied(page, tag_unknown), pop_until(page, tag_button);
      reconstruct(page), push(page, tag);
      return;
    case ANCHOR: anchor_start(page, token); return;
    case NOBR:
      reconstruct(page);
      if (in_scope(page, tag_nobr)) give_up(page);
      list_formatting(page, tag);
      return;
    case FORMATTING:
      reconstruct(page), list_formatting(page, tag);
      return;
    case OBJECT:
      reconstruct(page), push(page, tag), mark(page);
      return;
    case TABLE: table_opened(page); return;
    case INPUT:
      if (in_scope(page, tag_select)) pop_until(page, tag_select);
      reconstruct(page), text_ended(page);
      return;
    case EMPTY: empty_element(page, token); return;
    case HEAD_EMPTY:
      found_telling(page, token), text_ended(page);
      return;
    case HR:
      close_p(page);
      if (in_scope(page, tag_select)) close_implied(page, tag_unknown);
      text_ended(page);
      return;
    case RAW:
      if (tag == tag_xmp) close_p(page), reconstruct(page);
      raw_element(page, token);
      return;
    case SELECT: select_opened(page); return;
    case OPTION: option_opened(page, tag); return;
    case RUBY_BASE: case RUBY_TEXT:
      if (in_scope(page, tag_ruby))
        close_implied(page, tags[tag].kind == RUBY_TEXT ? tag_rtc : tag_unknown);
      push(page, tag);
      return;
    case SVG:
      reconstruct(page), text_ended(page);
      if (!token->closes_itself) push_named(page, tag, 1, token->name, token->length);
      return;
    case PART: case HEAD: case BODY: return; /* ignored here */
    case HTML: case STRANGE: give_up(page);
    case NOSCRIPT: case ORDINARY:
      reconstruct(page);
      push_named(page, tag, 0, token->name, token->length);
      return;
  }
}

/* --- end tags --- */

static void form_closed(struct page *page) {
  unsigned form = page->form;
  page->form = 0;
  if (!form) return;
  int k = page->depth - 1;
  for (; page->open[k].tag != tag_form || page->open[k].number != form; k--)
    if (tags[page->open[k].tag].flags & SCOPE) return;
  close_implied(page, tag_unknown);
  remove_open(page, k);
}

static void heading_closed(struct page *page) {
  for (int k = page->depth - 1; k > 0; k--) {
    enum tag tag = page->open[k].tag;
    if (tags[tag].kind == HEADING) {
      close_implied(page, tag_unknown);
      while (page->depth > k) pop(page);
      return;
    }
    if (tags[tag].flags & SCOPE) return;
  }
}

static void body_end(struct page *page, const struct token *token) {
  enum tag tag = token->tag;
  switch ((enum kind)tags[tag].kind) {
    case BODY: case HTML: /* what comes behind is taken in as if it came before */
      page->is_behind_body |= page->mode == IN_BODY;
      return;
    case FORM: form_closed(page); return;
    case HEADING: heading_closed(page); return;
    case LI:
      if (in_list_scope(page, tag)) close_until(page, tag);
      return;
    case DD:
      if (in_scope(page, tag)) close_until(page, tag);
      return;
    case ANCHOR: case FORMATTING: case NOBR: end_formatting(page, tag); return;
    case OBJECT:
      if (!in_scope(page, tag)) return;
      close_implied(page, tag_unknown), pop_until(page, tag);
      clear_to_mark(page);
      return;
    default: break;
  }
  if (tag == tag_p) {
    close_p(page), text_ended(page); /* or an empty one is made */
  } else if (tag == tag_br) {
    reconstruct(page), text_ended(page);
  } else if (tags[tag].flags & BLOCK_END) {
    if (in_scope(page, tag)) close_implied(page, tag_unknown), pop_until(page, tag);
  } else {
    end_other(page, token);
  }
}

#endif
