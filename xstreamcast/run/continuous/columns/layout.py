"""The columns of what has come (regions, their fillings, the holes in these), of where it stands (places, nodes), and
of the tags of the structure.

Every table is one array of 64-bit numbers, a row each. A row's number is its *slot*; slots refer to each other.
"""

from __future__ import annotations

from typing import Final

from xstreamcast.cast.automata import KINDS
from xstreamcast.model.change import Fill, Remove, Repeat, Replace

NOWHERE: Final = -1

# A region: its number; the last filling that came; the last of its places; a hole that is being looked for; whether
# events of it have been replaced.
NUMBER, HEAD, PLACE, SOUGHT, REPLACED, REGION_WORDS = range(6)
# A filling: its region, and the next of that; tag, version (-1: none), time; where its content lies; its holes, from
# one on; flags; what orders events of one instant; its last node.
OF, NEXT, TSID, VERSION, TIME, BEGIN, TO, FIRST, COUNT, FLAGS, DIGEST, NODE, FILLING_WORDS = range(13)
ENDED, CHANGED, LET_GO, AHEAD, REPLACES, UNSAID = 1, 2, 4, 8, 16, 32
"""Of a filling: its life has ended, there is no content; it has not been settled since it changed; no query can see it
again; its time has not come by a clock other than the stream's own; it came instead of the events of its instant; it
said no version, and counts as that of what it came instead of."""
UNSEEN: Final = ENDED | AHEAD
# A hole: the region it is for; where it lies, from its content's beginning; its tag; the tag of the element around it,
# NOWHERE in a page.
FOR, START, END, H_TSID, AROUND, HOLE_WORDS = range(6)
# A place is a hole where it is in the document (one in two versions of an element is in two places): the region, the
# hole, the node around it; the next place of the region, and the next one in the node.
P_REGION, P_HOLE, P_NODE, P_NEXT, P_BESIDE, PLACE_WORDS = range(6)
# A place at the top is in no node. Its hole is NOWHERE; or, where several regions stand at the top, the least version
# of a filling that was let go of, from -2 down; beside it is then the least version of all, which tells the order.
# A node is a filling at a place: both; the next node of the filling; its first place; the units that must look at it,
# as bits; the settling that it came with.
N_FILLING, N_PLACE, N_NEXT, N_FIRST, N_MARKS, N_SINCE, NODE_WORDS = range(7)
IS_GONE: Final = -1
"""Instead of when it came: it is there no more."""
# A tag: how its fragments come; whether any unit looks at them; the units that evaluate such a fragment, and those that
# read it as part of one around it, as bits; its name, in a text of all names; the tag around it; whether lifespans of
# its fragments are seen; the sense of the namespaces in scope in its elements (spelling), NOWHERE if it is not known;
# whether they stand at the top: as region 0, or any (ROOTLESS, the root has no name).
KIND, NEEDED, EVALUATED, PART, NAME_FROM, NAME_TO, ABOVE, SHOWS, SENSE, TOP, TAG_WORDS = range(11)
ROOTED, ROOTLESS = 1, 2
UNKNOWN, UNTIMED, TEMPORAL, EVENT = -1, 0, 1, 2
# The last row of the tags is that of *pages*: regions without a tag that hold holes and nothing else, as feeds have
# them so that an element of very many records need not be sent again for each. A hole that names no tag has this one.

# How much there is, and what a batch did.
REGIONS, FILLINGS, HOLES, BYTES, DEAD, NOW, CHANGES, LOGGED, REORDERED, DIRTY, SKIPPED, PLACES, NODES = range(13)
FREE_PLACE, FREE_NODE, WORK, SETTLED, GROWS, LEAVING = range(13, 19)
# Whether the structure grows: what may be seen by what it adds is not passed over. How many events that were replaced
# are rows still.
# Of time: the current one by another clock than the stream's own; the earliest to come; how late a change
# may be (-1: at any time), what is too late now, and the watermark of the other streams.
CLOCK, AWAITED, LATENESS, MARK, OTHERS = range(19, 24)
# The bit by which nodes with other holes are known, if somebody asks for open ones; else none.
ASKED, TALLY = range(24, 26)

FILL, REPEAT, REPLACE, REMOVE = (KINDS.index(kind) for kind in (Fill, Repeat, Replace, Remove))
# What is to be said of a change that was taken: it is older, says something else again, removes nothing, or an event;
# or of an event: another one has the same instant and version (instead of the change's number, that one's slot); or it
# comes too late (instead of a filling, the watermark).
OLDER, AGAIN, NOTHING, STAYS, TIE, LATE = range(1, 7)
