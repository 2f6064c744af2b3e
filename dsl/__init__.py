"""Text in, a checked model out, and back."""
