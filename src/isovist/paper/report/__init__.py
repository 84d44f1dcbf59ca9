"""Results of the paper as text, tables and figures."""
