"""The encodings: how the sends of one chunk of one block become Booleans, and back."""
