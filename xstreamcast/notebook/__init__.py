"""Notebooks: what results, explanations, structures and continuous queries look like there, and the magic ``%%xcql``.

In come objects of the package; out comes HTML, all text in it escaped (:mod:`.render`). A continuous query is drawn
again in place whenever its answer changes (:mod:`.live`); :mod:`.magic` is what ``%load_ext xstreamcast`` loads.
Nothing here is imported before a notebook asks for it.
"""
