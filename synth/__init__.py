"""A problem in, a proven schedule out."""
