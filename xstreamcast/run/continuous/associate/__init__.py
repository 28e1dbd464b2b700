"""Where fragments stand (XFrag's association tables): holes, what fills them, and the members found there.

In come regions that are different; out go members of units that came, went or must be evaluated again. Read
:mod:`.route` (units as states along the tag structure), :mod:`.reach` and :mod:`.interests` (what that rules out), then
:mod:`.mounts` (places and what is seen at them), :mod:`.mounting`, :mod:`.walk` (contents, each once), :mod:`.live`
(the whole document) and :mod:`.noted` (one that notes which places change), :mod:`.instances` (elements inside each
other), :mod:`.standing` (order of places). Many alike: :mod:`.gathering`, :mod:`.fragments`, :mod:`.runs`,
:mod:`.rooted` (by their tags alone), :mod:`.numbers`.
"""
