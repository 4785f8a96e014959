"""Hosts that serve advertisements and follow people, with all below them.

The large ones: they carry most of what a page loads for others. `--block-host` adds more.
"""

from typing import Final

ADS: Final = (
    "doubleclick.net", "googlesyndication.com", "googleadservices.com", "google-analytics.com",
    "googletagmanager.com", "googletagservices.com", "adservice.google.com", "2mdn.net",
    "connect.facebook.net", "an.facebook.com", "pixel.facebook.com", "ads-twitter.com",
    "analytics.twitter.com", "ads.linkedin.com", "px.ads.linkedin.com", "snap.licdn.com",
    "analytics.tiktok.com", "ads.tiktok.com", "tr.snapchat.com", "ct.pinterest.com",
    "ads.pinterest.com", "bat.bing.com", "clarity.ms", "amazon-adsystem.com", "adnxs.com",
    "adsrvr.org", "criteo.com", "criteo.net", "rubiconproject.com", "pubmatic.com", "openx.net",
    "casalemedia.com", "indexww.com", "taboola.com", "outbrain.com", "smartadserver.com",
    "adform.net", "adition.com", "yieldlab.net", "teads.tv", "sharethrough.com", "33across.com",
    "triplelift.com", "3lift.com", "sovrn.com", "lijit.com", "gumgum.com", "spotxchange.com",
    "spotx.tv", "freewheel.tv", "fwmrm.net", "innovid.com", "adsafeprotected.com", "moatads.com",
    "doubleverify.com", "serving-sys.com", "flashtalking.com", "mathtag.com", "bidswitch.net",
    "bluekai.com", "demdex.net", "everesttech.net", "omtrdc.net", "2o7.net", "krxd.net",
    "exelator.com", "agkn.com", "rlcdn.com", "tapad.com", "crwdcntrl.net", "eyeota.net",
    "bounceexchange.com", "quantserve.com", "quantcount.com", "scorecardresearch.com",
    "imrworldwide.com", "comscore.com", "chartbeat.com", "chartbeat.net", "parsely.com",
    "hotjar.com", "hotjar.io", "fullstory.com", "mouseflow.com", "crazyegg.com", "luckyorange.com",
    "inspectlet.com", "smartlook.com", "mixpanel.com", "amplitude.com", "segment.com",
    "segment.io", "heap.io", "heapanalytics.com", "newrelic.com", "nr-data.net", "mc.yandex.ru",
    "top-fwz1.mail.ru", "an.yandex.ru", "hs-analytics.net", "hs-banner.com", "hsadspixel.net",
    "marketo.net", "pardot.com", "bizible.com", "optimizely.com", "vwo.com",
    "visualwebsiteoptimizer.com", "adobedtm.com", "tealiumiq.com", "zemanta.com", "revcontent.com",
    "mgid.com", "adroll.com", "media.net", "propellerads.com", "popads.net", "popcash.net",
    "adcash.com", "exoclick.com", "juicyads.com", "trafficjunky.net", "onesignal.com",
    "pushcrew.com", "addthis.com", "sharethis.com", "statcounter.com", "histats.com",
    "matomo.cloud", "plausible.io", "etracker.com", "ioam.de", "iocnt.net", "nuggad.net",
    "adspirit.de", "permutive.com", "id5-sync.com", "liadm.com", "prebid.org", "contextweb.com",
    "undertone.com",
)  # fmt: skip
