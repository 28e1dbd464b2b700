"""Where fragments stand (XFrag's association tables): holes, what fills them, and the members found there."""
