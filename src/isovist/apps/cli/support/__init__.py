"""What commands share: options, input files, progress and errors."""
