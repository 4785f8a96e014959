"""shot-scraper with a Chromium that it did not install: PROGRAM, then its own arguments."""

import sys
from functools import partialmethod

from playwright.sync_api import BrowserType
from shot_scraper.cli import cli

BrowserType.launch = partialmethod(BrowserType.launch, executable_path=sys.argv.pop(1))
cli()
