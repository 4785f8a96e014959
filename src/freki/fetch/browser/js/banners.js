// Hides what asks for consent: by the names that consent tools give it, and by its looks.
() => {
  const named = [
    "#onetrust-consent-sdk", "#onetrust-banner-sdk", "#CybotCookiebotDialog",
    "#CybotCookiebotDialogBodyUnderlay", "#usercentrics-root", "#usercentrics-cmp-ui",
    "#didomi-host", "#didomi-popup", ".qc-cmp2-container", ".fc-consent-root", "#truste-consent-track",
    ".truste_overlay", ".truste_box_overlay", "#cmpbox", "#cmpbox2", "#cmpwrapper", ".cmpboxBG",
    "#sp_message_container", "[id^=sp_message_container_]", "#iubenda-cs-banner", ".osano-cm-window",
    "#klaro .cookie-modal", ".klaro .cookie-notice", "#cookie-law-info-bar", ".cli-modal-backdrop",
    ".cky-consent-container", ".cky-overlay", "#BorlabsCookieBox", "#tarteaucitronRoot",
    "#axeptio_overlay", ".cc-window", ".cc-banner", "#cookie-consent", ".cookie-consent",
    "#cookie-banner", ".cookie-banner", "#cookie-notice", ".cookie-notice", "#cookieConsent",
    "#gdpr-cookie-message", ".gdpr-banner", "#moove_gdpr_cookie_info_bar", ".cmplz-cookiebanner",
    "#cc--main", "#cc-main", ".consent-banner", "#consent-banner", "ytd-consent-bump-v2-lightbox",
    "#termly-code-snippet-support", ".evidon-banner", "#_evidon_banner", "#ppms_cm_popup_overlay",
  ].join(",");
  const words = /\b(cookies?|consent|gdpr|dsgvo|privacy (policy|settings)|datenschutz|einwilligung|rgpd|confidentialit)/i;
  const hidden = new Set();
  // A consent tool may keep its banner in a shadow tree.
  const deepest = (x, y) => {
    let element = document.elementFromPoint(x, y), inner = element;
    while ((inner = element?.shadowRoot?.elementFromPoint(x, y)) && inner !== element) element = inner;
    return element;
  };
  const above = (element) => element.parentElement ?? element.getRootNode().host;
  const trees = (element) => [element, ...(element.shadowRoot?.children ?? [])];
  const textOf = (element) => trees(element).map((tree) => tree.innerText ?? "").join(" ").slice(0, 3000);
  const canBeAnswered = (element) => [element, element.shadowRoot].some((tree) => tree?.querySelector("button, a, [role=button], input"));
  const hide = (element) => {
    element.style.setProperty("display", "none", "important");
    hidden.add(element);
  };
  document.querySelectorAll(named).forEach(hide);
  const places = [
    [innerWidth / 2, innerHeight - 20], [innerWidth / 2, 20], [innerWidth / 2, innerHeight / 2],
    [30, innerHeight - 30], [innerWidth - 30, innerHeight - 30],
  ];
  for (const [x, y] of places) {
    for (let round = 0; round < 3; round++) {
      let element = deepest(x, y), floating = null;
      for (; element && element !== document.body && element !== document.documentElement;
        element = above(element)) {
        if (["fixed", "sticky"].includes(getComputedStyle(element).position)) floating = element;
      }
      if (!floating || hidden.has(floating)) break;
      const text = textOf(floating);
      const backdrop = !text.trim() && floating.offsetWidth >= innerWidth && floating.offsetHeight >= innerHeight;
      if (!(words.test(text) && canBeAnswered(floating)) && !(backdrop && hidden.size)) break;
      hide(floating);
    }
  }
  if (hidden.size) {
    for (const root of [document.documentElement, document.body]) {
      if (root && getComputedStyle(root).overflowY === "hidden") {
        root.style.setProperty("overflow", "auto", "important");
        if (getComputedStyle(root).position === "fixed") root.style.setProperty("position", "static", "important");
      }
    }
  }
  return hidden.size;
}
