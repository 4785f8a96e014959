// Whether a text is a selector of CSS.
(selector) => {
  try { document.createDocumentFragment().querySelector(selector); } catch { return false; }
  return true;
}
