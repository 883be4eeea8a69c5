"""What values a leaf: the contract, and every evaluator that keeps it."""
