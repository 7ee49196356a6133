"""A second implementation of the QTX specification, from its text alone: see __main__.py."""
