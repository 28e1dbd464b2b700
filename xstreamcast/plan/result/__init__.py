"""The tag structure of an answer, so that it can feed another query (genTsid of WebDB'05).

In come a query and the structures of its streams; out comes a structure. :mod:`.shape` is an abstract run: which
elements the answer can consist of. :mod:`.structure` makes tags of them.
"""
