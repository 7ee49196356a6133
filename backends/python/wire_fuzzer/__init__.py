"""Random models on the wire, sent to two backends whose answers are compared."""
