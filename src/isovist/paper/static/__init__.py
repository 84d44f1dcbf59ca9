"""Static localization and its error bound."""
