"""The studio: a page in the browser that shows maps, answers and why (extra `studio`).

`start` runs the server, `app` has its doors, `guard` who may come in, `uploads` what is dropped
and `shelf` what is kept; `verbs`, `drives` and `lesson` answer, with the numbers of `report`;
`scenes` adds what only a picture needs.  The page itself is in `static`.
"""
