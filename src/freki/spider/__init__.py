"""What users write: spiders, the pages and requests they handle, and what becomes of their items.

A spider is a program for the engine: it asks for requests, and reads the answers in place of
`extract`. Everything it says goes through the same ledger as any link does.
"""
