"""Answers, surveys and drives as figures."""
