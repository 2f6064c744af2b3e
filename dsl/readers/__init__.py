"""Readers of machines that other tools describe."""
