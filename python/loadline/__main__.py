"""`python -m loadline` is `loadline`."""

from loadline.cli import main

main()
