"""The flags Chromium starts with: less of what people have, and all of its protection."""

from collections.abc import Sequence

# Features that talk to their maker, or change what a page is.
_OFF = (
    "Translate", "OptimizationHints", "MediaRouter", "DialMediaRouteProvider", "HttpsUpgrades",
    "InterestFeedContentSuggestions", "AutofillServerCommunication", "PaintHolding",
    "DestroyProfileOnBrowserClose", "AcceptCHFrame",
    # What is kept ready for a page that will never come: the next job has a context of its own.
    "SpareRendererForSitePerProcess", "BackForwardCache", "Prerender2",
)  # fmt: skip

# Each with what it is for; site isolation and the sandbox stay as they are.
_ALWAYS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--password-store=basic",
    "--use-mock-keychain",
    "--hide-scrollbars",
    "--mute-audio",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
    "--noerrdialogs",
    # Nothing of its own on the network, nor of its own in the background.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-client-side-phishing-detection",
    "--disable-extensions",
    "--metrics-recording-only",
    "--no-pings",
    "--no-service-autorun",
    # Pages that nobody looks at are drawn as well.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-ipc-flooding-protection",
    "--disable-hang-monitor",
    "--disable-prompt-on-repost",
    "--disable-popup-blocking",  # a popup is seen, counted and closed
    # One WebGL page took 54 GiB in software; maps show their frame without it.
    "--disable-3d-apis",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    f"--disable-features={','.join(_OFF)}",
    "--enable-features=CDPScreenshotNewSurface",
    # A renderer whose scripts take more than this ends, before the machine does.
    "--js-flags=--max-old-space-size=1024",
)


def flags(
    profile: str, agent: str, *, sandbox: bool, insecure: bool, network: Sequence[str]
) -> list[str]:
    """All flags; `network` are those that lead everything through our proxy."""
    return [
        *_ALWAYS,
        f"--user-data-dir={profile}",
        f"--user-agent={agent}",
        *network,
        *(() if sandbox else ("--no-sandbox",)),
        *(("--ignore-certificate-errors",) if insecure else ()),
        "about:blank",
    ]
