"""Judge a pose or an answer: checks, complete searches and proofs."""
