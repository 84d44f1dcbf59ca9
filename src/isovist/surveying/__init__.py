"""Where a site can and cannot be localized."""
