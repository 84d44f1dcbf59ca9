"""The server: maps of a folder, and where scans sent to it were taken (extra `serve`).

`start` runs it, `app` has its doors, `gate` who may come in and what is noted of them; `maps` keeps
the folder, `questions` reads what is asked, `batches` answers many scans together, `sessions`
follows robots, `metrics` counts, `openapi` describes all of it.
"""
