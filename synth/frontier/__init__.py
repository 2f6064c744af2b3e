"""The frontier of a problem: for every number of steps the fewest seconds a byte, with proofs."""
