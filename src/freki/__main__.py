"""`python -m freki` is the command `freki`."""

import sys

from freki.cli.main import main

sys.exit(main())
