"""How things look in a notebook: small, in the notebook's own colours, dark or light."""

from __future__ import annotations

from typing import Final

STYLE: Final = """<style>
.xcast { font-size: 13px; line-height: 1.45; }
.xcast table { border-collapse: collapse; margin: .3em 0; font-size: inherit; }
.xcast th, .xcast td { text-align: left; padding: 2px 10px; border-bottom: 1px solid rgba(128,128,128,.25); }
.xcast th { font-weight: 600; border-bottom-width: 2px; }
.xcast td.n { text-align: right; font-variant-numeric: tabular-nums; }
.xcast td, .xcast li { vertical-align: top; white-space: pre-wrap; overflow-wrap: anywhere; }
.xcast pre { margin: .2em 0; padding: 0; background: none; white-space: pre-wrap; overflow-wrap: anywhere; }
.xcast .note { opacity: .65; }
.xcast .error { color: #c62828; }
.xcast .badge { font-size: 11px; padding: 0 6px; border-radius: 8px; background: rgba(128,128,128,.2); }
.xcast .badge.temporal, .xcast .badge.progressive { background: rgba(255,160,0,.3); }
.xcast .badge.event, .xcast .badge.pipeline { background: rgba(0,150,136,.3); }
.xcast .badge.blocking { background: rgba(229,57,53,.3); }
.xcast ul { list-style: none; padding-left: 1.2em; margin: 0; }
.xcast .k, .xcast .kd, .xcast .ow, .xcast .kc { color: #8e44ad; }
.xcast .nt, .xcast .kt, .xcast .kp { color: #1f7a8c; }
.xcast .nv, .xcast .na { color: #b7651b; }
.xcast .s, .xcast .s1, .xcast .s2, .xcast .ld, .xcast .m, .xcast .mi, .xcast .mf { color: #3a7d34; }
.xcast .nf, .xcast .nb { color: #2962a8; }
.xcast .c, .xcast .cm, .xcast .cp { opacity: .6; }
@media (prefers-color-scheme: dark) { .xcast .error { color: #ef5350; } }
</style>"""
