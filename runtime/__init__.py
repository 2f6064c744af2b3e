"""An artifact in, checked numbers and times out."""
