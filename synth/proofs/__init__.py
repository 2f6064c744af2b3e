"""Proofs and refutations of operators' laws."""
