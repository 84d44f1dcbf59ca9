from isovist.apps.server.start import ServeOptions as ServeOptions
