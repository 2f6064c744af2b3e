"""A schedule in, kernels and exports out."""
