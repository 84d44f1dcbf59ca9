from isovist.apps.studio.start import StudioOptions as StudioOptions
