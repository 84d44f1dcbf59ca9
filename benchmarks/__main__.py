"""Every benchmark that needs nothing but this tree: `make bench`."""

from benchmarks import descriptor, static_bound

descriptor.main()
static_bound.main()
