"""One scan: where was it taken?"""
