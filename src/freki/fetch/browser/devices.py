"""Windows that people have, by name."""

from typing import Final

from freki.pictures import Viewport

_IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15"
    " (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
)
_ANDROID = (
    "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko)"
    " Chrome/156.0.0.0 Mobile Safari/537.36"
)

DEVICES: Final = {
    device.name: device
    for device in (
        Viewport(name="desktop"),
        Viewport(name="laptop", width=1440, height=900),
        Viewport(name="full-hd", width=1920, height=1080),
        Viewport(name="tablet", width=820, height=1180, scale=2, mobile=True, agent=_IPHONE),
        Viewport(name="iphone", width=393, height=852, scale=3, mobile=True, agent=_IPHONE),
        Viewport(name="android", width=412, height=923, scale=2.625, mobile=True, agent=_ANDROID),
    )
}
