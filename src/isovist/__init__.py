"""Where am I on this map?  Localization from one range scan, with an honest verdict."""

__version__ = "0.1.0.dev0"
