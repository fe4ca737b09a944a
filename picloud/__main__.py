"""`python -m picloud`."""

from picloud.app import main

main()
