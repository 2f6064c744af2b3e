"""Describe a machine and a collective; get a proven schedule, its kernels, and checked numbers."""

__version__ = "0.1.0"
