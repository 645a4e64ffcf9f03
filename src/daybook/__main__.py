"""`python -m daybook`."""

import sys

from daybook.cli.app import main

sys.exit(main())
