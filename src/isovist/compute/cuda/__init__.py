"""The backend of NVIDIA cards (extra `cuda`)."""
