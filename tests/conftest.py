"""What all tests share."""

import signal

# Who starts the tests in the background has Ctrl-C ignored; commands that tests start and interrupt must not.
signal.signal(signal.SIGINT, signal.default_int_handler)
